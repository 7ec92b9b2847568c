#include "tessera/interchange/programs/lower_scans.h"

#include "tessera/control/control_flow_ops.h"
#include "tessera/interchange/programs/map_regions.h"
#include "tessera/ir/append_ops.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/identity.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::interchange {
namespace {

// Adds ops and infers the types of their results.
class Builder {
 public:
  explicit Builder(Function& f) : f_(f) {}
  ValueIds add(const OpDef& def, OpParams params, ValueIds operands,
               const std::string& source = "") {
    const std::vector<Type> types = f_.types_of(operands);
    params = retyped_params(def, types, params);
    const std::vector<Type> results = infer_types(def, types, params);
    return f_.add_op(def, std::move(params), std::move(operands), results, source);
  }
  ValueId add1(const OpDef& def, OpParams params, ValueIds operands) {
    return add(def, std::move(params), std::move(operands))[0];
  }
  ValueId number(int64_t value) {
    return add1(constant_op, constant_params(Literal::scalar(static_cast<int32_t>(value))), {});
  }
  // Returns the start indices of a row: its index, followed by zeros.
  ValueIds starts(ValueId row, int64_t rank) {
    ValueIds out{row};
    for (int64_t d = 1; d < rank; ++d) out.push_back(number(0));
    return out;
  }

 private:
  Function& f_;
};

ValueIds append_lowered(Function& out, const Function& f, const ValueIds& values);

// The while carries the counter, the scan's constants, its carry, its scanned operands and its
// stacked results, in this order.
ValueIds append_while(Function& out, const Op& op, const ValueIds& operands) {
  const auto& p = op.params.as<ScanParams>();
  const Function& trip = *p.body;
  const auto fixed = static_cast<size_t>(p.num_consts + p.num_carry),
             carry = static_cast<size_t>(p.num_carry);
  Builder outside(out);
  ValueIds inits{outside.number(0)};
  inits.insert(inits.end(), operands.begin(), operands.end());
  for (size_t r = carry; r < trip.outputs.size(); ++r) {
    Shape shape = trip.type(trip.outputs[r]).shape;
    shape.insert(shape.begin(), p.length);
    const DType dtype = trip.type(trip.outputs[r]).dtype;
    inits.push_back(outside.add1(constant_op, ConstantParams{Literal(dtype, Shape{}), shape}, {}));
  }
  Function cond, body;
  cond.name = "cond", body.name = trip.name;
  for (const Type& type : out.types_of(inits)) {
    Type inside = type;
    inside.sharding = nullptr;
    cond.add_input(inside);
    body.add_input(inside);
  }
  Builder test(cond), in(body);
  const CompareParams less{Comparison::kLt, CompareType::kSigned};
  cond.outputs = {test.add1(compare_op, less, {cond.inputs[0], test.number(p.length)})};

  const ValueId count = body.inputs[0];
  const ValueId row =
      p.reverse ? in.add1(sub_op, NoParams{}, {in.number(p.length - 1), count}) : count;
  ValueIds inputs(body.inputs.begin() + 1, body.inputs.begin() + 1 + static_cast<int64_t>(fixed));
  for (size_t k = fixed; k < operands.size(); ++k) {
    const Type type = body.type(body.inputs[1 + k]);
    Shape one = type.shape;
    one[0] = 1;
    ValueIds reads{body.inputs[1 + k]};
    for (ValueId start : in.starts(row, type.rank())) reads.push_back(start);
    const ValueId part = in.add1(dynamic_slice_op, DynamicSliceParams{one}, reads);
    one.erase(one.begin());
    inputs.push_back(in.add1(reshape_op, ReshapeParams{one}, {part}));
  }
  const ValueIds results = append_lowered(body, trip, inputs);
  body.outputs.push_back(in.add1(add_op, NoParams{}, {count, in.number(1)}));
  for (size_t k = 0; k < operands.size(); ++k) {
    const bool carried = k >= fixed - carry && k < fixed;
    body.outputs.push_back(carried ? results[k - (fixed - carry)] : body.inputs[1 + k]);
  }
  for (size_t r = carry; r < results.size(); ++r) {
    const ValueId stacked = body.inputs[1 + operands.size() + r - carry];
    Shape one = body.type(results[r]).shape;
    one.insert(one.begin(), 1);
    ValueIds writes{stacked, in.add1(reshape_op, ReshapeParams{one}, {results[r]})};
    for (ValueId start : in.starts(row, one.rank())) writes.push_back(start);
    body.outputs.push_back(in.add1(dynamic_update_slice_op, NoParams{}, writes));
  }
  const ValueIds all = outside.add(while_op,
                                   WhileParams{std::make_shared<const Function>(std::move(cond)),
                                               std::make_shared<const Function>(std::move(body))},
                                   inits, op.source);
  ValueIds wanted;
  for (size_t k = 0; k < trip.outputs.size(); ++k)
    wanted.push_back(all[k < carry ? 1 + fixed - carry + k : 1 + operands.size() + k - carry]);
  return wanted;
}

ValueIds append_lowered(Function& out, const Function& f, const ValueIds& values) {
  return append_ops(f, values, [&](const Op& op, ValueIds operands) -> ValueIds {
    if (op.def == &scan_op) return append_while(out, op, operands);
    if (const FunctionRef callee = callee_of(op)) return append_lowered(out, *callee, operands);
    if (std::holds_alternative<Identity>(op.def->lower) && op.def != &optimization_barrier_op)
      return operands;
    return out.add_op(copy_of(op, map_regions(op, lower_scans), std::move(operands)),
                      f.types_of(op.results));
  });
}

}  // namespace

Function lower_scans(const Function& f) {
  return remove_dead_ops(rewritten(
      f, [&](Function& out, const ValueIds& inputs) { return append_lowered(out, f, inputs); }));
}

}  // namespace tessera::interchange
