// What started this process, and with how many others: read from the environment, before any MPI
// call.
#pragma once

#include <string>

namespace tessera::cluster {

struct Launched {
  int count = 1;        // processes that were started together
  int local_count = 1;  // of these, on this machine
  // By Open MPI (mpirun, or srun with PMIx), whose processes can find each other.
  bool by_open_mpi = false;
  std::string by;  // what started them, for messages
};

Launched launched();

}  // namespace tessera::cluster
