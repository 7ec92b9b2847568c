#include "tessera/compile/step_time.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/thread_pool.h"
#include "tessera/cluster/processes.h"
#include "tessera/fusion/locality.h"
#include "tessera/fusion/schedule_walk.h"
#include "tessera/runtime/products/dot_shape.h"
#include "tessera/runtime/routine_code.h"
#include "tessera/runtime/step_code.h"

namespace tessera::compile {
namespace {

// The size in flop up to which the operands of products stay in a core's cache.
constexpr double kInCache = 2.0 * 192 * 192 * 192;

// Predicts the time of steps in one process.
class Predictor {
 public:
  Predictor(const Schedule& whole, const MachineCosts& costs)
      : costs_(costs),
        sharing_(cluster::Processes::local_count()),
        threads_(std::min(num_threads(), costs_.cores)) {
    const cluster::Processes* processes = cluster::Processes::current();
    if (!processes || whole.mesh.rank() == 0) return;
    std::vector<int> process_of;
    for (const Device& d : whole.mesh.devices())
      process_of.push_back(static_cast<int>(d.process_index));
    locality_.emplace(whole.mesh, std::move(process_of), processes->index());
  }

  // Returns the seconds that a step takes; steps with schedules inside are summed by the caller.
  double operator()(const KernelStep& kernel, const Schedule& s) const {
    const double one =
        runtime::kernel_ns(kernel.kernel) * 1e-9 * instances(s, kernel.axes) / costs_.kernel_speed;
    return costs_.step_seconds + std::max(one / threads(one), to_move(bytes(s, kernel.slots)));
  }
  double operator()(const DotStep& dot, const Schedule& s) const {
    const Slot &lhs = s.slots[static_cast<size_t>(dot.lhs)],
               &rhs = s.slots[static_cast<size_t>(dot.rhs)];
    const runtime::DotShape shape = runtime::dot_shape(dot, lhs.shape, rhs.shape, lhs.dtype);
    const double count = instances(s, dot.axes),
                 all = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                       static_cast<double>(shape.k) * (dot.symmetric ? 0.5 : 1) *
                       static_cast<double>(shape.batch) * count;
    const double move = to_move(bytes(s, {dot.lhs, dot.rhs, dot.out, dot.bias}));
    if (all == 0) return costs_.step_seconds + move;
    // If it is allowed, the runtime makes one product of the products of all instances
    // (runtime/products/dot_code.cc).
    const bool joined = !s.reproducible && shape.batch == 1 && count > 1;
    const bool taller = joined && dot.reduce_axes.empty() && rhs.instances == 1,
               longer = joined && !dot.reduce_axes.empty();
    return costs_.step_seconds +
           std::max(of_products(lhs.dtype, all, static_cast<double>(shape.m) * (taller ? count : 1),
                                static_cast<double>(shape.n),
                                static_cast<double>(shape.k) *
                                    (longer ? instances(s, dot.reduce_axes) : 1)),
                    move);
  }
  double operator()(const ConvolutionStep& convolution, const Schedule& s) const {
    const Slot &lhs = s.slots[static_cast<size_t>(convolution.lhs)],
               &rhs = s.slots[static_cast<size_t>(convolution.rhs)],
               &out = s.slots[static_cast<size_t>(convolution.out)];
    // Each element of the result is a product over a window and the input features.
    const auto features =
        static_cast<double>(std::max<int64_t>(1, rhs.shape[convolution.params.rhs_spec[0]]));
    const double window = static_cast<double>(rhs.shape.elements()) / features,
                 all = 2.0 * static_cast<double>(out.shape.elements()) * window *
                       instances(s, convolution.axes);
    const double move = to_move(bytes(s, {convolution.lhs, convolution.rhs, convolution.out}));
    if (all == 0) return costs_.step_seconds + move;
    return costs_.step_seconds +
           std::max(
               of_products(lhs.dtype, all, static_cast<double>(out.shape.elements()) / features,
                           features, window),
               move);
  }
  double operator()(const CallStep& call, const Schedule& s) const {
    if (call.updates) {
      const auto arrays = static_cast<ptrdiff_t>(call.out.size());
      std::vector<int> moved(call.in.begin() + arrays, call.in.end());
      moved.insert(moved.end(), call.in.end() - arrays, call.in.end());
      return costs_.step_seconds + to_move(bytes(s, moved));
    }
    return costs_.step_seconds + to_move(bytes(s, call.in) + bytes(s, call.out));
  }
  double operator()(const UpdateStep& update, const Schedule& s) const {
    return costs_.step_seconds + to_move(2 * bytes(s, {update.update}));
  }
  double operator()(const CollectiveStep&, const Schedule&) const { return 0; }
  double operator()(const InstanceTableStep&, const Schedule&) const { return 0; }
  double operator()(const ViewStep&, const Schedule&) const { return 0; }

 private:
  double instances(const Schedule& s, const AxisList& axes) const {
    return static_cast<double>(locality_ ? static_cast<int64_t>(locality_->instances(axes).size())
                                         : axes_size(s.mesh, axes));
  }
  // Returns the bytes of all instances in this process.
  double bytes(const Schedule& s, const std::vector<int>& slots) const {
    double out = 0;
    for (int slot : slots) {
      if (slot < 0) continue;
      const Slot& one = s.slots[static_cast<size_t>(slot)];
      out += static_cast<double>(one.bytes()) * instances(s, one.axes);
    }
    return out;
  }
  double speed(const std::vector<SizedSpeed>& table, double size, bool parallel) const {
    return speed_at(table, size, parallel ? threads_ : 1, costs_.cores, sharing_);
  }
  // Returns how many threads the step uses, given the time that one thread needs.
  double threads(double one_thread_seconds) const {
    const bool parallel = one_thread_seconds * 1e9 > runtime::kInlineNs;
    return std::min(parallel ? threads_ : 1, costs_.cores / sharing_);
  }
  // Returns the seconds to move `size` bytes. The processes of a machine run the same steps at the
  // same time and share its last-level cache.
  double to_move(double size) const {
    return size == 0 ? 0 : size / speed(costs_.memory, size * sharing_, size > 256 * 1024);
  }
  // Returns the seconds of products of (m, k) by (k, n), `all` flop in total. Products with few
  // rows, columns or terms spend much of their time on reading their operands.
  double of_products(DType dtype, double all, double m, double n, double k) const {
    const std::vector<SizedSpeed>& table =
        is_half(dtype) ? costs_.bfloat16_products : costs_.float32_products;
    const double one = 2 * m * n * k;
    const bool parallel = all > 3e5;
    if (one <= kInCache) return all / speed(table, one, parallel);
    return all / speed(table, table.back().size, parallel) +
           all / one * operand_elements(table, m, n, k) /
               speed({{0, costs_.operands}}, 0, parallel);
  }

  const MachineCosts& costs_;
  std::optional<Locality> locality_;
  double sharing_, threads_;
};

}  // namespace

double predict_compute(const Stages& stages, const MachineCosts& costs) {
  const double alone = cost_of_run(stages.schedule, Predictor(stages.schedule, costs));
  return costs.call_seconds + alone / speed_left(costs, cluster::Processes::local_count());
}

std::optional<StepTime> predict_time(const Stages& stages, const Device& device) {
  const MachineCosts& costs = machine_costs();
  if (!costs.measured()) return std::nullopt;
  const Mesh& mesh = stages.schedule.mesh;
  if (mesh.rank() > 0 && mesh.is_abstract()) return std::nullopt;
  if ((mesh.rank() > 0 ? mesh.devices()[0] : device).kind != DeviceKind::kCpu) return std::nullopt;
  StepTime out;
  out.compute = predict_compute(stages, costs);
  for (const Collective& c : stages.partitioned.collectives)
    out.communication += c.seconds * static_cast<double>(std::max<int64_t>(1, c.times));
  return out;
}

}  // namespace tessera::compile
