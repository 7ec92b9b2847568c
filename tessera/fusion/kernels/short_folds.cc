#include "tessera/fusion/kernels/short_folds.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/fusion/kernels/kernel_body.h"
#include "tessera/fusion/kernels/kernel_nodes.h"

namespace tessera::fusion {
namespace {

constexpr int64_t kLeastFoldedRows = 64;  // fewer do not fill vectors
// Sums of floats whose unrolled code has more nodes than the first take some 50 ms to compile,
// which fewer rows than the second do not save.
constexpr int64_t kFewFoldNodes = 64, kLeastRowsOfMany = 1024;
constexpr int64_t kLongestRow = 16;
// Longer rows of floats fill vectors. Their sums, and what is stored of them, are computed as fast
// with lanes along the row.
constexpr int64_t kLongestFloatRow = 15;
// Integers of rows that fill a vector are folded as fast across its lanes. Extrema of floats are
// not, because of their NaN and zeros.
constexpr int64_t kFullRowBytes = 64;

std::optional<ScalarOp> fold_op(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
      return ScalarOp::kAdd;
    case ReduceKind::kProduct:
      return ScalarOp::kMul;
    case ReduceKind::kMin:
      return ScalarOp::kMin;
    case ReduceKind::kMax:
      return ScalarOp::kMax;
    case ReduceKind::kAnd:
      return ScalarOp::kAnd;
    case ReduceKind::kOr:
      return ScalarOp::kOr;
    case ReduceKind::kArgMin:
    case ReduceKind::kArgMax:
    case ReduceKind::kCustom:
      break;
  }
  return std::nullopt;
}

// Returns whether the fold finds the place of an extremum. Then its results are two, and the first
// of equal elements counts in any order.
bool is_place(ReduceKind kind) {
  return kind == ReduceKind::kArgMin || kind == ReduceKind::kArgMax;
}

// Returns whether any order of the elements gives the same result.
bool is_exact_fold(ReduceKind kind, DType dtype) {
  const bool adds = kind == ReduceKind::kSum || kind == ReduceKind::kProduct;
  return (fold_op(kind) || is_place(kind)) && !is_complex(dtype) && !(adds && is_floating(dtype));
}

class FoldUnroller {
 public:
  explicit FoldUnroller(const Kernel& kernel) : k_(kernel) {}

  bool applies() {
    if (k_.parallel.back() < kLeastFoldedRows) return false;
    for (const KernelLoop& loop : k_.loops)
      if (!(is_along_row(loop) || (loop.extents.empty() && loop.reductions.empty()))) return false;
    const int64_t nodes = static_cast<int64_t>(k_.nodes.size()) * columns_;
    if (!folds_ || nodes > kMostFoldNodes) return false;
    if (sums_ && nodes > kFewFoldNodes && k_.parallel.elements() < kLeastRowsOfMany) return false;
    const auto is_load = [](const KernelNode& node) { return node.kind == NodeKind::kLoad; };
    return std::all_of(k_.nodes.begin(), k_.nodes.end(),
                       [&](const KernelNode& node) { return !is_load(node) || suits(node); }) &&
           std::any_of(k_.nodes.begin(), k_.nodes.end(), [&](const KernelNode& node) {
             return is_load(node) && !node.address.inner.empty() && node.address.inner[0] == 1;
           });
  }

  Kernel run() {
    out_ = k_;
    out_.vectorize = Kernel::Vectorize::kParallel;
    out_.nodes.clear();
    out_.loops.assign(1, {});
    made_.assign(k_.nodes.size(), std::vector<int>(static_cast<size_t>(columns_), -1));
    for (const KernelLoop& loop : k_.loops)
      for (const KernelStore& store : loop.stores)
        if (!is_scratch(store.buffer))
          for (int64_t column = 0; column < (loop.extents.empty() ? 1 : columns_); ++column)
            add_store(store, column);
    return std::move(out_);
  }

 private:
  bool is_scratch(int buffer) const { return k_.buffers[buffer].kind == BufferKind::kScratch; }

  // Returns whether the loop folds or stores short rows. All of them have rows of one length.
  bool is_along_row(const KernelLoop& loop) {
    if (loop.extents.size() != 1) return false;
    const int64_t columns = loop.extents[0];
    if (columns_ > 0 && columns != columns_) return false;
    columns_ = columns;
    folds_ = folds_ || !loop.reductions.empty();
    if (!loop.stores.empty() && columns > kLongestFloatRow) return false;
    return std::all_of(loop.stores.begin(), loop.stores.end(),
                       [&](const KernelStore& store) {
                         const int64_t apart = is_scratch(store.buffer) ? 0 : columns;
                         return store.guard < 0 && store.address.parallel.back() == apart &&
                                store.address.inner == Dims{1};
                       }) &&
           std::all_of(loop.reductions.begin(), loop.reductions.end(),
                       [&](const KernelReduction& r) {
                         const DType dtype = k_.nodes[r.nodes[0]].dtype;
                         if (!is_unrolled_fold(r.kind, dtype, columns)) return false;
                         const bool exact = is_exact_fold(r.kind, dtype);
                         sums_ = sums_ || !exact;
                         return exact || keeps_order(r);
                       });
  }

  // Returns whether the unrolled sum or product of floats can have the order that it has here. Of
  // lanes along the row some are added to 0, which only the sign of a zero shows.
  bool keeps_order(const KernelReduction& r) const {
    if (!is_floating(r.accumulate) || granule() < 8) return false;
    // Halves are float32 in registers, where a fold adds them without rounding them first; what is
    // converted for an unrolled one is rounded.
    const KernelNode& node = k_.nodes[r.nodes[0]];
    if (is_half(node.dtype)) {
      const auto is_exact = [&](int id) { return k_.nodes[id].kind == NodeKind::kLoad; };
      if (is_fused(r) ? !is_exact(node.args[0]) || !is_exact(node.args[1]) : !is_exact(r.nodes[0]))
        return false;
    }
    if (k_.vectorize == Kernel::Vectorize::kParallel || r.kind != ReduceKind::kSum) return true;
    const KernelNode& init = k_.nodes[r.init[0]];
    return init.kind == NodeKind::kConstant &&
           std::all_of(init.immediate.begin(), init.immediate.end(),
                       [](std::byte b) { return b == std::byte{0}; });
  }

  // Returns how many partial results of a row the lanes along it have at least: 64 bytes of the
  // kernel's widest dtype (codegen/emitter.h).
  size_t granule() const {
    const auto bytes = [](DType d) { return static_cast<size_t>(is_half(d) ? 4 : itemsize(d)); };
    size_t widest = 1;
    for (const KernelNode& node : k_.nodes)
      if (node.kind != NodeKind::kConstant) widest = std::max(widest, bytes(node.dtype));
    for (const KernelLoop& loop : k_.loops)
      for (const KernelReduction& r : loop.reductions)
        if (is_floating(k_.nodes[r.nodes[0]].dtype)) widest = std::max(widest, bytes(r.accumulate));
    return 64 / widest;
  }

  // Returns whether code generation adds a product without rounding it before: if only the sum
  // reads it.
  bool is_fused(const KernelReduction& r) const {
    const int id = r.nodes[0];
    const KernelNode& product = k_.nodes[id];
    if (r.kind != ReduceKind::kSum || product.kind != NodeKind::kScalarOp ||
        product.op != ScalarOp::kMul || !is_floating(product.dtype) ||
        (product.dtype != r.accumulate && !is_half(product.dtype)))
      return false;
    int64_t uses = 0;
    const auto count = [&](int node) { uses += node == id; };
    for (const KernelNode& node : k_.nodes) {
      for (int arg : node.args) count(arg);
      for (const auto& [position, step] : node.dynamic) count(position);
      count(node.guard);
    }
    for (const KernelLoop& loop : k_.loops) {
      for (const KernelReduction& fold : loop.reductions) {
        for (int node : fold.nodes) count(node);
        for (int node : fold.init) count(node);
      }
      for (const KernelStore& store : loop.stores) {
        count(store.node);
        count(store.guard);
      }
    }
    return uses == 1;
  }

  void add_store(KernelStore store, int64_t column) {
    set_column(store.address, column);
    if (store.guard >= 0) store.guard = made(store.guard, column);
    store.node = made(store.node, column);
    out_.loops[0].stores.push_back(std::move(store));
  }

  // Returns whether loops of the kernel may read what it has stored.
  bool is_written(int buffer) const { return k_.buffers[buffer].kind != BufferKind::kInput; }

  // Returns the node that the kernel has stored where a load reads; -1 if there is none.
  int stored_before(const KernelNode& load) const {
    for (int l = 0; l < load.loop; ++l)
      for (const KernelStore& store : k_.loops[l].stores)
        if (store.buffer == load.buffer && store.address == load.address) return store.node;
    return -1;
  }

  // Returns whether unrolling makes no gather of the load: rows are adjacent, as are their
  // elements, or all lanes of a column read neighbours or the same element.
  bool suits(const KernelNode& load) const {
    if (load.guard >= 0 || !load.dynamic.empty()) return false;
    if (is_written(load.buffer)) return stored_before(load) >= 0;
    const int64_t apart = load.address.parallel.back();
    if (load.address.inner.empty() || load.address.inner[0] == 0) return apart == 0 || apart == 1;
    return apart == columns_ ? load.address.inner[0] == 1 : apart == 0 || apart == 1;
  }

  int made(int node, int64_t column) {
    int& known = made_[node][static_cast<size_t>(column)];
    if (known < 0) known = make(k_.nodes[node], column);
    return known;
  }

  int make(const KernelNode& node, int64_t column) {
    KernelNode copy = node;
    copy.loop = 0;
    switch (node.kind) {
      case NodeKind::kConstant:
        break;
      case NodeKind::kIndex:
        set_column(copy.address, column);
        if (std::all_of(copy.address.parallel.begin(), copy.address.parallel.end(),
                        [](int64_t c) { return c == 0; }))
          copy = integer_node(node.dtype, copy.address.offset);
        break;
      case NodeKind::kLoad:
        if (is_written(node.buffer)) {
          // Memory has rounded halves, registers have float32.
          const int stored = made(stored_before(node), column);
          return is_half(node.dtype) ? apply(ScalarOp::kConvert, node.dtype, {stored}) : stored;
        }
        set_column(copy.address, column);
        break;
      case NodeKind::kScalarOp:
        for (int& arg : copy.args) arg = made(arg, column);
        break;
      case NodeKind::kReduced:
        return folded(k_.loops[node.loop], static_cast<size_t>(node.reduction));
    }
    return find_or_add(out_.nodes, std::move(copy));
  }

  // Returns result number `result` of a loop.
  int folded(const KernelLoop& loop, size_t result) {
    auto r = loop.reductions.begin();
    for (; result >= r->nodes.size(); ++r) result -= r->nodes.size();
    return is_place(r->kind) ? folded_by_body(*r)[result] : folded(*r);
  }

  std::vector<int> folded_by_body(const KernelReduction& r) {
    const ScalarProgram body = record_body(*r.body);
    std::vector<int> sofar;
    for (int node : r.init) sofar.push_back(made(node, 0));
    for (int64_t column = 0; column < columns_; ++column) {
      std::vector<int> nodes = std::move(sofar);
      for (int node : r.nodes) nodes.push_back(made(node, column));
      for (size_t i = nodes.size(); i < body.nodes.size(); ++i) {
        const ScalarNode& node = body.nodes[i];
        KernelNode copy{.kind = NodeKind::kConstant, .dtype = node.dtype};
        copy.immediate = node.immediate;
        if (node.kind == ScalarNode::Kind::kOp) {
          copy.kind = NodeKind::kScalarOp;
          copy.op = node.op;
          for (int arg : node.args) copy.args.push_back(nodes[static_cast<size_t>(arg)]);
        }
        nodes.push_back(find_or_add(out_.nodes, std::move(copy)));
      }
      sofar.clear();
      for (int output : body.outputs) sofar.push_back(nodes[static_cast<size_t>(output)]);
    }
    return sofar;
  }

  int folded(const KernelReduction& r) {
    const DType dtype = k_.nodes[r.nodes[0]].dtype;
    const bool exact = is_exact_fold(r.kind, dtype);
    // Sums of float16 and bfloat16 are computed in float32.
    const DType wide = exact ? dtype : r.accumulate;
    const int init = converted(made(r.init[0], 0), wide);
    const bool in_order = exact || k_.vectorize == Kernel::Vectorize::kParallel;
    // In order, everything is added to one partial result, otherwise to those of the lanes.
    const size_t most = in_order ? 1 : granule();
    std::vector<int> parts;
    if (in_order) parts.push_back(init);
    for (int64_t column = 0; column < columns_; ++column) {
      const size_t part = static_cast<size_t>(column) % most;
      if (part < parts.size())
        parts[part] = with_element(r, parts[part], column, wide);
      else
        parts.push_back(element(r, column, wide));
    }
    for (size_t half = most / 2; half > 0; half /= 2) {
      for (size_t k = half; k < parts.size(); ++k)
        parts[k - half] = apply(*fold_op(r.kind), wide, {parts[k - half], parts[k]});
      parts.resize(std::min(parts.size(), half));
    }
    return converted(in_order ? parts[0] : apply(*fold_op(r.kind), wide, {init, parts[0]}), dtype);
  }

  // Returns the element of a column that is folded, and what it is folded to with those before.
  int element(const KernelReduction& r, int64_t column, DType wide) {
    if (!is_fused(r)) return converted(made(r.nodes[0], column), wide);
    const auto& args = k_.nodes[r.nodes[0]].args;
    return apply(ScalarOp::kMul, wide,
                 {converted(made(args[0], column), wide), converted(made(args[1], column), wide)});
  }
  int with_element(const KernelReduction& r, int sofar, int64_t column, DType wide) {
    if (!is_fused(r)) return apply(*fold_op(r.kind), wide, {sofar, element(r, column, wide)});
    const auto& args = k_.nodes[r.nodes[0]].args;
    return apply(
        ScalarOp::kFma, wide,
        {converted(made(args[0], column), wide), converted(made(args[1], column), wide), sofar});
  }

  int apply(ScalarOp op, DType dtype, std::initializer_list<int> args) {
    return find_or_add(out_.nodes,
                       {.kind = NodeKind::kScalarOp, .dtype = dtype, .op = op, .args = args});
  }

  int converted(int node, DType dtype) {
    const bool same = out_.nodes[static_cast<size_t>(node)].dtype == dtype;
    return same ? node : apply(ScalarOp::kConvert, dtype, {node});
  }

  static void set_column(Affine& address, int64_t column) {
    if (!address.inner.empty()) address.offset += address.inner[0] * column;
    address.inner.clear();
  }

  const Kernel& k_;
  int64_t columns_ = 0;                // the length of the rows; 0: not known yet
  bool folds_ = false, sums_ = false;  // whether it has folds, and sums or products of floats
  Kernel out_;
  std::vector<std::vector<int>> made_;  // for each node of k_ and each column, its node in out_
};

}  // namespace

bool is_unrolled_fold(ReduceKind kind, DType dtype, int64_t columns) {
  if (columns < 2 || columns > kLongestRow) return false;
  if (!is_exact_fold(kind, dtype))
    return fold_op(kind) && is_floating(dtype) && columns <= kLongestFloatRow;
  return is_floating(dtype) || is_place(kind) || columns * itemsize(dtype) < kFullRowBytes;
}

Kernel unroll_short_folds(Kernel kernel) {
  if (kernel.parallel.empty()) return kernel;
  FoldUnroller unroller(kernel);
  return unroller.applies() ? unroller.run() : std::move(kernel);
}

}  // namespace tessera::fusion
