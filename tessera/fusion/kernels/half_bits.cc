#include "tessera/fusion/kernels/half_bits.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "tessera/fusion/kernels/kernel_nodes.h"

namespace tessera::fusion {
namespace {

bool is_op(const KernelNode& node, ScalarOp op) {
  return node.kind == NodeKind::kScalarOp && node.op == op;
}
bool is_comparison(const KernelNode& node) {
  static constexpr ScalarOp kComparisons[] = {ScalarOp::kEq, ScalarOp::kNe, ScalarOp::kLt,
                                              ScalarOp::kLe, ScalarOp::kGt, ScalarOp::kGe};
  return node.kind == NodeKind::kScalarOp && std::ranges::count(kComparisons, node.op) > 0;
}

class HalfBits {
 public:
  explicit HalfBits(const Kernel& kernel) : k_(kernel) {}

  bool applies() const {
    bool looks_at_bits = false;
    for (const KernelNode& node : k_.nodes) {
      if (!needs_only_bits(node)) return false;
      looks_at_bits = looks_at_bits || (is_op(node, ScalarOp::kBitcast) &&
                                        (is_half(node.dtype) || reads_half(node)));
    }
    const auto folds_halves = [&](const KernelReduction& r) {
      return is_half(r.accumulate) || std::any_of(r.nodes.begin(), r.nodes.end(), [&](int node) {
               return is_half(k_.nodes[node].dtype);
             });
    };
    return looks_at_bits &&
           std::none_of(k_.loops.begin(), k_.loops.end(), [&](const KernelLoop& l) {
             return std::any_of(l.reductions.begin(), l.reductions.end(), folds_halves);
           });
  }

  Kernel run() {
    Kernel out = k_;
    for (KernelBuffer& buffer : out.buffers) buffer.dtype = bits_of(buffer.dtype);
    for (const KernelNode& node : k_.nodes) same_.push_back(converted(node));
    for (KernelLoop& loop : out.loops) {
      for (KernelReduction& r : loop.reductions) {
        for (int& node : r.nodes) node = same_[node];
        for (int& node : r.init) node = same_[node];
      }
      for (KernelStore& store : loop.stores) {
        store.node = same_[store.node];
        if (store.guard >= 0) store.guard = same_[store.guard];
      }
    }
    out.nodes = std::move(nodes_);
    remove_unused_nodes(out);
    return out;
  }

 private:
  static DType bits_of(DType dtype) { return is_half(dtype) ? int16 : dtype; }
  bool reads_half(const KernelNode& node) const {
    return std::any_of(node.args.begin(), node.args.end(),
                       [&](int arg) { return is_half(k_.nodes[arg].dtype); });
  }

  // A 16-bit float whose source is memory, a constant or bits has no further digits, so a
  // conversion to its own dtype changes nothing.
  bool needs_only_bits(const KernelNode& node) const {
    if (!is_half(node.dtype) && !reads_half(node)) return true;
    switch (node.kind) {
      case NodeKind::kLoad:
      case NodeKind::kConstant:
        return true;
      case NodeKind::kScalarOp:
        if (node.op == ScalarOp::kConvert) return node.dtype == k_.nodes[node.args[0]].dtype;
        return node.op == ScalarOp::kBitcast || node.op == ScalarOp::kSelect || is_comparison(node);
      case NodeKind::kIndex:
      case NodeKind::kReduced:
        return false;
    }
    return false;
  }

  int number(int64_t value) { return find_or_add(nodes_, integer_node(int16, value)); }
  int op(ScalarOp which, DType dtype, int a, int c) {
    return find_or_add(
        nodes_,
        {.kind = NodeKind::kScalarOp, .dtype = dtype, .op = which, .args = {a, c}, .loop = loop_});
  }
  int magnitude(int bits) { return op(ScalarOp::kAnd, int16, bits, number(0x7fff)); }
  // Returns an integer with the order of the floats: both zeros are 0.
  int in_order(int bits) {
    const int sign = op(ScalarOp::kShrArithmetic, int16, bits, number(15));
    return op(ScalarOp::kSub, int16, op(ScalarOp::kXor, int16, magnitude(bits), sign), sign);
  }
  int compared(const KernelNode& node) {
    const int a = same_[node.args[0]], c = same_[node.args[1]];
    const int infinity = number(k_.nodes[node.args[0]].dtype == bfloat16 ? 0x7f80 : 0x7c00);
    // NaN is unequal to everything, and in no order.
    const bool unequal = node.op == ScalarOp::kNe;
    const auto settled = [&](int bits) {
      return op(unequal ? ScalarOp::kGt : ScalarOp::kLe, bool_, magnitude(bits), infinity);
    };
    if (a == c && (unequal || node.op == ScalarOp::kEq)) return settled(a);
    const ScalarOp join = unequal ? ScalarOp::kOr : ScalarOp::kAnd;
    return op(join, bool_, op(node.op, bool_, in_order(a), in_order(c)),
              op(join, bool_, settled(a), settled(c)));
  }

  // Returns the new node that has the bits of `node`.
  int converted(KernelNode node) {
    loop_ = node.loop;
    const bool keeps = (is_op(node, ScalarOp::kBitcast) || is_op(node, ScalarOp::kConvert)) &&
                       bits_of(k_.nodes[node.args[0]].dtype) == bits_of(node.dtype);
    if (keeps) return same_[node.args[0]];
    if (is_comparison(node) && reads_half(node)) return compared(node);
    node.dtype = bits_of(node.dtype);
    for (int& arg : node.args) arg = same_[arg];
    for (auto& [index, stride] : node.dynamic) index = same_[index];
    if (node.guard >= 0) node.guard = same_[node.guard];
    return find_or_add(nodes_, std::move(node));
  }

  const Kernel& k_;
  std::vector<KernelNode> nodes_;
  std::vector<int> same_;  // for each node of k_, the node that has its bits
  int loop_ = 0;           // the loop whose nodes are made
};

}  // namespace

Kernel keep_half_bits(Kernel kernel) {
  HalfBits bits(kernel);
  return bits.applies() ? bits.run() : std::move(kernel);
}

}  // namespace tessera::fusion
