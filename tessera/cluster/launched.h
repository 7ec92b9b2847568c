// By what this process was started, and with how many others, as the environment says before any
// call of MPI.
#pragma once

#include <string>

namespace tessera::cluster {

struct Launched {
  int count = 1;        // processes that were started together
  int local_count = 1;  // number of them on this machine
  // Whether Open MPI (mpirun, or srun with PMIx) started them, whose processes can find each other.
  bool by_open_mpi = false;
  std::string by;  // the launcher, for messages
};

Launched launched();

}  // namespace tessera::cluster
