#include "tessera/interchange/programs/known_scalars.h"

#include <cstring>

#include "tessera/ir/op_def.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"

namespace tessera::interchange {
namespace {

bool is_number(const Type& type) {
  return type.rank() == 0 && (is_integer(type.dtype) || type.dtype == bool_);
}

}  // namespace

Literal in_lanes(const Literal& scalar, int64_t lanes) {
  Literal out(scalar.dtype(), Shape{lanes});
  const int64_t item = itemsize(scalar.dtype());
  std::byte* to = out.mutable_raw();
  for (int64_t lane = 0; lane < lanes; ++lane)
    std::memcpy(to + lane * item, scalar.raw(), static_cast<size_t>(item));
  return out;
}

// The low bytes of a number in two's complement are the number modulo 2^bits, so the values wrap.
Literal counted_lanes(DType dtype, int64_t start, int64_t step, int64_t lanes) {
  Literal out(dtype, Shape{lanes});
  const int64_t item = itemsize(dtype);
  std::byte* to = out.mutable_raw();
  auto value = static_cast<uint64_t>(start);
  for (int64_t lane = 0; lane < lanes; ++lane, value += static_cast<uint64_t>(step))
    std::memcpy(to + lane * item, &value, static_cast<size_t>(item));
  return out;
}

std::optional<std::vector<int64_t>> numbers_of(const Literal& lanes) {
  const Literal wide = convert_literal(lanes, int64);
  std::vector<int64_t> out(wide.data<int64_t>(), wide.data<int64_t>() + wide.elements());
  if (lanes.dtype() == uint64)
    for (int64_t number : out)
      if (number < 0) return std::nullopt;
  return out;
}

KnownScalars::KnownScalars(const Function& f, int64_t lanes,
                           std::vector<std::optional<Literal>> inputs)
    : f_(f), lanes_(lanes), values_(f.types.size()) {
  for (size_t k = 0; k < inputs.size(); ++k) values_[f.inputs[k]] = std::move(inputs[k]);
  for (const Op& op : f.ops)
    if (op.results.size() == 1 && is_number(f.type(op.results[0])))
      values_[op.results[0]] = evaluated(op);
}

std::optional<Literal> KnownScalars::evaluated(const Op& op) const {
  if (const ConstantParams* constant = as_constant(op))
    return in_lanes(constant->value.reshaped({}), lanes_);
  if (!std::holds_alternative<Pointwise>(op.def->lower) || !op.def->evaluate) return std::nullopt;
  std::vector<Literal> operands;
  for (ValueId v : op.operands) {
    if (!find(v)) return std::nullopt;
    operands.push_back(*values_[v]);
  }
  if (operands.empty()) return std::nullopt;
  std::vector<Literal> out = op.def->evaluate(operands, op.params);
  if (out.size() != 1 || out[0].shape() != Shape{lanes_}) return std::nullopt;
  return std::move(out[0]);
}

const Literal* KnownScalars::find(ValueId v) const {
  const std::optional<Literal>& value = values_[v];
  return value && is_number(f_.type(v)) ? &*value : nullptr;
}

std::optional<std::vector<int64_t>> KnownScalars::numbers(ValueId v) const {
  const Literal* value = find(v);
  return value ? numbers_of(*value) : std::nullopt;
}

std::optional<int64_t> KnownScalars::number(ValueId v) const {
  const auto all = lanes_ == 1 ? numbers(v) : std::nullopt;
  return all ? std::optional(all->front()) : std::nullopt;
}

}  // namespace tessera::interchange
