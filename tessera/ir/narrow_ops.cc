#include "tessera/ir/narrow_ops.h"

#include <algorithm>

#include "tessera/base/narrow.h"
#include "tessera/ir/append_ops.h"

namespace tessera::ir {
namespace {

const OpDef& op_called(std::string_view name) {
  const OpDef* def = find_op("stablehlo", name);
  TESSERA_CHECK(def, "no op is called {}", name);
  return *def;
}

// Returns a constant whose elements all are `number`, of the shape of `type`.
template <class V>
V constant(const Type& type, uint8_t number, const AddOp<V>& add) {
  const OpDef& def = op_called("constant");
  return add(def, def.params.with_fields({Literal::scalar(number), type.shape, false}), {});
}

template <class V>
V unsigned_bits(const V& value, const Type& type, const AddOp<V>& add) {
  const bool two = bit_width(type.dtype) == 2;
  const V bits =
      is_signed(type.dtype) ? converted(value, two ? uint2 : uint4, type.weak, add) : value;
  return converted(bits, uint8, type.weak, add);
}

// Returns whether results of ops are rounded to a narrow dtype by more than one op.
bool rounds_often(const Function& f) {
  return std::count_if(f.ops.begin(), f.ops.end(), [&](const Op& op) {
           return op.operands.size() == 1 && is_narrow(f.type(op.results[0]).dtype) &&
                  !is_narrow(f.type(op.operands[0]).dtype);
         }) > 1;
}

// Returns the function on wide values, without the conversions between narrow and wide ones.
Function without_rounding(const Function& f, NarrowOperands rule) {
  const auto wide = [&](ValueId v) {
    Type type = f.type(v);
    type.dtype = wide_dtype(type.dtype, rule);
    return type;
  };
  Function out;
  out.name = f.name;
  ValueIds inputs;
  for (ValueId v : f.inputs) inputs.push_back(out.add_input(wide(v)));
  const ValueIds outputs = append_ops(f, inputs, [&](const Op& op, const ValueIds& operands) {
    std::vector<Attribute> fields = op.params.fields();
    for (Attribute& field : fields) {
      if (auto* dtype = std::get_if<DType>(&field)) *dtype = wide_dtype(*dtype, rule);
      if (auto* value = std::get_if<Literal>(&field)) *value = tessera::widened(*value);
    }
    std::vector<Type> results;
    for (ValueId v : op.results) results.push_back(wide(v));
    // Ops that convert between narrow and wide elements are left out.
    if (op.operands.size() == 1 && op.results.size() == 1 &&
        is_narrow(f.type(op.operands[0]).dtype) != is_narrow(f.type(op.results[0]).dtype) &&
        out.type(operands[0]).same_array(results[0]))
      return operands;
    return out.add_op(*op.def, op.params.with_fields(fields), operands, results, op.source);
  });
  out.outputs.assign(outputs.begin(), outputs.end());
  return out;
}

}  // namespace

bool has_narrow(std::span<const Type> types) {
  return std::any_of(types.begin(), types.end(), [](const Type& t) { return is_narrow(t.dtype); });
}

DType wide_dtype(DType dtype, NarrowOperands rule) {
  if (!is_narrow(dtype) || is_floating(dtype)) return tessera::wide_dtype(dtype);
  switch (rule) {
    case NarrowOperands::kBits:
    case NarrowOperands::kTopBits:
      return uint8;
    case NarrowOperands::kSigned:
      return int8;
    default:
      return tessera::wide_dtype(dtype);
  }
}

template <class V>
V converted(const V& value, DType dtype, bool weak, const AddOp<V>& add) {
  const OpDef& def = op_called("convert");
  return add(def, def.params.with_fields({dtype, weak}), {value});
}

template <class V>
V widened(const V& value, const Type& type, NarrowOperands rule, const AddOp<V>& add) {
  if (!is_narrow(type.dtype)) return value;
  if (is_floating(type.dtype)) return converted(value, float32, type.weak, add);
  switch (rule) {
    case NarrowOperands::kBits:
      return unsigned_bits(value, type, add);
    case NarrowOperands::kTopBits: {
      const auto unused = static_cast<uint8_t>(8 - bit_width(type.dtype));
      const V upper = add(op_called("shift_left"), op_called("shift_left").params,
                          {unsigned_bits(value, type, add), constant<V>(type, unused, add)});
      const auto ones = static_cast<uint8_t>((1 << unused) - 1);
      return add(op_called("or"), op_called("or").params, {upper, constant<V>(type, ones, add)});
    }
    case NarrowOperands::kSigned: {
      const bool two = bit_width(type.dtype) == 2;
      const V number =
          is_signed(type.dtype) ? value : converted(value, two ? int2 : int4, type.weak, add);
      return converted(number, int8, type.weak, add);
    }
    default:
      return converted(value, tessera::wide_dtype(type.dtype), type.weak, add);
  }
}

template ValueId converted(const ValueId&, DType, bool, const AddOp<ValueId>&);
template ValueId widened(const ValueId&, const Type&, NarrowOperands, const AddOp<ValueId>&);

std::optional<std::vector<Array>> bind_widened(const OpDef& def, const OpParams& params,
                                               std::span<const Array> operands) {
  if (def.narrow == NarrowOperands::kAsTheyAre) return std::nullopt;
  bool found = std::any_of(operands.begin(), operands.end(),
                           [](const Array& x) { return is_narrow(x.dtype()); });
  if (!found && !def.has_dtypes) return std::nullopt;
  std::vector<Attribute> fields = params.fields();
  for (Attribute& field : fields) {
    auto* dtype = std::get_if<DType>(&field);
    if (!dtype || !is_narrow(*dtype)) continue;
    found = true;
    *dtype = wide_dtype(*dtype, def.narrow);
  }
  if (!found) return std::nullopt;
  for (const Attribute& field : fields)
    if (const auto* region = std::get_if<FunctionRef>(&field); region && *region)
      type_error(def.name,
                 "expected operands of dtypes that are computed with where a function says what "
                 "happens to them, got narrow ones; convert them to float32 or int8 first");
  std::vector<Type> types;
  for (const Array& x : operands) types.push_back(x.type());
  const std::vector<Type> results = infer_types(def, types, params);
  const AddOp<Array> add = [](const OpDef& op, OpParams p, const std::vector<Array>& x) {
    return bind_op(op, std::move(p), x)[0];
  };
  std::vector<Array> wide;
  for (const Array& x : operands) wide.push_back(widened(x, x.type(), def.narrow, add));
  std::vector<Array> out = bind_op(def, params.with_fields(fields), wide);
  for (size_t r = 0; r < out.size(); ++r)
    if (out[r].dtype() != results[r].dtype)
      out[r] = converted(out[r], results[r].dtype, results[r].weak, add);
  return out;
}

FunctionRef widened_region(const FunctionRef& region, NarrowOperands rule) {
  if (!has_narrow(region->types)) return region;
  if (!rounds_often(*region))
    return std::make_shared<const Function>(without_rounding(*region, rule));
  Function out;
  out.name = region->name;
  const AddOp<ValueId> add = [&](const OpDef& def, OpParams p, const std::vector<ValueId>& x) {
    const std::vector<Type> types = infer_types(def, out.types_of(x), p);
    return out.add_op(def, std::move(p), ValueIds(x.begin(), x.end()), types)[0];
  };
  for (ValueId v : region->inputs) {
    Type type = region->type(v);
    type.dtype = wide_dtype(type.dtype, rule);
    out.add_input(type);
  }
  ValueIds inputs;
  for (size_t i = 0; i < region->inputs.size(); ++i) {
    const Type& type = region->type(region->inputs[i]);
    inputs.push_back(is_narrow(type.dtype) ? converted(out.inputs[i], type.dtype, type.weak, add)
                                           : out.inputs[i]);
  }
  const ValueIds outputs = append_ops(*region, inputs, [&](const Op& op, const ValueIds& x) {
    return out.add_op(*op.def, op.params, x, region->types_of(op.results), op.source);
  });
  for (size_t i = 0; i < outputs.size(); ++i)
    out.outputs.push_back(widened(outputs[i], region->type(region->outputs[i]), rule, add));
  return std::make_shared<const Function>(std::move(out));
}

}  // namespace tessera::ir
