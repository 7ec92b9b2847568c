// Measures this machine with Tessera's own programs, because the measured costs are used to predict
// such programs.
#include <algorithm>
#include <cmath>
#include <thread>

#include "tessera/base/thread_pool.h"
#include "tessera/compile/pipeline.h"
#include "tessera/compile/step_time.h"
#include "tessera/runtime/routine_code.h"
#include "tessera/tessera.h"
#include "tools/calibrate.h"
#include "tools/clock.h"

namespace tessera::tools {
namespace {

// The bytes of a model and of the values between its steps, and those of a model that fits no
// cache.
constexpr int64_t kWorkingSet = int64_t{16} << 20, kLargeWorkingSet = int64_t{96} << 20;
// The number of devices in the collective that measures the link within a process.
constexpr int kDevices = 8;

// Returns the median over the sweeps of what `figure` returns for each.
template <class T, class F>
double median_of(const std::vector<T>& sweeps, const F& figure) {
  std::vector<double> values;
  for (const T& sweep : sweeps) values.push_back(figure(sweep));
  return median(std::move(values));
}
LinkCost median_link(const std::vector<LinkCost>& sweeps) {
  return {median_of(sweeps, [](const LinkCost& link) { return link.bandwidth; }),
          median_of(sweeps, [](const LinkCost& link) { return link.latency; })};
}
MachineCosts median_costs(const std::vector<MachineCosts>& sweeps) {
  const auto of = [&](const auto& figure) { return median_of(sweeps, figure); };
  using Table = std::vector<SizedSpeed>;
  const auto table = [&](Table MachineCosts::*member) {
    Table out = sweeps[0].*member;
    for (size_t row = 0; row < out.size(); ++row)
      out[row].speed = {of([&](const MachineCosts& c) { return (c.*member)[row].speed.one; }),
                        of([&](const MachineCosts& c) { return (c.*member)[row].speed.all; })};
    return out;
  };
  MachineCosts out = sweeps[0];
  out.call_seconds = of([](const MachineCosts& c) { return c.call_seconds; });
  out.step_seconds = of([](const MachineCosts& c) { return c.step_seconds; });
  out.kernel_speed = of([](const MachineCosts& c) { return c.kernel_speed; });
  out.memory = table(&MachineCosts::memory);
  out.float32_products = table(&MachineCosts::float32_products);
  out.bfloat16_products = table(&MachineCosts::bfloat16_products);
  std::vector<LinkCost> links;
  for (const MachineCosts& c : sweeps) links.push_back(c.process);
  out.process = median_link(links);
  return out;
}

// Returns the median seconds of a run over 3 to 9 samples, which take about a fifth of a second.
// Short runs are repeated within a sample until a clock can measure them.
double seconds_of(const Run& run) {
  run();
  const Clock::time_point begin = Clock::now();
  run();
  const double once = std::max(1e-7, seconds_since(begin));
  const int repeats = std::max(1, static_cast<int>(1e-3 / once));
  const double sample = once * repeats;
  return median_seconds(run, std::clamp(static_cast<int>(0.2 / sample), 3, 9), repeats);
}

// Returns a run that calls f with copies of x and y, with different copies each time. In a program,
// the memory of a step was used some time ago, though it may be in a cache; with the same operands
// each time f would be faster.
template <class F>
Run rotating(const F& f, const Array& x, const Array& y, int64_t working_set = kWorkingSet) {
  const int64_t bytes = (x.size() + y.size()) * itemsize(x.dtype()) * 3 / 2;
  const int64_t count = std::clamp<int64_t>(working_set / bytes, 1, 512);
  struct State {
    std::vector<std::array<Array, 3>> sets;
    size_t next = 0;
  };
  const auto state = std::make_shared<State>();
  const auto copy = jit([](const Array& a) { return a * 1; });
  for (int64_t k = 0; k < count; ++k) state->sets.push_back({copy(x), copy(y), Array()});
  const auto program = jit(f);
  return [=] {
    std::array<Array, 3>& set = state->sets[state->next++ % state->sets.size()];
    set[2] = program(set[0], set[1]);
  };
}

Run product_of(const Array& x, const Array& y, int64_t working_set = kWorkingSet) {
  return rotating([](const Array& a, const Array& b) { return matmul(a, b); }, x, y, working_set);
}

// Returns the speed on one thread and on all cores, not counting the time of a call.
Speed speed_of(double work, const Run& run, const MachineCosts& costs) {
  const double overhead = costs.call_seconds + costs.step_seconds;
  const auto speed = [&](int threads) {
    set_num_threads(threads);
    const double seconds = seconds_of(run);
    return work / std::max(seconds - overhead, 0.1 * seconds);
  };
  Speed out{speed(1), 0};
  // If more threads are slower than one, something else limits them.
  out.all = std::max(speed(costs.cores), out.one);
  return out;
}

void measure_calls(MachineCosts& costs) {
  constexpr int kSteps = 16;
  const Array a = ones({4, 4}) / 4;
  const auto one = jit([](const Array& x, const Array& y) { return matmul(x, y); });
  const auto many = jit([](Array x, const Array& y) {
    for (int k = 0; k < kSteps; ++k) x = matmul(x, y);
    return x;
  });
  const double first = seconds_of([&] { one(a, a); }), last = seconds_of([&] { many(a, a); });
  costs.step_seconds = std::max(1e-8, (last - first) / (kSteps - 1));
  costs.call_seconds = std::max(1e-8, first - costs.step_seconds);
}

std::vector<SizedSpeed> measure_products(DType dtype, const MachineCosts& costs) {
  std::vector<SizedSpeed> out;
  for (int64_t n : {16, 32, 64, 128, 256, 512, 1024}) {
    const Array x = astype(random::normal(random::key(0), {n, n}), dtype);
    const Run run = product_of(x, x);
    const double flops = 2.0 * static_cast<double>(n * n * n);
    out.push_back({flops, speed_of(flops, run, costs)});
  }
  return out;
}

// Returns the speed of reading operands, from products with few rows or few terms and with matrices
// that are in no cache: it determines the time that exceeds the time of their flop at the speed of
// the largest products.
Speed measure_operands(const MachineCosts& costs) {
  constexpr int64_t kFew = 64, kMany = 2048;
  const std::vector<SizedSpeed>& products = costs.float32_products;
  const Run runs[] = {
      product_of(ones({kFew, kMany}), ones({kMany, kMany}), kLargeWorkingSet),
      product_of(ones({kMany, kFew}), ones({kFew, kMany}), kLargeWorkingSet / 16),
  };
  const double flop = 2.0 * kFew * kMany * kMany,
               elements = operand_elements(products, kFew, kMany, kMany) +
                          operand_elements(products, kMany, kMany, kFew);
  const auto speed = [&](int threads, double peak) {
    set_num_threads(threads);
    double seconds = 0;
    for (const Run& run : runs) {
      std::vector<double> sweeps;
      for (int sweep = 0; sweep < kSweeps; ++sweep) sweeps.push_back(seconds_of(run));
      const double all = median(std::move(sweeps));
      seconds += std::max(all - flop / peak, 0.02 * all);
    }
    return elements / seconds;
  };
  Speed out{speed(1, products.back().speed.one), 0};
  out.all = std::max(speed(costs.cores, products.back().speed.all), out.one);
  return out;
}

std::vector<SizedSpeed> measure_memory(const MachineCosts& costs) {
  std::vector<SizedSpeed> out;
  for (int64_t elements :
       {int64_t{1} << 13, int64_t{1} << 16, int64_t{1} << 19, int64_t{1} << 22, int64_t{1} << 24}) {
    const Array x = ones({elements});
    const Run run = rotating([](const Array& a, const Array& b) { return a + b; }, x, x);
    const double bytes = 3.0 * 4 * static_cast<double>(elements);
    out.push_back({bytes, speed_of(bytes, run, costs)});
  }
  return out;
}

// Returns the speed of arithmetic kernels relative to what kernel_ns() expects: the geometric mean
// of several kernels.
double measure_kernels(const MachineCosts& costs) {
  set_num_threads(1);
  const Array x = random::normal(random::key(0), {64, 512});
  double logarithms = 0;
  int count = 0;
  const auto add = [&](const auto& f) {
    const auto program = jit(f);
    const Lowered lowered = program.lower(x);
    double expected = 0;
    for (const fusion::Step& step : lowered.stages().schedule.steps)
      if (const auto* kernel = std::get_if<fusion::KernelStep>(&step))
        expected += runtime::kernel_ns(kernel->kernel) * 1e-9;
    const double seconds = seconds_of([&] { program(x); });
    const double measured =
        std::max(seconds - costs.call_seconds - costs.step_seconds, 0.1 * seconds);
    logarithms += std::log(expected / measured);
    ++count;
  };
  add([](const Array& a) { return tanh(a) * exp(-a * a); });
  add([](const Array& a) { return gelu(a); });
  add([](const Array& a) { return softmax(a); });
  add([](const Array& a) { return standardize(a); });
  return std::exp(logarithms / count);
}

// Returns a run of a sum over all devices of a mesh, with `bytes` on each.
Run all_reduce_on(const Mesh& mesh, int64_t bytes) {
  const int64_t elements = bytes / 4;
  const NamedSharding rows(mesh, P("x"));
  const Array x = jit([=] { return ones({mesh.size(), elements}); }, {.out_shardings = {rows}})();
  const auto sum = jit(shard_map([](const Array& a) { return psum(a, "x"); },
                                 {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P()}}));
  return [=] { sum(x); };
}

// Returns the bytes that each of n devices sends in an all_reduce.
double ring_bytes(int64_t bytes, int64_t n) {
  return 2.0 * static_cast<double>(bytes) * static_cast<double>(n - 1) / static_cast<double>(n);
}

LinkCost measure_process_link(const MachineCosts& costs) {
  const std::vector<Device> local = local_devices();
  const Mesh mesh(std::vector<Device>(local.begin(), local.begin() + kDevices), {"x"});
  constexpr int64_t kLarge = int64_t{1} << 20;
  LinkCost out;
  // The time without the call; it is at least that of a step.
  out.latency =
      std::max(costs.step_seconds, seconds_of(all_reduce_on(mesh, 64)) - costs.call_seconds);
  const double seconds = seconds_of(all_reduce_on(mesh, kLarge)) - costs.call_seconds - out.latency;
  out.bandwidth = kDevices * ring_bytes(kLarge, kDevices) / std::max(1e-7, seconds);
  return out;
}

// Returns a mesh of the first device of each of these processes.
Mesh mesh_of(const std::vector<int>& processes) {
  std::vector<Device> firsts;
  for (int p : processes)
    firsts.push_back(*std::find_if(devices().begin(), devices().end(),
                                   [&](const Device& d) { return d.process_index == p; }));
  return {firsts, {"x"}};
}

LinkCost measure_link(const Mesh& mesh) {
  const int64_t count = mesh.size();
  // All processes must run the same number of times, so none may decide by its own clock.
  const auto seconds = [&](int64_t bytes, int samples, int repeats) {
    return median_seconds(all_reduce_on(mesh, bytes), samples, repeats);
  };
  constexpr int64_t kLarge = int64_t{4} << 20, kMedium = int64_t{256} << 10;
  const double bytes = ring_bytes(kLarge, count) - ring_bytes(kMedium, count);
  std::vector<LinkCost> sweeps;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    const double none = seconds(64, 9, 20), medium = seconds(kMedium, 9, 4),
                 large = seconds(kLarge, 9, 1);
    sweeps.push_back({bytes / std::max(1e-7, large - medium), std::max(1e-8, none)});
  }
  return median_link(sweeps);
}

// A training step that is measured as a whole. Each device computes gradients of its own rows.
struct TrainingStep {
  using Weights = std::vector<Array>;
  std::vector<Shape> weights;
  Shape rows;  // of each device
  Array (*loss)(const Weights& w, const Array& rows);
};

// Returns two steps. The first consists mostly of products, the second of what is between products.
std::vector<TrainingStep> training_steps() {
  constexpr int64_t kWidth = 1024, kNarrow = 192;
  using Weights = TrainingStep::Weights;
  return {{.weights = {{kWidth, kWidth}, {kWidth, kWidth}, {kWidth, kWidth}},
           .rows = {64, kWidth},
           .loss =
               [](const Weights& w, const Array& rows) {
                 Array h = rows;
                 for (const Array& layer : w) h = tanh(matmul(h, layer));
                 return mean(h * h);
               }},
          {.weights = {{kNarrow, 4 * kNarrow}, {4 * kNarrow, kNarrow}},
           .rows = {2, 64, kNarrow},
           .loss = [](const Weights& w, const Array& rows) {
             const Array n = standardize(rows),
                         seen = softmax(einsum("btd,bsd->bts", {n, n}) / 16.f),
                         h = rows + einsum("bts,bsd->btd", {seen, n});
             return mean(square(h + matmul(gelu(matmul(standardize(h), w[0])), w[1])));
           }}};
}

// Returns how fast `step` runs on the devices of a mesh, as a multiple of the speed that `costs`
// predicts for its parts. `link` is the link between the devices. Only process 0 has costs to
// compare with.
double measure_speed_left(const TrainingStep& step, const Mesh& mesh, const MachineCosts& costs,
                          const LinkCost& link) {
  const NamedSharding rows(mesh, P("x")), everywhere(mesh, P());
  using Weights = TrainingStep::Weights;
  const Weights weights = jit(
      [&] {
        Weights out;
        for (const Shape& shape : step.weights)
          out.push_back(random::normal(random::key(static_cast<uint32_t>(out.size())), shape) /
                        std::sqrt(static_cast<float>(shape[0])));
        return out;
      },
      {.out_shardings = {everywhere}})();
  Shape all = step.rows;
  all[0] *= mesh.size();
  const Array x =
      jit([&] { return random::normal(random::key(9), all); }, {.out_shardings = {rows}})();
  auto train = jit(
      [&](const Weights& w, const Array& a) {
        const Weights gradients = grad(step.loss)(w, a);
        Weights out;
        for (size_t k = 0; k < w.size(); ++k) out.push_back(w[k] - 0.01f * gradients[k]);
        return out;
      },
      {.out_shardings = {everywhere}});
  const Lowered lowered = train.lower(weights, x);
  std::vector<double> sweeps;
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    sweeps.push_back(median_seconds([&] { train(weights, x); }, 9));
  if (!costs.measured()) return 1;
  double sending = 0;
  for (const Collective& c : lowered.collectives())
    sending += static_cast<double>(c.bytes_per_device) / link.bandwidth + link.latency;
  const double computing = compile::predict_compute(lowered.stages(), costs),
               measured = median(std::move(sweeps));
  return std::clamp(computing / std::max(1e-9, measured - sending), 0.1, 1.5);
}

double measure_speed_left(const Mesh& mesh, MachineCosts costs, const LinkCost& link) {
  costs.speed_left.clear();
  double logarithms = 0;
  const std::vector<TrainingStep> steps = training_steps();
  for (const TrainingStep& step : steps)
    logarithms += std::log(measure_speed_left(step, mesh, costs, link));
  return std::exp(logarithms / static_cast<double>(steps.size()));
}

MachineCosts measure_once(int cores) {
  MachineCosts costs;
  costs.cores = cores;
  set_num_threads(costs.cores);
  measure_calls(costs);
  costs.float32_products = measure_products(float32, costs);
  costs.bfloat16_products = measure_products(bfloat16, costs);
  costs.memory = measure_memory(costs);
  costs.kernel_speed = measure_kernels(costs);
  set_num_threads(costs.cores);
  costs.process = measure_process_link(costs);
  return costs;
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double median_seconds(const Run& run, int samples, int repeats) {
  run();
  std::vector<double> seconds;
  for (int s = 0; s < samples; ++s) {
    const Clock::time_point begin = Clock::now();
    for (int r = 0; r < repeats; ++r) run();
    seconds.push_back(seconds_since(begin) / repeats);
  }
  return median(std::move(seconds));
}

MachineCosts measure_process() {
  const int threads = num_threads(),
            cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::vector<MachineCosts> sweeps;
  for (int sweep = 0; sweep < kSweeps; ++sweep) sweeps.push_back(measure_once(cores));
  MachineCosts costs = median_costs(sweeps);
  costs.operands = measure_operands(costs);
  const std::vector<Device> local = local_devices();
  constexpr int kTraining = 4;
  costs.speed_left[1] =
      measure_speed_left(Mesh({local.begin(), local.begin() + kTraining}, {"x"}), costs,
                         {costs.process.bandwidth / kTraining, costs.process.latency});
  set_num_threads(threads);
  return costs;
}

void measure_links(MachineCosts& costs) {
  const std::vector<int>& hosts = hosts_of_processes();
  std::vector<int> everyone, mine;
  for (size_t p = 0; p < hosts.size(); ++p) {
    everyone.push_back(static_cast<int>(p));
    if (hosts[p] == hosts[0]) mine.push_back(static_cast<int>(p));
  }
  // Processes on other hosts take no part in measurements on the first host.
  const bool here = hosts[static_cast<size_t>(process_index())] == hosts[0];
  if (mine.size() > 1 && here) {
    const auto count = static_cast<int>(mine.size());
    const Mesh mesh = mesh_of(mine);
    const LinkCost link = costs.host[count] = measure_link(mesh);
    costs.speed_left[count] = measure_speed_left(mesh, costs, link);
  }
  if (mine.size() < everyone.size())
    costs.network[static_cast<int>(everyone.size())] = measure_link(mesh_of(everyone));
}

}  // namespace tessera::tools
