// Adds a process to its cluster: loads the transport's library, once.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>

#include "tessera/base/format.h"
#include "tessera/cluster/launched.h"
#include "tessera/cluster/processes.h"
#include "tessera/cluster/rendezvous.h"

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
  static State& instance = *new State;  // never destroyed: threads may read it at exit
  return instance;
}

enum class Carrier { kMpi, kUcx };

// Returns the carrier of messages that the environment names, or else `usual`.
Carrier carrier_of(Carrier usual) {
  const char* environment = std::getenv("TESSERA_TRANSPORT");
  const std::string_view text = environment ? environment : "";
  if (text.empty()) return usual;
  if (text == "mpi") return Carrier::kMpi;
  if (text == "ucx") return Carrier::kUcx;
  value_error("initialize",
              "expected `mpi` or `ucx` in the environment variable TESSERA_TRANSPORT, got \"{}\"; "
              "unset it for what suits how the processes were started",
              text);
}

// The library of a transport.
struct Library {
  const char *transport, *file, *variable, *remedy, *function;
  int visibility;
};
// MPI's own plugins look for its symbols among those of the process.
constexpr Library kMpiLibrary{
    "MPI",
    "libtessera_mpi.so",
    "TESSERA_MPI_TRANSPORT",
    "install the package libtessera-mpi (or libopenmpi-dev, and build again)",
    kOpenTransport,
    RTLD_GLOBAL};
constexpr Library kUcxLibrary{"UCX",
                              "libtessera_ucx.so",
                              "TESSERA_UCX_TRANSPORT",
                              "install UCX (libucx0; to build Tessera with it, libucx-dev)",
                              kOpenTransportAt,
                              RTLD_LOCAL};

// Returns the path of the library if it is in the folder of the library that contains this code;
// otherwise its name, for which the loader searches.
std::string path_of(const Library& library) {
  if (const char* path = std::getenv(library.variable)) return path;
  Dl_info here;
  if (!dladdr(reinterpret_cast<const void*>(&path_of), &here)) return library.file;
  const std::filesystem::path in_folder =
      std::filesystem::path(here.dli_fname).parent_path() / library.file;
  std::error_code none;
  return std::filesystem::exists(in_folder, none) ? in_folder.string() : library.file;
}

// Returns the function by which the library opens its transport.
void* load(const Library& library) {
  const std::string path = path_of(library);
  void* handle = dlopen(path.c_str(), RTLD_NOW | library.visibility);
  if (!handle)
    throw RuntimeError(fmt::format(
        "[initialize] expected the {} transport {}, got: {}; {}, or set {} to where it is",
        library.transport, path, dlerror(), library.remedy, library.variable));
  void* open = dlsym(handle, library.function);
  if (!open)
    throw RuntimeError(fmt::format(
        "[initialize] expected {} in {}, got a library without it; set {} to Tessera's transport",
        library.function, path, library.variable));
  return open;
}

std::unique_ptr<Transport> opened(Transport* transport, const Library& library,
                                  const std::string& error) {
  if (!transport)
    throw RuntimeError(
        fmt::format("[initialize] expected {} to start, got: {}", library.transport, error));
  return std::unique_ptr<Transport>(transport);
}

std::unique_ptr<Transport> open_mpi(const Launched& launched) {
  if (!launched.by_open_mpi)
    throw RuntimeError(fmt::format(
        "[initialize] expected {} processes started by Open MPI's mpirun, or by srun --mpi=pmix, "
        "with whose library Tessera is built, got {} of {}; start the program with Open MPI's "
        "mpirun",
        launched.count, launched.count, launched.by));
  std::string error;
  auto* open = reinterpret_cast<OpenTransport*>(load(kMpiLibrary));
  std::unique_ptr<Transport> transport = opened(open(error), kMpiLibrary, error);
  if (transport->count() != launched.count)
    throw RuntimeError(fmt::format(
        "[initialize] expected {} processes, as {} started, got {} from MPI: it is another MPI "
        "than the one that started them; start the program with Open MPI's mpirun",
        launched.count, launched.by, transport->count()));
  return transport;
}

// Returns a text that is the same for all processes of this machine, until the machine is
// restarted.
std::string machine() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

std::unique_ptr<Transport> open_ucx(const Rendezvous& rendezvous) {
  std::string error;
  auto* open = reinterpret_cast<OpenTransportAt*>(load(kUcxLibrary));
  return opened(open(rendezvous, error), kUcxLibrary, error);
}

// Sends the same bytes to all other processes and receives as many as `in` has from each, polling
// in this thread. The entry of `in` for this process stays as it is.
void swap_with_all(Transport& transport, const std::string& out, std::vector<std::string>& in) {
  constexpr int kTag = 1;
  std::vector<Transport::Request> requests;
  for (int p = 0; p < transport.count(); ++p) {
    if (p == transport.index()) continue;
    std::string& theirs = in[static_cast<size_t>(p)];
    requests.push_back(transport.receive(p, kTag, reinterpret_cast<std::byte*>(theirs.data()),
                                         static_cast<int64_t>(theirs.size())));
    requests.push_back(transport.send(p, kTag, reinterpret_cast<const std::byte*>(out.data()),
                                      static_cast<int64_t>(out.size())));
  }
  while (!requests.empty())
    std::erase_if(requests, [&](Transport::Request r) { return transport.test(r); });
}

// Returns a rendezvous of the processes that this transport connects.
Rendezvous rendezvous_by(Transport& transport) {
  return {transport.index(), transport.count(), [&](const std::string& own) {
            const auto count = static_cast<size_t>(transport.count());
            uint64_t size = own.size();
            std::string size_bytes(sizeof size, '\0');
            std::memcpy(size_bytes.data(), &size, sizeof size);
            std::vector<std::string> sizes(count, size_bytes), texts;
            swap_with_all(transport, size_bytes, sizes);
            for (const std::string& bytes : sizes) {
              std::memcpy(&size, bytes.data(), sizeof size);
              texts.emplace_back(size, '\0');
            }
            texts[static_cast<size_t>(transport.index())] = own;
            swap_with_all(transport, own, texts);
            return texts;
          }};
}

std::unique_ptr<Transport> open_transport(const Launched& launched) {
  switch (carrier_of(Carrier::kMpi)) {
    case Carrier::kMpi:
      return open_mpi(launched);
    case Carrier::kUcx: {
      // MPI carries only the addresses.
      const std::unique_ptr<Transport> mpi = open_mpi(launched);
      Rendezvous rendezvous = rendezvous_by(*mpi);
      rendezvous.machines = rendezvous.exchange(machine());
      std::unique_ptr<Transport> ucx = open_ucx(rendezvous);
      mpi->finish();
      return ucx;
    }
  }
  TESSERA_CHECK(false, "a carrier of messages");
}

std::unique_ptr<Transport> open_transport(const Rendezvous& rendezvous) {
  Launched from = launched();
  const bool by_mpi = from.by_open_mpi && from.count == rendezvous.count;
  switch (carrier_of(by_mpi ? Carrier::kMpi : Carrier::kUcx)) {
    case Carrier::kMpi: {
      from.count = rendezvous.count;
      if (from.by.empty()) from.by = "a program that is no launcher of MPI";
      std::unique_ptr<Transport> transport = open_mpi(from);
      if (transport->index() != rendezvous.index)
        throw RuntimeError(
            fmt::format("[initialize] expected process {} to be that of the same number in MPI, "
                        "got {}; number the processes as mpirun does, or set TESSERA_TRANSPORT=ucx",
                        rendezvous.index, transport->index()));
      return transport;
    }
    case Carrier::kUcx:
      return open_ucx(rendezvous);
  }
  TESSERA_CHECK(false, "a carrier of messages");
}

void start_with(State& s, std::unique_ptr<Transport> transport) {
  s.processes = new Processes(std::move(transport));
  std::atexit([] {
    if (Processes* p = Processes::current()) p->shut_down();
  });
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
    std::unique_ptr<Transport> transport = open_transport(s.launched);
    s.cluster = cluster;  // the threads of Processes read its options
    start_with(s, std::move(transport));
  }
  s.cluster = cluster;
  s.started = true;
}

void join(const Rendezvous& rendezvous) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (s.started) {
    const Processes* processes = s.processes;
    if (!processes || processes->index() != rendezvous.index ||
        processes->count() != rendezvous.count)
      value_error("initialize",
                  "expected process {} of {}, as it was started before, got process {} of {}; a "
                  "process is in one cluster, which it starts once",
                  processes ? processes->index() : 0, processes ? processes->count() : 1,
                  rendezvous.index, rendezvous.count);
    return;
  }
  Rendezvous located = rendezvous;
  const std::vector<std::string>& machines = located.machines = located.exchange(machine());
  start_with(s, open_transport(located));
  s.launched.local_count =
      static_cast<int>(std::count(machines.begin(), machines.end(), machine()));
  s.cluster = Cluster::mpi();
  s.started = true;
}

}  // namespace tessera::cluster
