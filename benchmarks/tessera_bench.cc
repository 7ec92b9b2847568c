// tessera-bench: the workloads of the JAX peer benchmark, under the same names, one JSON line each.
//
//   tessera-bench                    all workloads
//   tessera-bench gemm/ collective   those whose name contains a word
//   tessera-bench --list             names only
#include <fmt/format.h>
#include <tessera/tessera.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "fft.h"
#include "linalg.h"
#include "loops.h"
#include "machine.h"
#include "tessera/base/namespaces.h"
#include "training.h"

using namespace tessera;
using namespace tessera::runtime;

namespace {

using Clock = std::chrono::steady_clock;
using Run = std::function<void()>;

double seconds_of(const Run& run) {
  const auto start = Clock::now();
  run();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Timing {
  double min = 0, median = 0;
};

// As the peer times: one warm-up, one run to size the sample, then about `budget` seconds, at least
// 5 runs.
Timing time_of(const Run& run, double budget) {
  run();
  const double one = seconds_of(run);
  const int n = static_cast<int>(std::min(2000.0, std::max(5.0, budget / std::max(one, 1e-6))));
  std::vector<double> times;
  for (int i = 0; i < n; ++i) times.push_back(seconds_of(run));
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2]};
}

struct Workload {
  std::string name;
  std::function<Run()> make;
  double work = 0;        // bytes, flop or samples of one run
  std::string unit = "";  // "GB/s", "GFLOP/s", "Gsamples/s"
  double budget = 2;
  std::function<Timing()> time = {};  // instead of make: workloads that time themselves
};

Mesh line() { return Mesh(devices(), {"x"}); }
NamedSharding cut(PartitionSpec spec) { return NamedSharding(line(), std::move(spec)); }
Array normal(const Shape& shape, DType dtype = float32) {
  return astype(random::normal(random::key(0), shape), dtype);
}

template <class F>
Workload elementwise(std::string name, bool sharded, double bytes, F f) {
  return {std::move(name),
          [=]() -> Run {
            Array x = normal({4096, 4096});
            if (sharded) x = device_put(x, cut(P("x")));
            auto jitted = jit(f);
            return [=] { jitted(x); };
          },
          bytes, "GB/s"};
}

Workload gemm(std::string name, std::optional<std::pair<PartitionSpec, PartitionSpec>> specs) {
  return {std::move(name),
          [=]() -> Run {
            Array a = normal({2048, 2048}), b = normal({2048, 2048});
            if (specs) a = device_put(a, cut(specs->first)), b = device_put(b, cut(specs->second));
            auto f = jit([](const Array& x, const Array& y) { return matmul(x, y); });
            return [=] { f(a, b); };
          },
          2.0 * 2048 * 2048 * 2048, "GFLOP/s"};
}

Workload aat(std::string name, DType dtype) {
  return {std::move(name),
          [=]() -> Run {
            const bool x64 = dtype == float64;
            enable_x64(x64);
            Array a = normal({1024, 65536}, dtype);
            auto f = jit([](const Array& x) { return dot(x, transpose(x)); });
            f(a);
            return [=] {
              enable_x64(x64);
              f(a);
              enable_x64(false);
            };
          },
          2.0 * 1024 * 1024 * 65536, "GFLOP/s", 3};
}

template <class F>
Workload collective(std::string name, PartitionSpec out, F body) {
  return {
      std::move(name),
      [=]() -> Run {
        Array x = device_put(normal({8 << 20}), cut(P("x")));
        auto f = jit(shard_map(
            body, {.mesh = line(), .in_specs = {P("x")}, .out_specs = {out}, .check_vma = false}));
        return [=] { f(x); };
      },
      8.0 * (1 << 20) * 4, "GB/s"};
}

Timing middle(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2]};
}

// A fresh program each time, kernels included: the cold cost of jit.
Timing compile_elementwise() {
  Array x = device_put(normal({4, 8}), cut(P(None, "x")));
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    auto f = jit([i](const Array& v) { return 2 * sin(v) + 1 + i; });
    times.push_back(seconds_of([&] { f.lower(x).compile(); }));
  }
  return middle(std::move(times));
}

std::vector<Workload> workloads() {
  const double read_and_write = 2.0 * 4096 * 4096 * 4;
  const auto affine = [](const Array& x) { return 2 * x + 1; };
  const auto two_sin = [](const Array& x) { return 2 * sin(x) + 1; };
  std::vector<Workload> w;
  w.push_back({"dispatch/1dev", []() -> Run {
                 Array x = device_put(zeros({8}), SingleDeviceSharding(devices()[0]));
                 auto f = jit([](const Array& v) { return v + 1; });
                 return [=] { f(x); };
               }});
  w.push_back({"dispatch/8dev", []() -> Run {
                 Array x = device_put(zeros({8}), cut(P("x")));
                 auto f = jit([](const Array& v) { return v + 1; });
                 return [=] { f(x); };
               }});
  for (auto& [name, make] : bench::loops()) w.push_back({name, make});
  for (auto& [name, make] : bench::transforms()) w.push_back({name, make});
  for (auto& [name, make] : bench::factorizations()) w.push_back({name, make});
  w.push_back({"dispatch/eager_1dev", []() -> Run {
                 Array x = device_put(zeros({8}), SingleDeviceSharding(devices()[0]));
                 return [=] { x + 1; };
               }});
  w.push_back({.name = "compile/elementwise_8dev", .make = {}, .time = compile_elementwise});
  const std::vector<int64_t> mlp3{784, 512, 512, 10}, mlp50(51, 64);
  w.push_back({.name = "compile/mlp3_train_8dev", .make = {}, .time = [=] {
                 return middle(bench::compile_mlp(mlp3, 5));
               }});
  w.push_back({.name = "compile/mlp50_train_8dev", .make = {}, .time = [=] {
                 return middle(bench::compile_mlp(mlp50, 5));
               }});
  w.push_back({.name = "compile/transformer_train_8dev", .make = {}, .time = [] {
                 return middle(bench::compile_transformer(5));
               }});
  w.push_back({"train/mlp_1dev", [=] { return bench::mlp_step(1024, mlp3, false); }});
  w.push_back({"train/mlp_8dev", [=] { return bench::mlp_step(1024, mlp3, true); }});
  w.push_back({.name = "train/transformer_B32_1dev",
               .make = [] { return bench::transformer_step(32, false); },
               .budget = 6});
  w.push_back({.name = "train/transformer_B32_8dev",
               .make = [] { return bench::transformer_step(32, true); },
               .budget = 6});
  w.push_back({"train/convnet_1dev", [] { return bench::conv_net_step(32, false); }});
  w.push_back({"train/convnet_8dev", [] { return bench::conv_net_step(32, true); }});
  for (const int64_t batch : {256, 1024}) {
    const auto name = [&](const char* kind) {
      return "dp/mlp_" + std::string(kind) + "_B" + std::to_string(batch) + "_1dev";
    };
    w.push_back({name("plain"), [=] { return bench::mlp_step(batch, mlp3, false); }});
    w.push_back({name("vmapped"), [=] { return bench::per_example_mlp_step(batch, mlp3); }});
    w.push_back({name("clipped"), [=] { return bench::private_mlp_step(batch, mlp3, false); }});
  }
  w.push_back(
      {"dp/mlp_clipped_B1024_8dev", [=] { return bench::private_mlp_step(1024, mlp3, true); }});
  w.push_back({.name = "dp/transformer_clipped_B32_1dev",
               .make = [] { return bench::private_transformer_step(32, false); },
               .budget = 6});
  w.push_back({"dp/convnet_clipped_1dev", [] { return bench::private_conv_net_step(32, false); }});
  const double conv_flop = 2.0 * 32 * 56 * 56 * 64 * 9 * 64;
  w.push_back({"conv/f32_1dev", [] { return bench::convolution(false); }, conv_flop, "GFLOP/s"});
  w.push_back(
      {"conv/f32_grad_1dev", [] { return bench::convolution(true); }, 3 * conv_flop, "GFLOP/s"});
  w.push_back(elementwise("elementwise/2sin+1_1dev", false, read_and_write, two_sin));
  w.push_back(elementwise("elementwise/2sin+1_8dev", true, read_and_write, two_sin));
  w.push_back(elementwise("elementwise/x*2+1_8dev", true, read_and_write, affine));
  w.push_back(elementwise("elementwise/gelu_8dev", true, read_and_write,
                          [](const Array& x) { return gelu(x); }));
  w.push_back(elementwise("reduce/sum_axis0_8dev", true, read_and_write / 2,
                          [](const Array& x) { return sum(x, {.axis = 0}); }));
  w.push_back(elementwise("reduce/softmax_8dev", true, read_and_write,
                          [](const Array& x) { return softmax(x, -1); }));
  w.push_back(gemm("gemm/f32_1dev", std::nullopt));
  w.push_back(gemm("gemm/f32_8dev_rows", std::pair(P("x", None), P())));
  w.push_back(gemm("gemm/f32_8dev_contract", std::pair(P(None, "x"), P("x", None))));
  w.push_back(aat("aat/f32", float32));
  w.push_back(aat("aat/bf16", bfloat16));
  w.push_back(aat("aat/f16", float16));
  w.push_back(aat("aat/f64", float64));
  w.push_back(collective("collective/psum_4MiB", P(), [](const Array& v) { return psum(v, "x"); }));
  w.push_back(collective("collective/all_gather_4MiB", P(),
                         [](const Array& v) { return all_gather(v, "x", {.tiled = true}); }));
  w.push_back(collective("collective/psum_scatter_4MiB", P("x"),
                         [](const Array& v) { return psum_scatter(v, "x", {.tiled = true}); }));
  w.push_back(collective("collective/all_to_all_4MiB", P("x"),
                         [](const Array& v) { return all_to_all(v, "x", 0, 0, {.tiled = true}); }));
  w.push_back(collective("collective/ppermute_4MiB", P("x"), [](const Array& v) {
    std::vector<std::pair<int, int>> ring;
    for (int i = 0; i < 8; ++i) ring.push_back({i, (i + 1) % 8});
    return ppermute(v, "x", ring);
  }));
  w.push_back({"collective/psum_4B", []() -> Run {
                 Array x = device_put(normal({8}), cut(P("x")));
                 auto f =
                     jit(shard_map([](const Array& v) { return psum(v, "x"); },
                                   {.mesh = line(), .in_specs = {P("x")}, .out_specs = {P()}}));
                 return [=] { f(x); };
               }});
  w.push_back({"random/normal_16M",
               []() -> Run {
                 auto key = random::key(0);
                 auto f = jit([](const auto& k) { return random::normal(k, {1 << 24}); });
                 return [=] { f(key); };
               },
               double(1 << 24), "Gsamples/s"});
  // The machine alone, to hold the above against.
  w.push_back(
      {"machine/copy_64MiB", [] { return bench::plain_copy(64 << 20); }, read_and_write, "GB/s"});
  w.push_back({"machine/onednn_gemm", [] { return bench::onednn_gemm(2048); },
               2.0 * 2048 * 2048 * 2048, "GFLOP/s"});
  return w;
}

void report(const Workload& w) {
  nlohmann::ordered_json line;
  line["name"] = w.name;
  try {
    const Timing t = w.time ? w.time() : time_of(w.make(), w.budget);
    line["min_us"] = std::round(t.min * 1e7) / 10;
    line["med_us"] = std::round(t.median * 1e8) / 100;
    if (!w.unit.empty()) line[w.unit] = std::round(w.work / t.median / 1e7) / 100;
  } catch (const std::exception& error) {
    line["error"] = std::string(error.what()).substr(0, 200);
  }
  std::cout << line.dump() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Times Tessera on the workloads of the JAX peer benchmark, on 8 virtual CPU devices");
  std::vector<std::string> words;
  bool json = false, list = false;
  app.add_option("words", words, "run the workloads whose name contains one of these");
  app.add_flag("--json", json, "one JSON line a workload (the default and only form)");
  app.add_flag("--list", list, "print the names");
  CLI11_PARSE(app, argc, argv);

  // Compile times are cold ones: a kernel cache of this process alone.
  const std::filesystem::path cache =
      std::filesystem::temp_directory_path() / fmt::format("tessera-bench-{}", getpid());
  setenv("TESSERA_CACHE_DIR", cache.c_str(), 1);
  initialize({.devices = "cpu:8"});
  int status = words.empty() ? 0 : 1;
  for (const Workload& w : workloads()) {
    const bool wanted =
        words.empty() || std::any_of(words.begin(), words.end(), [&](const std::string& word) {
          return w.name.find(word) != std::string::npos;
        });
    if (!wanted) continue;
    status = 0;
    if (list) {
      std::cout << w.name << "\n";
    } else {
      report(w);
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(cache, ignored);
  if (status) std::cerr << "no workload contains any of the words; --list prints the names\n";
  if (!std::cout.flush()) {
    std::cerr << "the standard output cannot be written\n";
    return 1;
  }
  return status;
}
