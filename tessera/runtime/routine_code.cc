#include "tessera/runtime/routine_code.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>

#include "tessera/base/overloaded.h"
#include "tessera/fusion/schedule_walk.h"

namespace tessera::runtime {
namespace {

// Loops with longer trips stay interpreted: the overhead between kernels hardly counts, and large
// kernels should use all threads.
constexpr double kLongestTripNs = 20000;
// Loops with more nodes stay interpreted: compiling takes time that grows with the nodes of the
// loop's kernels, and the code is not shared with other programs.
constexpr size_t kMostNodes = 6000;

// The time of an update, and the time for each byte that it moves.
constexpr double kUpdateNs = 2, kByteNs = 0.12;

thread_local int interpreting = 0;

struct Weight {
  double ns = 0;
  size_t nodes = 0;
  bool parallel = false;  // whether a kernel would use several threads
};

// Returns the weight of one trip. A loop inside counts as one of its trips, since each of these has
// the overhead between kernels.
Weight weight_of_trip(const LoopStep& loop) {
  Weight weight;
  const auto add = [&](const Step& step, const Schedule& s) {
    if (const auto* update = std::get_if<UpdateStep>(&step)) {
      const double ns =
          kUpdateNs +
          kByteNs * static_cast<double>(s.slots[static_cast<size_t>(update->update)].bytes());
      weight.ns += ns;
      weight.parallel = weight.parallel || ns > kInlineNs;
    }
    const auto* kernel = std::get_if<KernelStep>(&step);
    if (!kernel) return;
    const double ns = kernel_ns(kernel->kernel);
    weight.ns += ns;
    weight.nodes += kernel->kernel.nodes.size();
    weight.parallel = weight.parallel || ns > kInlineNs;
  };
  for_each_nested(loop, [&](const Schedule& nested) { for_each_step(nested, add); });
  return weight;
}

// Trips that take less time are not worth a task; a routine runs them faster.
constexpr double kShortestTaskTripNs = 4000;
// A thread's temporaries should stay in the cache of its core.
constexpr int64_t kMostTripBytes = int64_t{4} << 20;
// With fewer trips, threads would be idle.
constexpr int64_t kLeastParallelTrips = 8;

// Returns whether only steps are in the loop that one of many tasks may run: no products, which may
// use threads of a library, and no collectives.
bool has_only_simple_steps(const LoopStep& loop) {
  bool simple = true;
  for_each_nested(loop, [&](const Schedule& nested) {
    for_each_step(nested, [&](const Step& step, const Schedule&) {
      simple = simple && !std::holds_alternative<DotStep>(step) &&
               !std::holds_alternative<ConvolutionStep>(step) &&
               !std::holds_alternative<CollectiveStep>(step);
    });
  });
  return simple;
}

// Returns the nanoseconds of one trip on one thread, without those of calls.
double trip_ns(const LoopStep& loop) {
  return fusion::cost_of_run(
      *loop.body,
      Overloaded{[](const KernelStep& step, const Schedule&) { return kernel_ns(step.kernel); },
                 [](const auto&, const Schedule&) { return 0.0; }});
}

bool has_parallel_trips(const LoopStep& loop) {
  return interpreting == 0 && loop.independent && loop.trip_count >= kLeastParallelTrips &&
         has_only_simple_steps(loop) && trip_ns(loop) >= kShortestTaskTripNs;
}

class RoutineStepCode final : public StepCode {
 public:
  RoutineStepCode(const LoopStep& step, KernelCode code)
      : code_(std::move(code)), slots_(codegen::routine_slots(step)) {}

  int64_t code_bytes() const override { return code_.bytes; }
  void run(const SlotRef* slots, std::byte* workspace) const override {
    boost::container::small_vector<void*, 24> pointers;
    for (int slot : slots_) pointers.push_back(slots[slot].at(0));
    pointers.push_back(workspace);
    code_.fn(pointers.data(), 0, 1);
  }

 private:
  KernelCode code_;
  std::vector<int> slots_;
};

}  // namespace

InterpretLoops::InterpretLoops() { ++interpreting; }
InterpretLoops::~InterpretLoops() { --interpreting; }

bool runs_as_routine(const LoopStep& step, const Schedule& schedule) {
  if (interpreting > 0 || !codegen::can_be_routine({&step, &schedule})) return false;
  if (has_parallel_trips(step)) return false;
  const Weight weight = weight_of_trip(step);
  return !weight.parallel && weight.ns <= kLongestTripNs && weight.nodes <= kMostNodes;
}

bool runs_trips_in_parallel(const LoopStep& step, int64_t trip_bytes) {
  return trip_bytes <= kMostTripBytes && has_parallel_trips(step);
}

std::unique_ptr<StepCode> make_routine_code(const LoopStep& step, KernelCode code) {
  return std::make_unique<RoutineStepCode>(step, std::move(code));
}

}  // namespace tessera::runtime
