#include "tessera/runtime/routine_code.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>

namespace tessera::runtime {
namespace {

// Trips that take longer hardly notice what is between their kernels, and large kernels are for all
// threads.
constexpr double kLongestTripNs = 20000;
// Compiling a loop takes time that grows with its kernels' nodes; they are not shared with others.
constexpr size_t kMostNodes = 6000;

thread_local int interpreting = 0;

struct Weight {
  double ns = 0;
  size_t nodes = 0;
  bool parallel = false;  // a kernel is for several threads
};

void weigh(const Schedule& s, Weight& weight);

// A loop inside counts as one trip: what it costs between kernels is paid in each.
void weigh(const LoopStep& loop, Weight& weight) {
  if (loop.cond) weigh(*loop.cond, weight);
  weigh(*loop.body, weight);
}

void weigh(const Schedule& s, Weight& weight) {
  for (const Step& step : s.steps) {
    if (const auto* k = std::get_if<KernelStep>(&step)) {
      const double ns = kernel_ns(k->kernel);
      weight.ns += ns;
      weight.nodes += k->kernel.nodes.size();
      weight.parallel = weight.parallel || ns > kInlineNs;
    }
    if (const auto* l = std::get_if<LoopStep>(&step)) weigh(*l, weight);
    if (const auto* b = std::get_if<BranchStep>(&step))
      for (const auto& way : b->branches) weigh(*way, weight);
  }
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
  Weight weight;
  weigh(step, weight);
  return !weight.parallel && weight.ns <= kLongestTripNs && weight.nodes <= kMostNodes;
}

std::unique_ptr<StepCode> make_routine_code(const LoopStep& step, KernelCode code) {
  return std::make_unique<RoutineStepCode>(step, std::move(code));
}

}  // namespace tessera::runtime
