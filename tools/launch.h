// `tessera launch`: runs a program in several processes under Open MPI's mpirun, and starts it
// again if one of them dies.
//
//   launch --- mpirun --- N times: launch_process --- PROGRAM
//
// mpirun starts launch_process, which starts the program and reports how it ended: mpirun itself
// reports only one process. If a process dies, the processes that it started die too, so that
// nothing is left running: the kernel notifies each when its parent dies (PR_SET_PDEATHSIG).
#pragma once

#include <string>
#include <vector>

#include "tools/commands.h"

namespace tessera::tools {

struct LaunchOptions {
  int64_t processes = 0;
  int64_t restarts = 0;  // how many times all processes are started again
  int64_t threads = 0;   // of each process; 0: the program decides
  // Seconds before the first restart. Each further pause is longer.
  double pause = 1;
  std::string hostfile;              // the hostfile of mpirun
  std::vector<std::string> mpi;      // further options of mpirun
  std::vector<std::string> program;  // the program and its arguments
};

// The command that mpirun runs. The program and its arguments follow.
inline constexpr const char* kLaunchProcess = "launch-process";

// Moves what follows `--` and `--mpi` in the arguments of `launch` to the options.
void take_program(std::vector<std::string>& arguments, LaunchOptions& options);

// Runs the program in several processes. Returns the exit status of the process that failed, or 128
// plus the number of the signal that ended it, or that this process got.
int launch(const LaunchOptions& options, const Streams& streams);

// Runs a program and waits until it ends. Returns its exit status, or 128 plus the number of the
// signal that ended it.
int launch_process(const std::vector<std::string>& program, std::ostream& err);

}  // namespace tessera::tools
