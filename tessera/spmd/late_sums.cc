#include "tessera/spmd/late_sums.h"

#include <algorithm>
#include <optional>

#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ir/scalar_op.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/constant.h"

namespace tessera::spmd {
namespace {

// Finds the scalar operation of an op, if it is a single one of its operands, in their order.
class SingleOperation final : public ExprBuilder {
 public:
  explicit SingleOperation(std::span<const Type> operands) {
    for (const Type& type : operands) operands_.push_back(add(type.dtype));
  }
  std::span<const Expr> operands() const { return operands_; }
  std::optional<ScalarOp> found() const { return count_ == 1 ? op_ : std::nullopt; }

  Expr apply(ScalarOp op, DType result, std::span<const Expr> args) override {
    ++count_;
    if (std::equal(args.begin(), args.end(), operands_.begin(), operands_.end(),
                   [](Expr a, Expr b) { return a.id == b.id; }))
      op_ = op;
    return add(result);
  }
  Expr constant(DType dtype, const void*) override { return other(dtype); }
  Expr index(int, DType dtype) override { return other(dtype); }
  DType dtype_of(Expr expr) const override { return dtypes_[static_cast<size_t>(expr.id)]; }

 private:
  Expr add(DType dtype) {
    dtypes_.push_back(dtype);
    return {static_cast<int>(dtypes_.size()) - 1};
  }
  Expr other(DType dtype) {
    count_ += 2;
    return add(dtype);
  }
  int count_ = 0;
  std::optional<ScalarOp> op_;
  std::vector<Expr> operands_;
  std::vector<DType> dtypes_;
};

int64_t bytes_of(const Type& type) { return type.elements() * itemsize(type.dtype); }

bool is_zero(ValueId v, const Function& f, std::span<const int> producers) {
  if (producers[v] < 0) return false;
  const ConstantParams* constant = as_constant(f.ops[producers[v]]);
  return constant && constant->is_splat() &&
         constant->value == Literal(constant->value.dtype(), Shape{});
}

bool is_same_along(const Type& type, const AxisNames& axes) {
  return axis_difference(axes, type.varying).size() == axes.size();
}

bool is_linear_pointwise(const Op& op, ValueId v, const AxisNames& axes, const Function& f) {
  const std::optional<ScalarOp> single = single_operation(op, f);
  if (!is_inexact(f.type(v).dtype) || !single) return false;
  const DType result = f.type(op.results[0]).dtype;
  switch (*single) {
    case ScalarOp::kNeg:
      return true;
    case ScalarOp::kConvert:
      return is_inexact(result) && itemsize(result) >= itemsize(f.type(v).dtype);
    case ScalarOp::kDiv:
      return op.operands[0] == v && is_same_along(f.type(op.operands[1]), axes);
    case ScalarOp::kMul:
      return is_same_along(f.type(op.operands[op.operands[0] == v ? 1 : 0]), axes);
    default:
      return false;
  }
}

class Mover {
 public:
  explicit Mover(const Function& f)
      : f_(f), producers_(f.producers()), users_(f.users()), is_output_(f.types.size(), 0) {
    for (ValueId v : f.outputs) is_output_[v] = 1;
  }

  Function run() {
    for (Op& op : f_.ops) op.params = map_control_regions(op, late_sums);
    after_.resize(f_.ops.size());
    moved_.resize(f_.ops.size(), 0);
    for (size_t i = 0; i < f_.ops.size(); ++i)
      if (is_sum_over_devices(f_.ops[i])) move(static_cast<int>(i));
    Function out = f_;
    out.ops.clear();
    for (size_t i = 0; i < f_.ops.size(); ++i) {
      if (!moved_[i]) out.ops.push_back(f_.ops[i]);
      for (Op& sum : after_[i]) out.ops.push_back(std::move(sum));
    }
    return out;
  }

 private:
  static bool is_sum_over_devices(const Op& op) {
    const auto* lowering = std::get_if<CollectiveLowering>(&op.def->lower);
    if (!lowering || lowering->kind != CollectiveKind::kAllReduce || op.operands.size() != 1)
      return false;
    const auto& p = op.params.as<AllReduceParams>();
    return p.kind == ReduceKind::kSum && p.groups.empty();
  }

  // Returns the op that reads `v` if it is the only one; otherwise -1.
  int only_user(ValueId v) const {
    return users_[v].size() == 1 && !is_output_[v] ? users_[v][0] : -1;
  }

  // Moves the sum after linear ops that read its result, to where the result is smallest.
  void move(int at) {
    const Op& sum = f_.ops[at];
    const AxisNames axes = sum.params.as<AllReduceParams>().axes;
    std::vector<int> chain;
    size_t best = 0;  // the number of ops that the sum is moved after
    ValueId v = sum.results[0];
    int64_t least = bytes_of(f_.type(v));
    for (int user = only_user(v); user >= 0 && is_linear_in(f_.ops[user], v, axes, f_, producers_);
         user = only_user(v)) {
      chain.push_back(user);
      v = f_.ops[user].results[0];
      if (bytes_of(f_.type(v)) < least) least = bytes_of(f_.type(v)), best = chain.size();
    }
    if (best == 0) return;
    chain.resize(best);
    const AxisNames varying = f_.type(sum.operands[0]).varying;
    Op late = sum;
    for (int k : chain) {
      Op& op = f_.ops[k];
      std::replace(op.operands.begin(), op.operands.end(), late.results[0], late.operands[0]);
      const ValueId was = op.results[0];
      Type type = f_.type(was);
      type.varying = axis_union(type.varying, varying);
      op.results[0] = f_.add_value(std::move(type));
      users_.push_back(k == chain.back() ? std::vector<int>() : users_[was]);
      producers_.push_back(k);
      is_output_.push_back(0);
      late.results[0] = was;
      late.operands[0] = op.results[0];
    }
    moved_[at] = 1;
    // A sum that was moved to this position earlier reads the result of this one.
    std::vector<Op>& after = after_[chain.back()];
    after.insert(after.begin(), std::move(late));
  }

  Function f_;
  std::vector<int> producers_;
  std::vector<std::vector<int>> users_;
  std::vector<char> is_output_, moved_;
  std::vector<std::vector<Op>> after_;  // for each op, the sums that are moved after it
};

}  // namespace

std::optional<ScalarOp> single_operation(const Op& op, const Function& f) {
  const auto* pointwise = std::get_if<Pointwise>(&op.def->lower);
  if (!pointwise || op.operands.empty() || op.results.size() != 1) return std::nullopt;
  const std::vector<Type> operands = f.types_of(op.operands);
  SingleOperation single(operands);
  pointwise->emit(single, single.operands(), op.params, operands, f.type(op.results[0]));
  return single.found();
}

bool is_linear_in(const Op& op, ValueId v, const AxisNames& axes, const Function& f,
                  std::span<const int> producers) {
  if (op.results.size() != 1 || op.def->effect ||
      std::count(op.operands.begin(), op.operands.end(), v) != 1)
    return false;
  if (std::holds_alternative<IndexMap>(op.def->lower)) return op.operands.size() == 1;
  if (const auto* reduce = std::get_if<Reduce>(&op.def->lower))
    return op.operands.size() == 2 && op.operands[0] == v &&
           is_zero(op.operands[1], f, producers) &&
           reduce->describe(op.params, f.types_of(op.operands)).kind == ReduceKind::kSum;
  return is_linear_pointwise(op, v, axes, f);
}

Function late_sums(const Function& function) { return Mover(function).run(); }

}  // namespace tessera::spmd
