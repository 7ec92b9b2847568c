// `tessera launch`: runs a program in several processes under Open MPI's mpirun, and starts it
// again if one of them dies.
//
//   launch --- mpirun --- N times: launch_process --- PROGRAM
//
// launch_process is between mpirun and each program and reports how it ended: mpirun reports only
// one of them. A process that dies takes with it what it has started, so that nothing is left
// behind: the kernel notifies each when its parent dies (PR_SET_PDEATHSIG).
#pragma once

#include <string>
#include <vector>

#include "tools/commands.h"

namespace tessera::tools {

struct LaunchOptions {
  int64_t processes = 0;
  int64_t restarts = 0;          // how often all processes are started again
  int64_t threads = 0;           // of each process; 0: as the program decides
  double pause = 1;              // seconds before the first restart; each further one waits longer
  std::string hostfile;          // of mpirun
  std::vector<std::string> mpi;  // options of mpirun's
  std::vector<std::string> program;  // with its arguments
};

// The command with which mpirun starts it, before a program and its arguments.
inline constexpr const char* kLaunchProcess = "launch-process";

// Moves what follows `--` and `--mpi` from the arguments of `launch` to the options.
void take_program(std::vector<std::string>& arguments, LaunchOptions& options);

// Returns the exit status of the program: that of the process that failed, or 128 + the number of
// the signal that ended it or that this process was sent.
int launch(const LaunchOptions& options, const Streams& streams);

// Runs a program, waits for its end and returns its exit status, or 128 + the signal that ended it.
int launch_process(const std::vector<std::string>& program, std::ostream& err);

}  // namespace tessera::tools
