#include "tessera/ir/retype.h"

#include "tessera/ir/op_def.h"

namespace tessera::ir {
namespace {

bool inputs_vary_over(const Function& f, std::span<const AxisNames> inputs) {
  TESSERA_CHECK(f.inputs.size() == inputs.size(), "{}: {} variances for {} inputs", f.name,
                inputs.size(), f.inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k)
    if (f.type(f.inputs[k]).varying != inputs[k]) return false;
  return true;
}

}  // namespace

std::vector<AxisNames> variance_of(std::span<const Type> types) {
  std::vector<AxisNames> out;
  for (const Type& t : types) out.push_back(t.varying);
  return out;
}

FunctionRef retyped(const FunctionRef& region, std::span<const AxisNames> inputs) {
  if (inputs_vary_over(*region, inputs)) return region;
  auto out = std::make_shared<Function>(*region);
  for (size_t k = 0; k < inputs.size(); ++k) out->types[out->inputs[k]].varying = inputs[k];
  for (Op& op : out->ops) {
    const std::vector<Type> operands = out->types_of(op.operands);
    op.params = retyped_params(*op.def, operands, op.params);
    const std::vector<Type> results = infer_types(*op.def, operands, op.params);
    for (size_t r = 0; r < results.size(); ++r)
      out->types[op.results[r]].varying = results[r].varying;
  }
  return out;
}

FunctionRef retyped_loop(const FunctionRef& body, std::vector<AxisNames> inputs, size_t first_carry,
                         size_t num_carry) {
  TESSERA_CHECK(body->inputs.size() == inputs.size(), "{}: {} variances for {} inputs", body->name,
                inputs.size(), body->inputs.size());
  // A carry may keep its type in the body if that varies over the axes of its initial value and of
  // the value that a trip returns.
  auto covers = [&](const Function& f, size_t c) {
    const AxisNames& carry = f.type(f.inputs[first_carry + c]).varying;
    return axis_subset(f.type(f.outputs[c]).varying, carry) &&
           axis_subset(inputs[first_carry + c], carry);
  };
  std::vector<AxisNames> as_it_is = inputs;
  bool covered = true;
  for (size_t c = 0; c < num_carry; ++c) {
    as_it_is[first_carry + c] = body->type(body->inputs[first_carry + c]).varying;
    covered = covered && covers(*body, c);
  }
  if (covered && inputs_vary_over(*body, as_it_is)) return body;
  while (true) {
    const FunctionRef out = retyped(body, inputs);
    bool settled = true;
    for (size_t c = 0; c < num_carry; ++c) {
      settled = settled && covers(*out, c);
      AxisNames& carry = inputs[first_carry + c];
      carry = axis_union(carry, out->type(out->outputs[c]).varying);
    }
    if (settled) return out;
  }
}

}  // namespace tessera::ir
