#include "tessera/ops/core/op.h"

#include <cstring>

namespace tessera::ops {
namespace {

// Returns a literal of `shape` whose elements all are the scalar.
Literal splat(const Literal& scalar, const Shape& shape) {
  Literal out(scalar.dtype(), shape);
  const int64_t item = itemsize(scalar.dtype());
  std::byte* to = out.mutable_raw();
  for (int64_t i = 0; i < out.elements(); ++i)
    std::memcpy(to + i * item, scalar.raw(), static_cast<size_t>(item));
  return out;
}

}  // namespace

void expect_operands(std::string_view op, std::span<const Type> operands, size_t count) {
  if (operands.size() != count)
    type_error(op, "expected {} operand{}, got {}", count, count == 1 ? "" : "s", operands.size());
}

void expect_same_dtype(std::string_view op, std::span<const Type> operands) {
  for (const Type& t : operands)
    if (t.dtype != operands[0].dtype)
      type_error(op, "expected operands of one dtype, got {} and {}; convert one of them",
                 describe(operands[0]), describe(t));
}

void expect_same_shape(std::string_view op, std::span<const Type> operands) {
  for (const Type& t : operands)
    if (t.shape != operands[0].shape)
      shape_error(op, "expected operands of one shape, got {} and {}; broadcast one of them",
                  describe(operands[0]), describe(t));
}

AxisNames varying_union(std::span<const Type> operands) {
  AxisNames out;
  for (const Type& t : operands) out = axis_union(out, t.varying);
  return out;
}

std::vector<Literal> evaluate_function(const Function& function, std::span<const Literal> inputs) {
  TESSERA_CHECK(inputs.size() == function.inputs.size(), "{} inputs for {}", inputs.size(),
                function.name);
  std::vector<Literal> values(function.types.size());
  bool mapped = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[function.inputs[i]] = inputs[i];
    mapped = mapped || inputs[i].shape() != function.types[function.inputs[i]].shape;
  }
  std::vector<Literal> operands;
  for (const Op& op : function.ops) {
    TESSERA_CHECK(op.def->evaluate, "{}.{} has no evaluation", op.def->dialect, op.def->name);
    operands.clear();
    for (ValueId v : op.operands) operands.push_back(values[v]);
    std::vector<Literal> results = op.def->evaluate(operands, op.params);
    for (size_t r = 0; r < op.results.size(); ++r)
      values[op.results[r]] =
          mapped && operands.empty() ? splat(results[r], inputs[0].shape()) : std::move(results[r]);
  }
  std::vector<Literal> out;
  for (ValueId v : function.outputs) out.push_back(values[v]);
  return out;
}

}  // namespace tessera::ops
