// tessera-cluster-bench: workloads of the peer benchmark in several processes, one JSON line each
// from process 0; benchmarks/cluster.py compares them with others.
//
//   mpirun -n 2 tessera-cluster-bench --devices 4 collective    4 devices a process
//   tessera-cluster-bench --alone --devices 2 train             the same programs in one process
#include <tessera/tessera.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "training.h"

using namespace tessera;

namespace {

using Clock = std::chrono::steady_clock;
using Run = std::function<void()>;

struct Workload {
  std::string name;
  std::function<Run()> make;
};

// All processes as process 0 says.
int agreed(int n) { return broadcast_one_to_all(Array(n)).item<int>(); }

// Two runs to warm up, a few to size the sample, then about `budget` seconds, at least 5 runs.
std::vector<double> times_of(const Run& run, double budget) {
  const auto seconds = [&](int n) {
    const auto begin = Clock::now();
    for (int i = 0; i < n; ++i) run();
    return std::chrono::duration<double>(Clock::now() - begin).count() / n;
  };
  seconds(2);
  const double one = std::max(seconds(2), 1e-6);
  std::vector<double> times(
      static_cast<size_t>(agreed(static_cast<int>(std::clamp(budget / one, 5.0, 5000.0)))));
  for (double& time : times) time = seconds(1);
  std::sort(times.begin(), times.end());
  return times;
}

Mesh line() { return Mesh(devices(), {"x"}); }

template <class F>
Workload collective(const std::string& name, const Shape& shape, PartitionSpec out, F body) {
  return {
      "collective/" + name, [=]() -> Run {
        Shape all = shape;
        all[0] *= static_cast<int64_t>(devices().size());
        const Array x =
            device_put(random::normal(random::key(0), all), NamedSharding(line(), P("x")));
        auto f = jit(shard_map(
            body, {.mesh = line(), .in_specs = {P("x")}, .out_specs = {out}, .check_vma = false}));
        return [=] { f(x); };
      }};
}

std::vector<Workload> workloads() {
  const Shape large{1 << 20};  // 4 MiB a device
  std::vector<Workload> w;
  w.push_back(collective("psum_4MiB", large, P(), [](const Array& v) { return psum(v, "x"); }));
  w.push_back(collective("all_gather_4MiB", large, P(),
                         [](const Array& v) { return all_gather(v, "x", {.tiled = true}); }));
  w.push_back(collective("all_to_all_4MiB", large, P("x"),
                         [](const Array& v) { return all_to_all(v, "x", 0, 0, {.tiled = true}); }));
  w.push_back(collective("ppermute_4MiB", large, P("x"), [](const Array& v) {
    std::vector<std::pair<int, int>> ring;
    const auto n = static_cast<int>(devices().size());
    for (int i = 0; i < n; ++i) ring.push_back({i, (i + 1) % n});
    return ppermute(v, "x", ring);
  }));
  w.push_back(collective("psum_4B", {1}, P(), [](const Array& v) { return psum(v, "x"); }));
  w.push_back({"train/mlp", [] { return bench::mlp_step(1024, {784, 512, 512, 10}, true); }});
  w.push_back({"train/transformer_B32", [] { return bench::transformer_step(32, true); }});
  return w;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times programs over the processes that mpirun started, or in one");
  std::vector<std::string> words;
  int count = 1;
  double budget = 2;
  bool alone = false;
  app.add_option("words", words, "run the workloads whose name contains one of these");
  app.add_option("--devices", count, "devices of each process")->check(CLI::Range(1, 64));
  app.add_option("--budget", budget, "seconds a workload");
  app.add_flag("--alone", alone, "without a cluster, as programs of one process are");
  CLI11_PARSE(app, argc, argv);
  initialize(
      {.devices = "cpu:" + std::to_string(count), .cluster = alone ? Cluster() : Cluster::mpi()});
  for (const Workload& w : workloads()) {
    const auto has = [&](const std::string& word) {
      return w.name.find(word) != std::string::npos;
    };
    if (!words.empty() && std::none_of(words.begin(), words.end(), has)) continue;
    const std::vector<double> times = times_of(w.make(), budget);
    if (process_index() != 0) continue;
    nlohmann::ordered_json row;
    row["name"] = w.name;
    row["min_us"] = std::round(times.front() * 1e8) / 100;
    row["med_us"] = std::round(times[times.size() / 2] * 1e8) / 100;
    std::cout << row.dump() << std::endl;
  }
  return 0;
}
