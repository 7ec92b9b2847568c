// Rendezvous: how the processes of a cluster find each other without a launcher of MPI. The program
// that started them (JAX, with its key-value store) knows how many there are, and exchanges their
// addresses; a transport that needs no launcher (transports/ucx.cc) carries everything else.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/cluster/transport.h"

namespace tessera::cluster {

struct Rendezvous {
  int index = 0, count = 1;  // index of this process, number of processes
  // Returns the texts of all processes, in their order. All of them call it, each with a text of
  // its own. It throws if another process does not take part.
  std::function<std::vector<std::string>(const std::string& own)> exchange;
  // For each process, a text that is the same for all processes of its machine. Transports use it.
  std::vector<std::string> machines = {};
};

// Adds this process to the cluster whose processes call this function, with the default options.
// initialize() then makes one list of their devices. Messages go by MPI if Open MPI's mpirun
// started the processes, otherwise by UCX; the environment variable TESSERA_TRANSPORT overrides
// this. It does nothing if the process has joined with the same index and count before. Throws
// UserError if it is in another cluster, RuntimeError if the processes cannot communicate.
void join(const Rendezvous& rendezvous);

// Leaves the cluster, as exit() does, and returns whether all processes have ended well, for
// programs that need to know. It waits for the others unless one has failed. It returns true if
// there is no cluster. The process must not be in a call, and makes none afterwards.
bool leave();

// The function that the library of such a transport exports. It returns null and sets `error` if
// the processes cannot communicate.
using OpenTransportAt = Transport*(const Rendezvous& rendezvous, std::string& error);
inline constexpr const char* kOpenTransportAt = "tessera_open_transport_at";

}  // namespace tessera::cluster
