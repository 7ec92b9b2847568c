#include "tessera/cluster/launched.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace tessera::cluster {
namespace {

// Returns the number in an environment variable, or 0 if there is none.
int number(const char* name) {
  const char* text = std::getenv(name);
  int value = 0;
  if (text) std::from_chars(text, text + std::strlen(text), value);
  return value;
}

}  // namespace

Launched launched() {
  Launched out;
  if (const int count = number("OMPI_COMM_WORLD_SIZE")) {
    out = {count, std::max(1, number("OMPI_COMM_WORLD_LOCAL_SIZE")), true, "Open MPI's mpirun"};
  } else if (const int tasks = std::max(number("SLURM_STEP_NUM_TASKS"), number("SLURM_NTASKS"));
             tasks && std::getenv("SLURM_PROCID")) {
    const bool pmix = std::getenv("PMIX_RANK") != nullptr;
    out = {tasks, 1, pmix, pmix ? "srun" : "srun without PMIx"};
  } else if (const int size = number("PMI_SIZE")) {
    out = {size, std::max(1, number("MPI_LOCALNRANKS")), false,
           "the mpirun of MPICH or a kin of it"};
  }
  return out;
}

}  // namespace tessera::cluster
