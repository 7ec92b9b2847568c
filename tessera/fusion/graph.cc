#include "tessera/fusion/graph.h"

#include <algorithm>

#include "tessera/fusion/collective_steps.h"
#include "tessera/fusion/control_steps.h"
#include "tessera/fusion/reductions.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/linear/dot_general.h"

namespace tessera::fusion {
namespace {

// Clamping the starts and a load whose place depends on them.
constexpr float kGatherWork = 6;

// Adds up the work of what an op emits.
class WorkCounter final : public ExprBuilder {
 public:
  Expr apply(ScalarOp op, DType result, std::span<const Expr>) override {
    work += scalar_op_info(op).cost.work;
    return add(result);
  }
  Expr constant(DType dtype, const void*) override { return add(dtype); }
  Expr index(int, DType dtype) override {
    work += 1;
    return add(dtype);
  }
  DType dtype_of(Expr expr) const override { return dtypes_[expr.id]; }
  Expr add(DType dtype) {
    dtypes_.push_back(dtype);
    return {static_cast<int>(dtypes_.size()) - 1};
  }
  float work = 0;

 private:
  boost::container::small_vector<DType, 32> dtypes_;
};

float pointwise_work(const Pointwise& lowering, const GraphOp& op, const Type& result) {
  WorkCounter counter;
  boost::container::small_vector<Expr, 4> args;
  for (const Type& type : op.operand_types) args.push_back(counter.add(type.dtype));
  lowering.emit(counter, args, op.op->params, op.operand_types, result);
  return counter.work;
}

Type plain(const Type& type) {
  Type out;
  out.dtype = type.dtype;
  out.shape = type.shape;
  return out;
}

class Builder {
 public:
  Builder(const Function& function, const Mesh& mesh)
      : f_(function), mesh_(mesh), number_(function.types.size(), -1) {}

  Graph run(const std::vector<AxisList>& input_axes);

 private:
  void add(const Op& op);
  bool lower(const Op& op, GraphOp& out, AxisList& axes);
  bool lower_pointwise(const Op& op, const Pointwise& lowering, GraphOp& out);
  bool lower_index_map(const Op& op, const IndexMap& lowering, GraphOp& out);
  bool lower_reduce(const Op& op, const Reduce& lowering, GraphOp& out, const AxisList& axes);
  bool lower_library(const Op& op, const Library& lowering, GraphOp& out);
  bool lower_collective(const Op& op, const CollectiveLowering& lowering, GraphOp& out,
                        AxisList& axes);
  bool lower_control(const Op& op, GraphOp& out);
  bool alias(const Op& op, const GraphOp& out);
  int result(const Op& op, size_t r, const AxisList& axes);
  AxisList union_axes(const GraphOp& op) const;
  int64_t instances(const AxisList& axes) const {
    int64_t n = 1;
    for (int a : axes) n *= mesh_.axis_sizes()[a];
    return n;
  }
  [[noreturn]] void no_place(const Op& op, std::string_view why) const {
    const std::string name = fmt::format("{}.{}", op.def->dialect, op.def->name);
    fail(ErrorKind::kType, name,
         "expected an op that fusion can place in a schedule, got one {}{}{}", why,
         op.source.empty() ? "" : "; called at ", op.source);
  }

  const Function& f_;
  const Mesh& mesh_;
  Graph g_;
  std::vector<int> number_;  // of a value of f_ in g_
};

// The axes of the operand with the most instances first, so that its order is the storage order;
// then the others'.
AxisList Builder::union_axes(const GraphOp& op) const {
  const GraphValue* largest = nullptr;
  for (int v : op.operands)
    if (!largest || g_.values[v].instances > largest->instances) largest = &g_.values[v];
  AxisList axes = largest ? largest->axes : AxisList{};
  for (int v : op.operands)
    for (int a : g_.values[v].axes)
      if (std::find(axes.begin(), axes.end(), a) == axes.end()) axes.push_back(a);
  return axes;
}

int Builder::result(const Op& op, size_t r, const AxisList& axes) {
  const Type& type = f_.types[op.results[r]];
  const int v =
      g_.add_value(type.dtype, type.shape, axes, instances(axes), static_cast<int>(g_.ops.size()));
  number_[op.results[r]] = v;
  return v;
}

// True where `out` became an op; false where the results are named already.
bool Builder::lower(const Op& op, GraphOp& out, AxisList& axes) {
  struct Visitor {
    Builder& b;
    const Op& op;
    GraphOp& out;
    AxisList& axes;
    bool operator()(const std::monostate&) { b.no_place(op, "without a lowering"); }
    bool operator()(const Pointwise& lowering) { return b.lower_pointwise(op, lowering, out); }
    bool operator()(const IndexMap& lowering) { return b.lower_index_map(op, lowering, out); }
    bool operator()(const Reduce& lowering) { return b.lower_reduce(op, lowering, out, axes); }
    bool operator()(const Library& lowering) { return b.lower_library(op, lowering, out); }
    bool operator()(const CollectiveLowering& lowering) {
      return b.lower_collective(op, lowering, out, axes);
    }
    bool operator()(const ControlFlowLowering&) { return b.lower_control(op, out); }
    bool operator()(const Constraint&) { return b.alias(op, out); }
    bool operator()(const Identity&) { return b.alias(op, out); }
    bool operator()(const Inlined&) { return expanded(); }
    bool operator()(const ManualRegion&) { return expanded(); }
    bool operator()(const ManualBorder&) { return expanded(); }
    bool expanded() { b.no_place(op, "that the pipeline expands before fusion"); }
  };
  return std::visit(Visitor{*this, op, out, axes}, op.def->lower);
}

void Builder::add(const Op& op) {
  GraphOp out;
  out.op = &op;
  for (ValueId v : op.operands) out.operands.push_back(number_[v]);
  AxisList axes = union_axes(out);
  if (!lower(op, out, axes)) return;
  for (size_t r = 0; r < op.results.size(); ++r) out.results.push_back(result(op, r, axes));
  g_.ops.push_back(std::move(out));
}

bool Builder::lower_pointwise(const Op& op, const Pointwise& lowering, GraphOp& out) {
  if (const ConstantParams* constant = as_constant(op)) {
    const ConstantParams& params = *constant;
    // What has no elements (simplify made it so) is no part of a kernel either.
    if (params.shape.elements() == 0 || (!params.is_splat() && params.shape.elements() != 1)) {
      const DType dtype = params.value.dtype();
      const int v = g_.add_value(dtype, params.shape, {}, 1, -1);
      g_.values[v].constant = std::make_shared<const Literal>(
          params.is_splat() ? Literal(dtype, params.shape) : params.value);
      number_[op.results[0]] = v;
      return false;
    }
    out.splat = std::make_shared<const Literal>(params.value);
  }
  out.kind = OpKind::kPointwise;
  for (ValueId v : op.operands) out.operand_types.push_back(plain(f_.types[v]));
  out.work = pointwise_work(lowering, out, f_.types[op.results[0]]);
  return true;
}

bool Builder::lower_index_map(const Op& op, const IndexMap& lowering, GraphOp& out) {
  const std::vector<Type> operands = f_.types_of(op.operands), results = f_.types_of(op.results);
  out.mapping = lowering.map(op.params, operands, results);
  out.kind = out.mapping.reshape ? OpKind::kReshape : OpKind::kIndexMap;
  out.work =
      out.kind == OpKind::kReshape ? 0 : static_cast<float>(2 * out.mapping.pieces.size() - 1);
  return true;
}

bool Builder::lower_reduce(const Op& op, const Reduce& lowering, GraphOp& out,
                           const AxisList& axes) {
  const std::vector<Type> operands = f_.types_of(op.operands);
  out.reduction = lowering.describe(op.params, operands);
  out.kind = OpKind::kReduce;
  out.work = 1;
  const std::vector<int> results = add_reduction(g_, std::move(out), axes, instances(axes));
  for (size_t r = 0; r < op.results.size(); ++r) number_[op.results[r]] = results[r];
  return false;
}

bool Builder::lower_library(const Op& op, const Library& lowering, GraphOp& out) {
  switch (lowering.kind) {
    case LibraryKind::kGather:
      out.kind = OpKind::kGather;
      out.work = kGatherWork;
      return true;
    case LibraryKind::kDot: {
      const DotParams& params = op.params.as<DotParams>();
      out.kind = OpKind::kDot;
      out.dot = std::make_shared<DotStep>();
      out.dot->lhs_batch = params.lhs_batch;
      out.dot->rhs_batch = params.rhs_batch;
      out.dot->lhs_contract = params.lhs_contract;
      out.dot->rhs_contract = params.rhs_contract;
      out.dot->accumulate = accumulation_dtype(params.result);
      return true;
    }
    case LibraryKind::kConvolution:
      out.kind = OpKind::kConvolution;
      return true;
    case LibraryKind::kCall:
      out.kind = OpKind::kCall;
      out.call = lowering.call(op.params, f_.types_of(op.operands), f_.types_of(op.results));
      return true;
  }
  __builtin_unreachable();
}

bool Builder::lower_collective(const Op& op, const CollectiveLowering& lowering, GraphOp& out,
                               AxisList& axes) {
  if (lowering.kind == CollectiveKind::kCast) return alias(op, out);
  out.kind = lowering.kind == CollectiveKind::kAxisIndex ? OpKind::kAxisIndex : OpKind::kCollective;
  out.over = collective_axes(op, mesh_);
  axes = collective_result_axes(op, mesh_, axes);
  return true;
}

bool Builder::lower_control(const Op& op, GraphOp& out) {
  std::vector<AxisList> operands;
  for (int v : out.operands) operands.push_back(g_.values[v].axes);
  ControlLowering lowered = fusion::lower_control(op, mesh_, operands);
  boost::container::small_vector<int, 3> values = std::move(out.operands);
  out.operands.clear();
  for (size_t k : lowered.operands) out.operands.push_back(values[k]);
  for (const auto& [r, k] : lowered.aliases) number_[op.results[r]] = values[k];
  if (lowered.results.empty()) return false;
  out.kind = OpKind::kControl;
  out.control = std::move(lowered.control);
  for (size_t r = 0; r < lowered.results.size(); ++r)
    out.results.push_back(result(op, lowered.results[r], lowered.result_axes[r]));
  g_.ops.push_back(std::move(out));
  return false;
}

bool Builder::alias(const Op& op, const GraphOp& out) {
  for (size_t r = 0; r < op.results.size(); ++r) number_[op.results[r]] = out.operands[r];
  return false;
}

Graph Builder::run(const std::vector<AxisList>& input_axes) {
  TESSERA_CHECK(input_axes.empty() || input_axes.size() == f_.inputs.size(),
                "axes of {} inputs for {}", input_axes.size(), f_.inputs.size());
  g_.values.reserve(f_.types.size() + 8);
  g_.ops.reserve(f_.ops.size() + 8);
  for (size_t i = 0; i < f_.inputs.size(); ++i) {
    const Type& type = f_.types[f_.inputs[i]];
    const AxisList axes = input_axes.empty() ? AxisList{} : input_axes[i];
    const int v = g_.add_value(type.dtype, type.shape, axes, instances(axes), -1);
    g_.values[v].input = static_cast<int>(i);
    number_[f_.inputs[i]] = v;
    g_.inputs.push_back(v);
  }
  for (const Op& op : f_.ops) add(op);
  for (ValueId v : f_.outputs) {
    g_.outputs.push_back(number_[v]);
    g_.values[number_[v]].output = true;
  }
  g_.find_users();
  return std::move(g_);
}

}  // namespace

int Graph::add_value(DType dtype, const Shape& shape, const AxisList& axes, int64_t instances,
                     int op) {
  GraphValue value;
  value.dtype = dtype;
  value.shape = shape;
  value.axes = axes;
  value.instances = instances;
  value.op = op;
  values.push_back(std::move(value));
  return static_cast<int>(values.size()) - 1;
}

void Graph::find_users() {
  for (GraphValue& value : values) value.users.clear();
  for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
    for (int v : ops[i].operands) {
      auto& users = values[v].users;
      if (users.empty() || users.back() != i) users.push_back(i);
    }
  }
}

Graph build_graph(const Function& function, const Mesh& mesh,
                  const std::vector<AxisList>& input_axes) {
  return Builder(function, mesh).run(input_axes);
}

}  // namespace tessera::fusion
