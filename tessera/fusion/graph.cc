#include "tessera/fusion/graph.h"

#include <algorithm>

#include "tessera/base/overloaded.h"
#include "tessera/fusion/collective_steps.h"
#include "tessera/fusion/control_steps.h"
#include "tessera/fusion/reductions.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/token_type.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/expect.h"
#include "tessera/ops/linear/dot_general.h"

namespace tessera::fusion {
namespace {

// The work of clamping the start indices and of loading from an address that depends on them.
constexpr float kGatherWork = 6;

// Counts the work of an op, and finds its scalar operation if it has only one.
class Tally final : public ExprBuilder {
 public:
  explicit Tally(std::span<const Type> operands) {
    for (const Type& type : operands) operands_.push_back(add(type.dtype));
  }
  std::span<const Expr> operands() const { return operands_; }
  Expr apply(ScalarOp op, DType result, std::span<const Expr> args) override {
    work += scalar_op_info(op).cost.work;
    const bool of_operands =
        std::equal(args.begin(), args.end(), operands_.begin(), operands_.end(),
                   [](Expr a, Expr b) { return a.id == b.id; });
    single = ++applied_ == 1 && of_operands ? std::optional(op) : std::nullopt;
    return add(result);
  }
  Expr constant(DType dtype, const void*) override { return add(dtype); }
  Expr index(int, DType dtype) override {
    work += 1;
    return add(dtype);
  }
  DType dtype_of(Expr expr) const override { return dtypes_[expr.id]; }

  float work = 0;
  std::optional<ScalarOp> single;

 private:
  Expr add(DType dtype) {
    dtypes_.push_back(dtype);
    return {static_cast<int>(dtypes_.size()) - 1};
  }
  int applied_ = 0;
  boost::container::small_vector<Expr, 4> operands_;
  boost::container::small_vector<DType, 32> dtypes_;
};

class Builder {
 public:
  Builder(const Function& function, const Mesh& mesh, SettledCarries& settled)
      : f_(function), settled_(settled), g_{.mesh = mesh}, number_(function.types.size(), -1) {}

  Graph run(const std::vector<AxisList>& input_axes);

 private:
  void add(const Op& op);
  void add_each(const Op& op);
  bool lower(const Op& op, GraphOp& out, AxisList& axes);
  bool lower_pointwise(const Op& op, const Pointwise& lowering, GraphOp& out);
  bool lower_index_map(const Op& op, const IndexMap& lowering, GraphOp& out);
  bool lower_reduce(const Op& op, const Reduce& lowering, GraphOp& out, const AxisList& axes);
  bool lower_library(const Op& op, const Library& lowering, GraphOp& out);
  bool lower_collective(const Op& op, const CollectiveLowering& lowering, GraphOp& out,
                        AxisList& axes);
  bool lower_control(const Op& op, GraphOp& out);
  bool alias(const Op& op, const GraphOp& out);
  void keep_effect(const Op& op, GraphOp& out);
  int result(const Op& op, size_t r, const AxisList& axes);
  AxisList union_axes(const GraphOp& op) const;
  [[noreturn]] void fail_unsupported(const Op& op, std::string_view why) const {
    const std::string name = fmt::format("{}.{}", op.def->dialect, op.def->name);
    fail(ErrorKind::kType, name,
         "expected an op that fusion can place in a schedule, got one {}{}{}", why,
         op.source.empty() ? "" : "; called at ", op.source);
  }

  const Function& f_;
  SettledCarries& settled_;
  Graph g_;
  std::vector<int> number_;  // for each value of f_, its number in g_
  int last_effect_ = -1;     // a result of the last op with effects
};

// Returns the axes of the operand with the most instances, so that its order is the storage order,
// then the axes of the others.
AxisList Builder::union_axes(const GraphOp& op) const {
  const GraphValue* largest = nullptr;
  for (int v : op.operands)
    if (!largest || g_.values[v].instances > largest->instances) largest = &g_.values[v];
  AxisList axes = largest ? largest->axes : AxisList{};
  for (int v : op.operands) axes = axes_union(std::move(axes), g_.values[v].axes);
  return axes;
}

int Builder::result(const Op& op, size_t r, const AxisList& axes) {
  const Type& type = f_.types[op.results[r]];
  const int v = g_.add_value(type.dtype, type.shape, axes, static_cast<int>(g_.ops.size()));
  number_[op.results[r]] = v;
  return v;
}

// Returns true if `out` became an op; false if the op's results are only aliases of existing
// values.
bool Builder::lower(const Op& op, GraphOp& out, AxisList& axes) {
  const auto expanded = [&]() -> bool {
    fail_unsupported(op, "that the pipeline expands before fusion");
  };
  return std::visit(
      Overloaded{
          [&](std::monostate) -> bool { fail_unsupported(op, "without a lowering"); },
          [&](const Pointwise& lowering) { return lower_pointwise(op, lowering, out); },
          [&](const IndexMap& lowering) { return lower_index_map(op, lowering, out); },
          [&](const Reduce& lowering) { return lower_reduce(op, lowering, out, axes); },
          [&](const Library& lowering) { return lower_library(op, lowering, out); },
          [&](const CollectiveLowering& lowering) {
            return lower_collective(op, lowering, out, axes);
          },
          [&](const ControlFlowLowering&) { return lower_control(op, out); },
          [&](const Constraint&) { return alias(op, out); },
          [&](const Identity&) { return alias(op, out); },
          [&](const Inlined&) { return expanded(); },
          [&](const ManualRegion&) { return expanded(); },
          [&](const ManualBorder&) { return expanded(); },
      },
      op.def->lower);
}

void Builder::add(const Op& op) {
  if (std::holds_alternative<CollectiveLowering>(op.def->lower) && op.results.size() > 1)
    return add_each(op);
  GraphOp out;
  out.op = &op;
  for (ValueId v : op.operands) out.operands.push_back(number_[v]);
  AxisList axes = union_axes(out);
  if (!lower(op, out, axes)) return;
  for (size_t r = 0; r < op.results.size(); ++r) out.results.push_back(result(op, r, axes));
  keep_effect(op, out);
  g_.ops.push_back(std::move(out));
}

// Adds a collective of several arrays as one op for each, since one may cross instances while
// another is a view.
void Builder::add_each(const Op& op) {
  for (size_t k = 0; k < op.results.size(); ++k) {
    GraphOp out;
    out.op = &op;
    out.operands.push_back(number_[op.operands[k]]);
    AxisList axes = union_axes(out);
    if (!lower(op, out, axes)) continue;
    out.results.push_back(result(op, k, axes));
    g_.ops.push_back(std::move(out));
  }
}

// Keeps an op with effects: values that nobody reads are not computed, but a result of such an op
// counts as read. Ops with effects stay in the order of the program.
void Builder::keep_effect(const Op& op, GraphOp& out) {
  if (!has_effect(op)) return;
  if (out.results.empty())
    fail_unsupported(
        op,
        "with effects and without results; let it return a number (a branch that calls the "
        "host, too)");
  g_.values[out.results[0]].output = true;
  if (last_effect_ >= 0) {
    out.operands.push_back(last_effect_);
    out.after_effect = true;
  }
  last_effect_ = out.results[0];
}

bool Builder::lower_pointwise(const Op& op, const Pointwise& lowering, GraphOp& out) {
  if (const ConstantParams* constant = as_constant(op)) {
    const Literal& value = constant->value;
    const Shape& shape = constant->shape;
    const bool splat = constant->is_splat();
    // A value without elements (simplify makes such values constants) is not part of a kernel.
    if (shape.elements() == 0 || (!splat && shape.elements() != 1)) {
      const int v = g_.add_value(value.dtype(), shape, {});
      g_.values[v].constant =
          std::make_shared<const Literal>(splat ? Literal(value.dtype(), shape) : value);
      number_[op.results[0]] = v;
      return false;
    }
    out.splat = std::make_shared<const Literal>(value);
  }
  out.kind = OpKind::kPointwise;
  for (ValueId v : op.operands) out.operand_types.push_back({f_.types[v].dtype, f_.types[v].shape});
  Tally tally(out.operand_types);
  lowering.emit(tally, tally.operands(), op.params, out.operand_types, f_.types[op.results[0]]);
  out.work = tally.work;
  out.single = tally.single;
  return true;
}

// Returns whether the result has all elements of the one operand in their order, so that it is
// another view of the same memory. For example, JAX makes the indices of a scatter of shape (n, 1)
// from an array of shape (n) by a broadcast.
bool keeps_order(const IndexMapping& mapping, const Type& operand, const Type& result) {
  if (mapping.pieces.size() != 1 || mapping.fill >= 0 || mapping.updates) return false;
  const IndexPiece& piece = mapping.pieces[0];
  if (!piece.start.empty() || operand.elements() != result.elements()) return false;
  int last = -1;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (operand.shape[d] == 1) continue;
    const IndexTerm& term = piece.terms[d];
    const bool plain =
        term.stride == 1 && term.offset == 0 && term.divisor == 1 && term.dynamic < 0;
    if (!plain || term.result_dim <= last || result.shape[term.result_dim] != operand.shape[d])
      return false;
    last = term.result_dim;
  }
  return true;
}

bool Builder::lower_index_map(const Op& op, const IndexMap& lowering, GraphOp& out) {
  out.mapping = lowering.map(op.params, f_.types_of(op.operands), f_.types_of(op.results));
  if (keeps_order(out.mapping, f_.types[op.operands[0]], f_.types[op.results[0]]))
    out.mapping = {.reshape = true};
  out.kind = out.mapping.reshape ? OpKind::kReshape : OpKind::kIndexMap;
  out.work =
      out.kind == OpKind::kReshape ? 0 : static_cast<float>(2 * out.mapping.pieces.size() - 1);
  return true;
}

bool Builder::lower_reduce(const Op& op, const Reduce& lowering, GraphOp& out,
                           const AxisList& axes) {
  out.reduction = lowering.describe(op.params, f_.types_of(op.operands));
  out.kind = OpKind::kReduce;
  out.work = 1;
  const std::vector<int> results = add_reduction(g_, std::move(out), axes);
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
      out.dot->sum = params.sum;
      return true;
    }
    case LibraryKind::kConvolution:
      out.kind = OpKind::kConvolution;
      return true;
    case LibraryKind::kCall:
      out.kind = OpKind::kCall;
      out.call = lowering.call(op.params, f_.types_of(op.operands), f_.types_of(op.results));
      out.updates = lowering.updates;
      return true;
  }
  __builtin_unreachable();
}

bool Builder::lower_collective(const Op& op, const CollectiveLowering& lowering, GraphOp& out,
                               AxisList& axes) {
  if (lowering.kind == CollectiveKind::kCast) return alias(op, out);
  out.kind = lowering.kind == CollectiveKind::kAxisIndex ? OpKind::kAxisIndex : OpKind::kCollective;
  out.over = collective_axes(op, g_.mesh);
  axes = collective_result_axes(op, g_.mesh, out.over, axes);
  return true;
}

bool Builder::lower_control(const Op& op, GraphOp& out) {
  std::vector<AxisList> operands;
  for (int v : out.operands) operands.push_back(g_.values[v].axes);
  ControlLowering lowered = fusion::lower_control(op, g_.mesh, operands, settled_);
  boost::container::small_vector<int, 3> values = std::move(out.operands);
  out.operands.clear();
  for (size_t k : lowered.operands) out.operands.push_back(values[k]);
  for (const auto& [r, k] : lowered.aliases) number_[op.results[r]] = values[k];
  if (lowered.results.empty() && !has_effect(op)) return false;
  out.kind = OpKind::kControl;
  out.control = std::move(lowered.control);
  out.control->expected = expected_branch(f_, op);
  for (size_t r = 0; r < lowered.results.size(); ++r)
    out.results.push_back(result(op, lowered.results[r], lowered.result_axes[r]));
  if (lowered.token) {
    const Type token = ir::token_type();
    out.results.push_back(
        g_.add_value(token.dtype, token.shape, {}, static_cast<int>(g_.ops.size())));
  }
  keep_effect(op, out);
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
    const int v = g_.add_value(type.dtype, type.shape, axes);
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

int Graph::add_value(DType dtype, const Shape& shape, const AxisList& axes, int op) {
  values.push_back(
      {.dtype = dtype, .shape = shape, .axes = axes, .instances = axes_size(mesh, axes), .op = op});
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
  SettledCarries settled;
  return build_graph(function, mesh, input_axes, settled);
}

Graph build_graph(const Function& function, const Mesh& mesh,
                  const std::vector<AxisList>& input_axes, SettledCarries& settled) {
  return Builder(function, mesh, settled).run(input_axes);
}

}  // namespace tessera::fusion
