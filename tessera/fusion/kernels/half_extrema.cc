#include "tessera/fusion/kernels/half_extrema.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tessera/fusion/kernels/kernel_nodes.h"

namespace tessera::fusion {
namespace {

bool is_extremum(ReduceKind kind) { return kind == ReduceKind::kMin || kind == ReduceKind::kMax; }
// Returns the extremum that a fold of bools is; any other kind is not one.
ReduceKind extremum_of_bools(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
    case ReduceKind::kOr:
      return ReduceKind::kMax;
    case ReduceKind::kProduct:
    case ReduceKind::kAnd:
      return ReduceKind::kMin;
    default:
      return kind;
  }
}

// The number of NaNs of one sign.
int64_t nans_of(DType dtype) { return dtype == bfloat16 ? 0x7f : 0x3ff; }

class HalfExtrema {
 public:
  explicit HalfExtrema(const Kernel& kernel) : k_(kernel) {}

  bool applies() const {
    const auto is_element = [&](int node) {
      const NodeKind kind = k_.nodes[node].kind;
      return kind == NodeKind::kConstant || kind == NodeKind::kLoad;
    };
    const bool columns = k_.vectorize == Kernel::Vectorize::kParallel;
    size_t folds = 0;
    for (const KernelLoop& loop : k_.loops) {
      folds += loop.reductions.size();
      for (const KernelReduction& r : loop.reductions)
        if (!is_extremum(kind_of(r)) || r.nodes.size() != 1 || !is_element(r.nodes[0]) ||
            !is_element(r.init[0]))
          return false;
      for (const KernelStore& store : loop.stores)
        if (store.guard >= 0 || !result_in(store.node)) return false;
    }
    return folds > 0 && std::all_of(k_.nodes.begin(), k_.nodes.end(), [&](const KernelNode& node) {
             return (is_half(node.dtype) || (node.dtype == bool_ && columns)) && node.guard < 0 &&
                    node.dynamic.empty() && (node.kind != NodeKind::kScalarOp || is_same(node));
           });
  }

  Kernel run() {
    Kernel out = k_;
    nodes_.clear();
    for (KernelBuffer& buffer : out.buffers) buffer.dtype = integer_of(buffer.dtype);
    for (size_t l = 0; l < out.loops.size(); ++l) {
      loop_ = static_cast<int>(l);
      for (KernelReduction& r : out.loops[l].reductions) {
        r.kind = kind_of(r);
        r.accumulate = integer_of(k_.nodes[r.nodes[0]].dtype);
        r.nodes[0] = key(k_.nodes[r.nodes[0]], r.kind);
        r.init[0] = key(k_.nodes[r.init[0]], r.kind);
      }
      for (KernelStore& store : out.loops[l].stores) store.node = value(*result_in(store.node));
    }
    out.nodes = std::move(nodes_);
    return out;
  }

 private:
  // Returns whether the node converts a value to the dtype that it has.
  bool is_same(const KernelNode& node) const {
    return node.kind == NodeKind::kScalarOp && node.op == ScalarOp::kConvert &&
           k_.nodes[node.args[0]].dtype == node.dtype;
  }
  // Returns the result of a fold that the node is; null if it is something else.
  const KernelNode* result_in(int node) const {
    while (is_same(k_.nodes[node])) node = k_.nodes[node].args[0];
    return k_.nodes[node].kind == NodeKind::kReduced ? &k_.nodes[node] : nullptr;
  }

  static DType integer_of(DType dtype) { return dtype == bool_ ? uint8 : int16; }
  ReduceKind kind_of(const KernelReduction& r) const {
    return k_.nodes[r.nodes[0]].dtype == bool_ ? extremum_of_bools(r.kind) : r.kind;
  }

  int number(int64_t value) { return find_or_add(nodes_, integer_node(int16, value)); }
  int op(ScalarOp which, int a, int c) {
    return find_or_add(
        nodes_,
        {.kind = NodeKind::kScalarOp, .dtype = int16, .op = which, .args = {a, c}, .loop = loop_});
  }

  // Returns the bits with the low 15 inverted if the sign is set; this is its own inverse.
  int in_order(int bits) {
    const int sign = op(ScalarOp::kShrArithmetic, bits, number(15));
    return op(ScalarOp::kXor, bits, op(ScalarOp::kAnd, sign, number(0x7fff)));
  }

  int key(KernelNode element, ReduceKind kind) {
    const DType dtype = element.dtype;
    element.dtype = integer_of(dtype);
    if (dtype == bool_) return find_or_add(nodes_, std::move(element));
    const ScalarOp move = kind == ReduceKind::kMax ? ScalarOp::kSub : ScalarOp::kAdd;
    return op(move, in_order(find_or_add(nodes_, std::move(element))), number(nans_of(dtype)));
  }

  int value(KernelNode reduced) {
    const KernelReduction& r = k_.loops[reduced.loop].reductions[reduced.reduction];
    const DType dtype = reduced.dtype;
    reduced.dtype = integer_of(dtype);
    // Any byte but 0 is true in an operand; a result is 0 or 1.
    if (dtype == bool_) {
      const int one = find_or_add(nodes_, integer_node(uint8, 1));
      return find_or_add(nodes_, {.kind = NodeKind::kScalarOp,
                                  .dtype = uint8,
                                  .op = ScalarOp::kMin,
                                  .args = {find_or_add(nodes_, std::move(reduced)), one},
                                  .loop = loop_});
    }
    const ScalarOp back = r.kind == ReduceKind::kMax ? ScalarOp::kAdd : ScalarOp::kSub;
    return in_order(op(back, find_or_add(nodes_, std::move(reduced)), number(nans_of(dtype))));
  }

  const Kernel& k_;
  std::vector<KernelNode> nodes_;
  int loop_ = 0;  // the loop whose nodes are made
};

}  // namespace

Kernel fold_half_extrema(Kernel kernel) {
  HalfExtrema extrema(kernel);
  return extrema.applies() ? extrema.run() : std::move(kernel);
}

}  // namespace tessera::fusion
