#include "tessera/fusion/kernels/share_kernels.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "tessera/base/contains.h"

namespace tessera::fusion {
namespace {

constexpr size_t kLeastNodes = 40;   // smaller kernels compile in a few milliseconds
constexpr size_t kMostNumbers = 64;  // for one kernel

bool combines_bits(ScalarOp op) {
  return op == ScalarOp::kAdd || op == ScalarOp::kSub || op == ScalarOp::kMul ||
         op == ScalarOp::kXor || op == ScalarOp::kAnd || op == ScalarOp::kOr;
}

// Returns for each node whether it is a constant that may be read from memory instead.
std::vector<char> find_movable(const Kernel& kernel) {
  std::vector<char> movable;
  for (const KernelNode& node : kernel.nodes)
    movable.push_back(node.kind == NodeKind::kConstant && is_unsigned(node.dtype) &&
                      !is_narrow(node.dtype));
  for (const KernelNode& node : kernel.nodes) {
    if (!combines_bits(node.op))
      for (int arg : node.args) movable[arg] = 0;
    for (const auto& [index, stride] : node.dynamic) movable[index] = 0;
    if (node.guard >= 0) movable[node.guard] = 0;
  }
  for (const KernelLoop& loop : kernel.loops) {
    for (const KernelReduction& r : loop.reductions)
      for (int init : r.init) movable[init] = 0;
    for (const KernelStore& store : loop.stores) {
      movable[store.node] = 0;
      if (store.guard >= 0) movable[store.guard] = 0;
    }
  }
  return movable;
}

// Returns the text that a kernel has in common with those it can share code with.
std::string shared_text(Kernel kernel, const std::vector<char>& movable) {
  for (size_t i = 0; i < movable.size(); ++i)
    if (movable[i]) kernel.nodes[i].immediate = {};
  return to_string(kernel);
}

// Replaces the constants by elements of one array for each of their dtypes.
void move_numbers(Schedule& schedule, KernelStep& step, const std::vector<int>& constants) {
  std::map<DType, std::vector<int>> by_dtype;
  for (int i : constants) by_dtype[step.kernel.nodes[i].dtype].push_back(i);
  for (const auto& [dtype, nodes] : by_dtype) {
    const auto count = static_cast<int64_t>(nodes.size());
    Literal numbers(dtype, Shape{count});
    const auto size = static_cast<size_t>(itemsize(dtype));
    for (size_t k = 0; k < nodes.size(); ++k) {
      KernelNode& node = step.kernel.nodes[nodes[k]];
      std::memcpy(numbers.mutable_raw() + k * size, node.immediate.data(), size);
      node = {.kind = NodeKind::kLoad,
              .dtype = dtype,
              .buffer = static_cast<int>(step.kernel.buffers.size())};
      node.address.offset = static_cast<int64_t>(k);
      node.address.parallel.resize(step.kernel.parallel.size(), 0);
      node.address.inner.resize(step.kernel.loops[0].extents.size(), 0);
    }
    step.kernel.buffers.push_back({dtype, BufferKind::kInput, count});
    step.slots.push_back(static_cast<int>(schedule.slots.size()));
    Slot slot{.dtype = dtype, .shape = {count}, .kind = Slot::Kind::kConstant};
    slot.literal = std::move(numbers);
    schedule.slots.push_back(std::move(slot));
  }
}

}  // namespace

void share_kernels(Schedule& schedule) {
  std::map<std::string, std::vector<KernelStep*>> alike;
  for (Step& step : schedule.steps) {
    auto* kernel = std::get_if<KernelStep>(&step);
    if (!kernel || kernel->kernel.nodes.size() < kLeastNodes) continue;
    const std::vector<char> here = find_movable(kernel->kernel);
    if (!contains(here, 1)) continue;
    alike[shared_text(kernel->kernel, here)].push_back(kernel);
  }
  for (const auto& [text, steps] : alike) {
    if (steps.size() < 2) continue;
    std::vector<int> different;
    for (size_t i = 0; i < steps[0]->kernel.nodes.size(); ++i) {
      const auto& number = steps[0]->kernel.nodes[i].immediate;
      if (std::any_of(steps.begin(), steps.end(), [&](const KernelStep* step) {
            return step->kernel.nodes[i].immediate != number;
          }))
        different.push_back(static_cast<int>(i));
    }
    if (different.empty() || different.size() > kMostNumbers) continue;
    for (KernelStep* step : steps) move_numbers(schedule, *step, different);
  }
}

}  // namespace tessera::fusion
