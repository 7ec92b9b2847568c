// Rendezvous: how the processes of a cluster find each other without a launcher of MPI. Who started
// them (JAX, with its key-value store) knows how many there are, and brings their addresses to each
// other; a transport that needs no launcher (transports/ucx.cc) carries everything else.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/cluster/transport.h"

namespace tessera::cluster {

struct Rendezvous {
  int index = 0, count = 1;  // of this process, and of processes
  // Returns the texts of all processes, in their order. All of them call it, each with a text of
  // its own. It throws if another process does not come.
  std::function<std::vector<std::string>(const std::string& own)> exchange;
  // By process: a text that is the same for processes of one machine. A transport gets it.
  std::vector<std::string> machines = {};
};

// Makes this process one of the cluster whose processes meet there, with the default options; then
// initialize() makes their devices one list. Messages go by MPI if Open MPI's mpirun started the
// processes, otherwise by UCX; the environment variable TESSERA_TRANSPORT decides otherwise. It
// does nothing if the same process has joined before. Throws UserError if it is in another cluster,
// RuntimeError if the processes cannot communicate.
void join(const Rendezvous& rendezvous);

// Ends this process' part in the cluster, as exit() does, for programs that must know how: returns
// whether all processes have ended well. It waits for the others unless one has failed. It returns
// true if there is no cluster. The process is in no call, and makes none afterwards.
bool leave();

// The function that the library of such a transport exports. It returns null and sets `error` if
// the processes cannot communicate.
using OpenTransportAt = Transport*(const Rendezvous& rendezvous, std::string& error);
inline constexpr const char* kOpenTransportAt = "tessera_open_transport_at";

}  // namespace tessera::cluster
