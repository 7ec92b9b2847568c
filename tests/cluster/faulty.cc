// The program that tests/cluster/faults starts: processes that do different things, or die. Usage:
// cluster_faulty WAY. Errors end the process, as they end a user's program.
#include <tessera/tessera.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

#include "tessera/cluster/broadcast.h"
#include "tessera/ops/control/host_callback.h"

namespace tessera {
namespace {

const Mesh& line() {
  static const Mesh& mesh = *new Mesh(devices(), {"x"});
  return mesh;
}
Array rows(int64_t count) {
  return device_put(arange(static_cast<double>(count)), NamedSharding(line(), P("x")));
}
Array total(const Array& x) {
  return jit([](const Array& v) { return sum(v); })(x);
}
Array product(const Array& x) {
  return jit([](const Array& v) { return sum(v * v); })(x);
}
void start(const ClusterOptions& options = {}) {
  initialize({.devices = "cpu:4", .cluster = Cluster::mpi(options)});
  total(rows(16));  // all processes work together once
}
bool second() { return process_index() == 1; }

const std::map<std::string, void (*)()>& ways() {
  static const auto& map = *new std::map<std::string, void (*)()>{
      {"nothing", [] { start(); }},
      {"programs",
       [] {
         start();
         second() ? product(rows(16)) : total(rows(16));
       }},
      {"order",
       [] {
         start();
         const Array x = rows(16);
         second() ? product(x) : total(x);
         second() ? total(x) : product(x);
       }},
      {"shapes",
       [] {
         start();
         total(rows(second() ? 24 : 16));
       }},
      {"broadcasts",
       [] {
         start();
         std::byte bytes[8] = {};
         cluster::broadcast(bytes, [] { return std::string(second() ? "key 2" : "key 1"); });
       }},
      // Processes compare only the target of a put, not its source.
      {"puts",
       [] {
         start();
         device_put(rows(second() ? 24 : 16), NamedSharding(line(), P()));
       }},
      {"members",
       [] {
         start();
         // Process 0 starts a program of two devices, and the others one of all devices.
         const Mesh two({devices()[0], devices()[4]}, {"x"});
         if (process_index() == 0)
           total(device_put(arange(16.), NamedSharding(two, P("x"))));
         else
           total(rows(16));
       }},
      {"ends",
       [] {
         start();
         if (!second()) total(rows(16));
       }},
      {"ends_first",
       [] {
         start();
         if (second()) std::this_thread::sleep_for(std::chrono::seconds(4));
         if (second()) total(rows(16));
       }},
      {"exits",
       [] {
         start();
         if (second()) std::exit(3);
         total(rows(16));
       }},
      {"exits_elsewhere",  // from another thread, during a collective
       [] {
         start();
         std::thread([] {
           std::this_thread::sleep_for(std::chrono::seconds(1));
           if (!second()) std::exit(3);
         }).detach();
         if (second()) std::this_thread::sleep_for(std::chrono::seconds(60));
         total(rows(16));
       }},
      {"throws",
       [] {
         start();
         if (second()) throw std::runtime_error("the first of its kind");
         total(rows(16));
       }},
      {"throws_inside",  // in a host function, while the others wait for it
       [] {
         start();
         const int64_t callback = lax::add_host_function([](auto in, auto out) {
           if (second()) throw std::runtime_error("thrown inside");
           std::memcpy(out[0], in[0], sizeof(float));
         });
         const auto f = jit([=](const Array& x) {
           const ir::Type one{.dtype = float32, .shape = {}};
           return sum(lax::pure_callback(callback, {one}, {sum(x)})[0] + x);
         });
         try {
           f(rows(16));
         } catch (const std::exception& error) {
           // The other processes must get the error before this process ends.
           std::fprintf(stderr, "process %d: %s\n", static_cast<int>(process_index()),
                        error.what());
           if (second()) std::this_thread::sleep_for(std::chrono::seconds(10));
           throw;
         }
       }},
      {"sleeps_elsewhere",  // process 2 waits for process 0, which waits in vain for process 1
       [] {
         start({.watchdog_seconds = 3});
         const auto of = [](size_t other) {
           const Mesh two({devices()[0], devices()[other]}, {"x"});
           total(device_put(arange(16.), NamedSharding(two, P("x"))));
         };
         const std::chrono::milliseconds ms{second() ? 20000 : process_index() == 2 ? 1500 : 0};
         std::this_thread::sleep_for(ms);
         try {
           if (process_index() != 2) of(4);
           of(8);
         } catch (const std::exception& error) {
           std::fprintf(stderr, "process %d: %s\n", static_cast<int>(process_index()),
                        error.what());
           std::this_thread::sleep_for(std::chrono::seconds(3));  // mpirun ends the others
           throw;
         }
       }},
      {"stops",
       [] {
         start();
         if (second()) std::raise(SIGSTOP);
         total(rows(16));
       }},
      {"stops_at_the_end",
       [] {
         start();
         if (second()) std::raise(SIGSTOP);
       }},
      {"dies",
       [] {
         start();
         if (second()) std::raise(SIGKILL);
         total(rows(16));
       }},
      {"sleeps",
       [] {
         start({.watchdog_seconds = 3});
         if (second()) std::this_thread::sleep_for(std::chrono::seconds(20));
         total(rows(16));
       }},
      {"goes_on",  // after an error every further call is refused
       [] {
         start();
         try {
           second() ? product(rows(16)) : total(rows(16));
         } catch (const std::exception&) {
         }
         total(rows(16));
       }},
      {"threads",  // a thread with programs of this process alone is not affected by errors
       [] {
         start();
         std::thread([x = device_put(arange(64.), local_devices()[0])] {
           while (true) total(x);
         }).detach();
         try {
           for (int i = 0; i < 100; ++i) total(rows(16));
           if (second()) std::this_thread::sleep_for(std::chrono::milliseconds(300));
           second() ? product(rows(16)) : total(rows(16));
         } catch (const std::exception& error) {
           std::fprintf(stderr, "the program's own thread: %s\n", error.what());
           std::_Exit(1);
         }
       }},
      {"devices",
       [] {
         const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
         initialize(
             {.devices = rank && *rank == '1' ? "cpu:8" : "cpu:4", .cluster = Cluster::mpi()});
       }},
      {"options",
       [] {
         const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
         initialize({.devices = "cpu:4",
                     .cluster = Cluster::mpi({.share_devices = rank && *rank == '1'})});
       }},
      {"again",
       [] {
         start();
         initialize({.devices = "cpu:4", .cluster = Cluster::mpi({.gather_reads = true})});
       }},
      {"share",
       [] { initialize({.devices = "cpu:7", .cluster = Cluster::mpi({.share_devices = true})}); }},
      {"reads",
       [] {
         start();
         rows(16).to_host();
       }},
      // The options come from the environment, at the first call of the library.
      {"environment",
       [] {
         const Mesh mesh(devices(), {"x"});
         const Array x = device_put(arange(16.), NamedSharding(mesh, P("x")));
         std::printf("process %d of %d, %d of %d devices, %g\n", static_cast<int>(process_index()),
                     static_cast<int>(process_count()), static_cast<int>(local_device_count()),
                     static_cast<int>(device_count()), sum(x).item<float>());
       }},
      {"environment_whole",
       [] {
         const Mesh mesh(devices(), {"x"});
         const Literal x = device_put(arange(16.), NamedSharding(mesh, P("x"))).to_host();
         std::printf("process %d of %d, %d of %d devices, last %g\n",
                     static_cast<int>(process_index()), static_cast<int>(process_count()),
                     static_cast<int>(local_device_count()), static_cast<int>(device_count()),
                     x.data<float>()[15]);
       }},
  };
  return map;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  const auto found = tessera::ways().find(argc > 1 ? argv[1] : "");
  if (found == tessera::ways().end()) {
    std::fprintf(stderr, "usage: cluster_faulty WAY\n");
    return 2;
  }
  found->second();
}
