#include "tessera/control/samples.h"

#include "tessera/control/control.h"
#include "tessera/control/control_flow_ops.h"
#include "tessera/control/custom_derivative.h"
#include "tessera/control/manual_boundary.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"

namespace tessera::control::samples {
namespace {

// Builds a region: its inputs, then ops, then outputs.
class Region {
 public:
  explicit Region(std::span<const Type> inputs, std::string name = "body") {
    function_.name = std::move(name);
    for (const Type& type : inputs) function_.add_input(type);
  }
  ValueId input(size_t k) const { return function_.inputs[k]; }
  ValueId add(const OpDef& def, OpParams params, ValueIds operands) {
    const std::vector<Type> types = infer_types(def, function_.types_of(operands), params);
    return function_.add_op(def, std::move(params), std::move(operands), types)[0];
  }
  ValueId add(const OpDef& def, ValueIds operands) {
    return add(def, NoParams{}, std::move(operands));
  }
  ValueId number(int32_t value) {
    return add(constant_op, ConstantParams{Literal::scalar(value), {}}, {});
  }
  FunctionRef returning(std::vector<ValueId> outputs) {
    function_.outputs = std::move(outputs);
    return std::make_shared<const Function>(std::move(function_));
  }

 private:
  Function function_;
};

// x -> op(x)
FunctionRef elementwise(const OpDef& op, const Type& type, std::string name = "body") {
  Region body(std::span(&type, 1), std::move(name));
  return body.returning({body.add(op, {body.input(0)})});
}

const Mesh& mesh() {
  static const Mesh& mesh = *new Mesh(Mesh::abstract({2, 4}, {"x", "y"}));
  return mesh;
}
// Returns the params for rows that are sharded over the manual axis x.
ManualBoundaryParams rows_over_x() { return {mesh(), P("x"), {"x"}}; }

// Returns a loop with condition (i, x) -> i < 3 and body (i, x) -> (i + 1, sin(x)). It runs until
// i, which starts at a random number, is 3, or not at all.
Sample counting_loop(const Type& x) {
  const std::vector<Type> carry{{int32, {}}, x};
  Region cond(carry, "cond"), body(carry);
  const FunctionRef again = cond.returning(
      {cond.add(compare_op, CompareParams{Comparison::kLt, default_compare_type(int32)},
                {cond.input(0), cond.number(3)})});
  const ValueId next = body.add(add_op, {body.input(0), body.number(1)});
  return {.operands = carry,
          .params = WhileParams{again, body.returning({next, body.add(sin_op, {body.input(1)})})}};
}

// Returns a scan with the body (c, carry, slice) -> (carry + c * slice, carry * slice).
Sample folding_loop(const Type& slice, int64_t length, bool reverse) {
  const std::vector<Type> types{slice, slice, slice};
  Region body(types);
  const ValueId product = body.add(mul_op, {body.input(0), body.input(2)});
  const ValueId next = body.add(add_op, {body.input(1), product});
  const ValueId y = body.add(mul_op, {body.input(1), body.input(2)});
  Type stacked = slice;
  stacked.shape.insert(stacked.shape.begin(), length);
  return {.operands = {slice, slice, stacked},
          .params = ScanParams{.body = body.returning({next, y}),
                               .length = length,
                               .num_consts = 1,
                               .num_carry = 1,
                               .reverse = reverse}};
}

Sample chosen(DType index, const std::vector<const OpDef*>& ops, const Type& x) {
  CaseParams params;
  for (const OpDef* op : ops) params.branches.push_back(elementwise(*op, x));
  return {.operands = {{index, {}}, x}, .params = std::move(params)};
}

}  // namespace

std::vector<Sample> while_samples() {
  return {counting_loop({float32, {4, 3}}), counting_loop({float64, {}}),
          counting_loop({float32, {0, 3}})};
}

std::vector<Sample> scan_samples() {
  return {folding_loop({float32, {4}}, 3, false), folding_loop({float64, {2, 3}}, 4, true),
          folding_loop({int32, {}}, 5, false), folding_loop({float32, {4}}, 0, false),
          folding_loop({float32, {0}}, 2, true)};
}

std::vector<Sample> case_samples() {
  return {chosen(bool_, {&sin_op, &cos_op}, {float32, {4, 3}}),
          chosen(int32, {&sin_op, &cos_op, &neg_op}, {float64, {}}),
          chosen(int32, {&sin_op}, {float32, {0, 2}})};
}

std::vector<Sample> call_samples() {
  return {{.operands = {{float32, {4, 3}}},
           .params = CallParams{elementwise(sin_op, {float32, {4, 3}}, "f")}},
          {.operands = {{int32, {}}}, .params = CallParams{elementwise(neg_op, {int32, {}}, "f")}},
          {.operands = {{float32, {0}}},
           .params = CallParams{elementwise(cos_op, {float32, {0}}, "f")}}};
}

std::vector<Sample> manual_computation_samples() {
  const auto sample = [](const Shape& global, const Shape& local, const PartitionSpec& spec,
                         AxisNames varying, std::vector<std::string> manual) -> Sample {
    const Type inside{.dtype = float32, .shape = local, .varying = std::move(varying)};
    return {.operands = {{float32, global}},
            .params = ManualComputationParams{.mesh = mesh(),
                                              .in_specs = {spec},
                                              .out_specs = {spec},
                                              .manual_axes = std::move(manual),
                                              .body = elementwise(sin_op, inside)}};
  };
  return {sample({8, 4}, {4, 1}, P("x", "y"), {"x", "y"}, {"x", "y"}),
          sample({8, 4}, {4, 4}, P("x"), {"x"}, {"x"}), sample({}, {}, P(), {}, {"x", "y"}),
          sample({0, 4}, {0, 4}, P("x"), {"x"}, {"x", "y"})};
}

std::vector<Sample> full_to_shard_samples() {
  return {{.operands = {{float32, {8, 4}}}, .params = rows_over_x()},
          {.operands = {{float32, {3, 16}}},
           .params = ManualBoundaryParams{mesh(), P(None, joint("y", "x")), {"x", "y"}}},
          {.operands = {{int32, {}}}, .params = ManualBoundaryParams{mesh(), P(), {"x"}}},
          {.operands = {{float32, {0, 4}}}, .params = rows_over_x()}};
}

std::vector<Sample> shard_to_full_samples() {
  const auto inside = [](const Shape& shape, AxisNames varying) -> std::vector<Type> {
    return {{.dtype = float32, .shape = shape, .varying = std::move(varying)}};
  };
  return {{.operands = inside({4, 4}, {"x"}), .params = rows_over_x()},
          {.operands = inside({8, 1}, {"x", "y"}),
           .params = ManualBoundaryParams{mesh(), P(None, joint("y", "x")), {"x", "y"}}},
          {.operands = inside({}, {}), .params = ManualBoundaryParams{mesh(), P(), {"x"}}},
          {.operands = inside({0, 4}, {"x"}), .params = rows_over_x()}};
}

// Returns sin with a rule whose tangent is t * cos(x).
std::vector<Sample> custom_jvp_samples() {
  const auto sample = [](const Type& x) -> Sample {
    const std::vector<Type> with_tangent{x, x};
    Region rule(with_tangent, "jvp");
    const ValueId value = rule.add(sin_op, {rule.input(0)});
    const ValueId slope = rule.add(cos_op, {rule.input(0)});
    const ValueId tangent = rule.add(mul_op, {rule.input(1), slope});
    return {.operands = {x},
            .params = CustomJvpParams{elementwise(sin_op, x), rule.returning({value, tangent})}};
  };
  return {sample({float32, {4, 3}}), sample({float64, {}}), sample({float32, {0}})};
}

// Returns a function with a reverse rule whose residual is x.
std::vector<Sample> custom_vjp_samples() {
  const auto sample = [](const Type& x) -> Sample {
    const std::vector<Type> with_cotangent{x, x};
    Region fwd(std::span(&x, 1), "fwd"), bwd(with_cotangent, "bwd");
    const ValueId slope = bwd.add(cos_op, {bwd.input(0)});
    const ValueId cotangent = bwd.add(mul_op, {bwd.input(1), slope});
    return {.operands = {x},
            .params = CustomVjpParams{
                .primal = elementwise(sin_op, x),
                .fwd = fwd.returning({fwd.add(sin_op, {fwd.input(0)}), fwd.input(0)}),
                .bwd = bwd.returning({cotangent}),
                .num_args = 1,
                .num_results = 1}};
  };
  return {sample({float32, {4, 3}}), sample({float64, {}}), sample({float32, {0}})};
}

std::vector<Sample> checkpoint_samples() {
  const Type matrix{float32, {4, 3}}, number{float64, {}}, empty{float32, {0}};
  return {{.operands = {matrix}, .params = CheckpointParams{elementwise(sin_op, matrix)}},
          {.operands = {number},
           .params = CheckpointParams{elementwise(tanh_op, number), Saveable::kDots}},
          {.operands = {empty},
           .params = CheckpointParams{elementwise(cos_op, empty), Saveable::kNames, {"kept"}}}};
}

}  // namespace tessera::control::samples
