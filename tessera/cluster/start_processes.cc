// How a process becomes one of a cluster: the transport's library is loaded, once.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <system_error>

#include "tessera/base/format.h"
#include "tessera/cluster/launched.h"
#include "tessera/cluster/processes.h"

namespace tessera::cluster {
namespace {

struct State {
  std::mutex mutex;
  Cluster cluster;
  Launched launched;
  std::atomic<Processes*> processes{nullptr};
  std::atomic<bool> started{false};
};
State& state() {
  static State& instance = *new State;  // threads may read it while the process ends
  return instance;
}

// Returns the path of the transport if it is in the folder of the library that this code is part
// of; otherwise the loader searches for it.
std::string library_path() {
  if (const char* path = std::getenv("TESSERA_MPI_TRANSPORT")) return path;
  const std::string name = "libtessera_mpi.so";
  Dl_info here;
  if (!dladdr(reinterpret_cast<const void*>(&library_path), &here)) return name;
  const std::filesystem::path in_folder =
      std::filesystem::path(here.dli_fname).parent_path() / name;
  std::error_code none;
  return std::filesystem::exists(in_folder, none) ? in_folder.string() : name;
}

std::unique_ptr<Transport> open_transport(const Launched& launched) {
  if (!launched.by_open_mpi)
    throw RuntimeError(fmt::format(
        "[initialize] expected {} processes started by Open MPI's mpirun, or by srun --mpi=pmix, "
        "with whose library Tessera is built, got {} of {}; start the program with Open MPI's "
        "mpirun",
        launched.count, launched.count, launched.by));
  const std::string path = library_path();
  // MPI's own plugins look for its symbols among those of the process.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    throw RuntimeError(fmt::format(
        "[initialize] expected the MPI transport {}, got: {}; install the package libtessera-mpi "
        "(or libopenmpi-dev, and build again), or set TESSERA_MPI_TRANSPORT to where it is",
        path, dlerror()));
  auto* open = reinterpret_cast<OpenTransport*>(dlsym(library, kOpenTransport));
  if (!open)
    throw RuntimeError(fmt::format(
        "[initialize] expected {} in {}, got a library without it; set TESSERA_MPI_TRANSPORT to "
        "Tessera's transport",
        kOpenTransport, path));
  std::string error;
  std::unique_ptr<Transport> transport(open(error));
  if (!transport)
    throw RuntimeError(fmt::format("[initialize] expected MPI to start, got: {}", error));
  if (transport->count() != launched.count)
    throw RuntimeError(fmt::format(
        "[initialize] expected {} processes, as {} started, got {} from MPI: it is another MPI "
        "than the one that started them; start the program with Open MPI's mpirun",
        launched.count, launched.by, transport->count()));
  return transport;
}

}  // namespace

Processes* Processes::current() { return state().processes; }
bool Processes::reproducible() { return state().started; }
const ClusterOptions& Processes::options() { return state().cluster.options(); }
int Processes::local_count() { return current() ? state().launched.local_count : 1; }

void Processes::start(const Cluster& cluster) {
  if (cluster.kind() == Cluster::Kind::kAlone) return;
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (s.started) {
    if (!(s.cluster == cluster))
      value_error("initialize",
                  "expected the options of the cluster that was started before, got others; a "
                  "process is in one cluster, which it starts once");
    return;
  }
  s.launched = launched();
  if (s.launched.count > 1) {
    s.cluster = cluster;
    s.processes = new Processes(open_transport(s.launched));
    std::atexit([] {
      if (Processes* p = current()) p->shut_down();
    });
  }
  s.cluster = cluster;
  s.started = true;
}

}  // namespace tessera::cluster
