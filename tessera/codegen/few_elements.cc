#include "tessera/codegen/few_elements.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "tessera/codegen/scalar_ops.h"

namespace tessera::codegen {
namespace {

// With more elements, vectors pay; with more operations, the code gets too large.
constexpr int64_t kMostElements = 16, kMostOperations = 512;
// The cost of all elements of a row beyond which vectors pay, in additions.
// Elementary functions, which are long, count twice.
constexpr int64_t kMostWeight = 512;
constexpr int kElementary = 18;  // the weight of the shortest one

struct Work {
  int64_t nodes = 0, weight = 0;
};

// Returns how many nodes are computed for one element, over all trips of its loops, and their cost.
Work work_of(const Kernel& kernel) {
  Work out;
  std::vector<char> needed(kernel.nodes.size(), 0);
  const auto need = [&](int node) {
    if (node >= 0) needed[static_cast<size_t>(node)] = 1;
  };
  for (const KernelLoop& loop : kernel.loops) {
    for (const KernelReduction& r : loop.reductions) {
      for (int node : r.nodes) need(node);
      for (int node : r.init) need(node);
    }
    for (const KernelStore& store : loop.stores) {
      need(store.node);
      need(store.guard);
    }
  }
  for (size_t i = kernel.nodes.size(); i-- > 0;) {
    const KernelNode& node = kernel.nodes[i];
    if (!needed[i]) continue;
    for (int arg : node.args) need(arg);
    for (const auto& [index, stride] : node.dynamic) need(index);
    need(node.guard);
    const int64_t trips = kernel.loops[static_cast<size_t>(node.loop)].extents.elements();
    const bool op = node.kind == NodeKind::kScalarOp;
    const DType operand = op ? kernel.nodes[static_cast<size_t>(node.args.back())].dtype : bool_;
    out.nodes += trips;
    const int weight = op ? op_weight(node.op, operand) : 1;
    out.weight += trips * (weight < kElementary ? weight : 2 * weight);
  }
  return out;
}

// Returns whether the lanes of a vector would choose among operands by their number, or load
// elements that are not neighbours in this order.
bool differs_between_lanes(const Kernel& kernel) {
  return std::any_of(kernel.nodes.begin(), kernel.nodes.end(), [](const KernelNode& node) {
    const int64_t step = node.address.parallel.empty() ? 0 : node.address.parallel[0];
    return (node.kind == NodeKind::kIndex && step != 0) ||
           (node.kind == NodeKind::kLoad && step != 0 && step != 1);
  });
}

// Returns the value of an integer or a bool that is known, if the values of the operands are.
std::optional<int64_t> known_value(const Kernel& kernel, const KernelNode& node,
                                   std::span<const std::optional<int64_t>> known) {
  const auto none = [](const Dims& steps) {
    return std::all_of(steps.begin(), steps.end(), [](int64_t step) { return step == 0; });
  };
  const auto arg = [&](size_t k) { return known[static_cast<size_t>(node.args[k])]; };
  if (node.kind == NodeKind::kIndex && none(node.address.parallel) && none(node.address.inner))
    return node.address.offset;
  if (node.kind == NodeKind::kConstant && node.dtype == int32) {
    int32_t value = 0;
    std::memcpy(&value, node.immediate.data(), sizeof(value));
    return value;
  }
  if (node.kind != NodeKind::kScalarOp || node.args.size() != 2) return std::nullopt;
  const DType operand = kernel.nodes[static_cast<size_t>(node.args[0])].dtype;
  if (node.op == ScalarOp::kLt && operand == int32 && arg(0) && arg(1)) return *arg(0) < *arg(1);
  if (node.op == ScalarOp::kGe && operand == int32 && arg(0) && arg(1)) return *arg(0) >= *arg(1);
  if (node.op == ScalarOp::kAnd && operand == bool_) {
    if (arg(0) == 0 || arg(1) == 0) return 0;
    if (arg(0) && arg(1)) return 1;
  }
  return std::nullopt;
}

// Makes the readers of a choice by a known condition read the chosen operand. Reductions go on
// reading the choice: whether they add a product with one rounding depends on what they read.
void fold_known_choices(Kernel& kernel) {
  std::vector<std::optional<int64_t>> known(kernel.nodes.size());
  std::vector<int> chosen(kernel.nodes.size());
  std::iota(chosen.begin(), chosen.end(), 0);
  for (size_t i = 0; i < kernel.nodes.size(); ++i) {
    KernelNode& node = kernel.nodes[i];
    for (int& arg : node.args) arg = chosen[static_cast<size_t>(arg)];
    known[i] = known_value(kernel, node, known);
    if (node.kind != NodeKind::kScalarOp || node.op != ScalarOp::kSelect) continue;
    const std::optional<int64_t> first = known[static_cast<size_t>(node.args[0])];
    if (first) chosen[i] = node.args[*first != 0 ? 1 : 2];
  }
  for (KernelLoop& loop : kernel.loops)
    for (KernelStore& store : loop.stores) store.node = chosen[static_cast<size_t>(store.node)];
}

}  // namespace

bool has_few_elements(const Kernel& kernel, int64_t elements, int lanes) {
  if (kernel.vectorize != Kernel::Vectorize::kParallel || elements > kMostElements) return false;
  if (kernel.parallel.size() > 1)
    return kernel.parallel.back() < 2 * lanes &&
           elements * work_of(kernel).nodes <= kMostOperations;
  if (elements < 2 || !differs_between_lanes(kernel)) return false;
  Work all;
  for (int64_t i = 0; i < elements; ++i) {
    const Work one = work_of(kernel_of_element(kernel, i));
    all.nodes += one.nodes;
    all.weight += one.weight;
  }
  return all.nodes <= kMostOperations && all.weight <= kMostWeight;
}

Kernel kernel_of_element(const Kernel& kernel, int64_t index) {
  Dims at(kernel.parallel.size(), 0);
  for (size_t d = at.size(); d-- > 1;) {
    at[d] = index % kernel.parallel[d];
    index /= kernel.parallel[d];
  }
  at[0] = index;
  Kernel out = kernel;
  out.parallel = {1};
  const auto move = [&](Affine& address) {
    address.offset =
        std::inner_product(at.begin(), at.end(), address.parallel.begin(), address.offset);
    address.parallel = {0};
  };
  for (KernelNode& node : out.nodes)
    if (node.kind == NodeKind::kLoad || node.kind == NodeKind::kIndex) move(node.address);
  for (KernelLoop& loop : out.loops)
    for (KernelStore& store : loop.stores) move(store.address);
  fold_known_choices(out);
  return out;
}

}  // namespace tessera::codegen
