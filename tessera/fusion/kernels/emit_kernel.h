// Emit: makes a Kernel of one group of a plan. It starts from the outputs: an element of a result
// needs elements of its operands, and so on down to loads; index maps become arithmetic on
// addresses. Loops are split if a reshape inside the kernel needs it, and merged again at the end
// if all strides allow, so that contiguous memory is one loop.
#pragma once

#include <unordered_map>
#include <variant>

#include "tessera/fusion/fuse.h"
#include "tessera/fusion/kernels/fold_choices.h"
#include "tessera/fusion/kernels/index_expr.h"
#include "tessera/fusion/plan.h"

namespace tessera::fusion {

struct EmittedKernel {
  Kernel kernel;
  std::vector<int> values;  // of the graph, for each buffer; -1 for scratch
};

// The position of a scalar's index in `table_`, in every attempt.
inline constexpr int kScalarIndex = 0;

// Thrown to end an attempt at a kernel: a loop has to be split, or a value must be stored.
struct NeedSplit {
  DimSplit split;
};
struct NeedStored {
  int value;
};

class Emitter final : public ExprBuilder {
 public:
  Emitter(const Graph& graph, const FusionPlan& plan, const FuseOptions& options)
      : g_(graph),
        plan_(plan),
        last_level_cache_(options.last_level_cache),
        deepest_(options.deepest_kernel),
        memo_(graph.values.size()),
        buffer_of_(graph.values.size(), {-1, -1}),
        level_of_(graph.ops.size(), 0),
        reduced_(graph.ops.size()) {
    estimate_work();
    find_joined();
  }

  // Returns the kernel. Returns the value that must be stored if an index of it is not an affine
  // function of the loops.
  std::variant<EmittedKernel, int> emit(int group);

  Expr apply(ScalarOp op, DType result, std::span<const Expr> args) override {
    if (op == ScalarOp::kConvert) return {convert_node(args[0].id, result)};
    if (const auto folded = fold_choices(*this, kernel_.nodes, op, result, args)) return *folded;
    if (const int joined = join_product(op, result, args); joined >= 0) return {joined};
    if (const int joined = join_root(op, result, args); joined >= 0) return {joined};
    KernelNode node{.kind = NodeKind::kScalarOp, .dtype = result, .op = op, .loop = loop_};
    for (Expr e : args) node.args.push_back(e.id);
    return {add(std::move(node))};
  }
  Expr constant(DType dtype, const void* bytes) override { return {constant_node(dtype, bytes)}; }
  Expr index(int dim, DType dtype) override {
    return {index_node(table_[pointwise_index_].dims[dim], dtype)};
  }
  DType dtype_of(Expr expr) const override { return kernel_.nodes[expr.id].dtype; }

 private:
  struct LoopKey {
    int level, family;  // family -1: the loop has no extents
    friend auto operator<=>(const LoopKey&, const LoopKey&) = default;
  };
  struct Memo {
    int index, loop, guard, node;
  };
  struct MemoSlot {
    int stamp = -1;
    boost::container::small_vector<Memo, 2> entries;
  };
  struct ReducedAt {
    int loop = -1, first = 0;
    std::vector<int> init;  // the results, if nothing is folded
  };

  void estimate_work();
  void find_joined();
  bool is_read_once(int v, boost::container::small_vector<int, 4>& moved) const;
  int join_product(ScalarOp op, DType result, std::span<const Expr> args);
  int join_root(ScalarOp op, DType result, std::span<const Expr> args);
  EmittedKernel attempt();
  void arrange_transposes();
  void choose_lanes();
  void set_dimensions();
  void order_loops();
  int output_family(const Access& access) const;
  void emit_reduction(int i);
  void emit_store(const GroupOutput& output);
  int level_of_value(int v) const;
  const GroupMembership* membership(int op) const;  // null: not in the group
  bool here(int v) const;

  int pull(int v, int index, int guard);
  int pull_fresh(int v, int index, int guard);
  int compute(int v, int index, int guard);
  int pull_pieces(int v, int index, int guard);
  int piece_guard(const GraphOp& op, const IndexPiece& piece, const Index& at, int guard);
  int gathered_index(const GraphOp& op, int index, int guard);
  Index piece_index(const GraphOp& op, const IndexPiece& piece, const Index& at);
  int load(int v, int index, int guard);
  int from_earlier_loop(int v, int index);
  int from_scratch(int v, int index, int earlier_loop, int node);
  int from_output(int v, int index, int earlier_loop, int node);
  int index_under(int v, int index);
  int intern(Index index);
  Index index_of(const Access& access, const Shape& shape) const;
  IndexExpr constant_expr(int64_t value) const {
    return IndexExpr::constant(value, extents_.size());
  }
  IndexExpr node_expr(int node) const {
    IndexExpr expr = constant_expr(0);
    expr.dynamic.emplace_back(node, 1);
    return expr;
  }
  IndexExpr dim_expr(int dim) const;
  bool depends_on_loop(const Index& index) const;

  int add(KernelNode node) {
    kernel_.nodes.push_back(std::move(node));
    addresses_.emplace_back();
    return static_cast<int>(kernel_.nodes.size()) - 1;
  }
  int apply1(ScalarOp op, DType result, std::initializer_list<int> args) {
    KernelNode node{
        .kind = NodeKind::kScalarOp, .dtype = result, .op = op, .args = args, .loop = loop_};
    return add(std::move(node));
  }
  // Returns the node of this operation in this loop, which is made at the first call. It is for
  // indices and guards: other values are found by their op and index (`memo_`).
  int apply_once(ScalarOp op, DType result, std::initializer_list<int> args);
  int constant_node(DType dtype, const void* bytes);
  int integer_node(DType dtype, int64_t value) { return ExprBuilder::integer(dtype, value).id; }
  int index_node(const IndexExpr& expr, DType dtype);
  int start_node(int v, int64_t max);
  int clamped_node(int node, int64_t max);
  int convert_node(int node, DType dtype);
  int both(int a, int b) {
    return a < 0 ? b : b < 0 ? a : apply_once(ScalarOp::kAnd, bool_, {a, b});
  }
  int buffer(int v, BufferKind kind);

  const Graph& g_;
  const FusionPlan& plan_;
  const int64_t last_level_cache_;
  const int deepest_;
  int depth_ = 0;             // of values that are being computed, one from the other
  std::vector<float> work_;   // for an element of each value, from stored values
  std::vector<char> joined_;  // for each value: whether it may be part of its only reader's node

  int group_ = 0;
  const Group* plan_group_ = nullptr;
  // For each dimension of the group, the extents into which it is split, major first. `extents_`
  // has all of them in one list.
  std::vector<Dims> splits_;
  Dims extents_;
  std::vector<int> block_;  // dimensions whose last part is inside of blocks
  std::vector<int> base_;   // for each dimension, its position in extents_
  std::vector<int> parallel_;
  std::vector<std::vector<int>> families_;
  std::vector<LoopKey> loops_;

  int stamp_ = 0, loop_ = 0, pointwise_index_ = 0;
  // For the pointwise op that is being emitted: its first node, and earlier ones that may be part
  // of its node.
  int first_of_op_ = 0;
  boost::container::small_vector<int, 2> joined_args_;
  Kernel kernel_;
  std::vector<int> values_;                              // for each buffer
  std::vector<IndexExpr> addresses_;                     // for each node
  std::vector<std::vector<IndexExpr>> store_addresses_;  // for each loop and each of its stores
  std::vector<Index> table_;
  std::vector<size_t> hashes_;
  std::vector<int> constants_, indices_;          // known nodes
  std::unordered_multimap<size_t, int> applied_;  // nodes of apply_once by a hash
  std::vector<MemoSlot> memo_;
  std::vector<std::pair<int, int>> buffer_of_;  // (stamp, buffer) for each value
  std::vector<int> level_of_;
  std::vector<ReducedAt> reduced_;
  int64_t scratch_bytes_ = 0;
};

}  // namespace tessera::fusion
