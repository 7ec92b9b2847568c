// `tessera launch`: a program in several processes under Open MPI's mpirun, started again where one
// of them dies.
//
//   launch --- mpirun --- N times: launch_process --- PROGRAM
//
// launch_process stands between mpirun and each program and says how it ended: mpirun says so of
// one of them at most. Who dies takes with it what it has started, so that nothing is left behind:
// each is told by the kernel when the one above it dies (PR_SET_PDEATHSIG).
#pragma once

#include <string>
#include <vector>

#include "tools/commands.h"

namespace tessera::tools {

struct LaunchOptions {
  int64_t processes = 0;
  int64_t restarts = 0;          // how often all are started again
  int64_t threads = 0;           // of each process; 0: as the program decides
  double pause = 1;              // seconds before the first restart; each further one waits longer
  std::string hostfile;          // of mpirun
  std::vector<std::string> mpi;  // options of mpirun's
  std::vector<std::string> program;  // with its arguments
};

// The command as it is called when mpirun starts it, before a program and its arguments.
inline constexpr const char* kLaunchProcess = "launch-process";

// Takes what stands after `--` and after `--mpi` out of the arguments of `launch`.
void take_program(std::vector<std::string>& arguments, LaunchOptions& options);

// Returns the exit status of the program: that of the process that failed, 128 + the number of the
// signal that ended it or that this process was sent.
int launch(const LaunchOptions& options, const Streams& streams);

// Runs a program, waits for its end and returns its exit status, 128 + the signal that ended it.
int launch_process(const std::vector<std::string>& program, std::ostream& err);

}  // namespace tessera::tools
