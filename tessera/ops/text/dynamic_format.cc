// The dynamic_* ops of StableHLO, whose shapes are operands: with results of static types, and
// operands that constants give, they are the ops without that word.
#include <algorithm>

#include "tessera/ir/module_builder.h"
#include "tessera/ops/core/convert.h"

namespace tessera::ops {
namespace {

using Values = std::vector<ValueId>;

constexpr int64_t kMaxElements = 1 << 10;  // of what is computed while a program is read
constexpr int kMaxDepth = 100;

// The value that ops without inputs give, by the naive evaluator.
std::optional<Literal> constant_value(const Function& f, ValueId value, int depth = 0) {
  const auto makes = [&](const Op& op) {
    return std::find(op.results.begin(), op.results.end(), value) != op.results.end();
  };
  const auto op = std::find_if(f.ops.begin(), f.ops.end(), makes);
  if (op == f.ops.end() || !op->def->evaluate || op->def->effect || depth > kMaxDepth ||
      f.type(value).elements() > kMaxElements)
    return std::nullopt;
  std::vector<Literal> operands;
  for (ValueId v : op->operands) {
    std::optional<Literal> literal = constant_value(f, v, depth + 1);
    if (!literal) return std::nullopt;
    operands.push_back(std::move(*literal));
  }
  const auto r = static_cast<size_t>(std::find(op->results.begin(), op->results.end(), value) -
                                     op->results.begin());
  return op->def->evaluate(operands, op->params)[r];
}

// The numbers of operand k, which is then no longer one.
TextAttr take_numbers(OpReader& reader, size_t k, std::string_view name) {
  const Type type = reader.type(reader.operands[k]);
  const auto value =
      is_integer(type.dtype)
          ? constant_value(static_cast<const Reader&>(reader).function(), reader.operands[k])
          : std::nullopt;
  if (!value)
    reader.error(
        fmt::format("expected {} to be integers that constants give, got {}; export the "
                    "program with concrete shapes",
                    name, type));
  return TextAttr::Tensor{convert_literal(*value, int64), type.shape};
}

// The op of that name, given what is left of this one.
Values as_static(OpReader& reader, std::string_view name, size_t operands,
                 std::initializer_list<std::string_view> numbers) {
  if (reader.operands.size() < operands + numbers.size())
    reader.error(fmt::format("expected {} operands, got {}", operands + numbers.size(),
                             reader.operands.size()));
  if (reader.result_types.size() != 1) reader.error("expected the type of the result");
  size_t k = operands;
  for (std::string_view number : numbers) {
    const TextAttr value = take_numbers(reader, k++, number);
    const auto& tensor = *value.get<TextAttr::Tensor>();
    if (tensor.shape.rank() != 1) {
      reader.text.attributes.emplace_back(std::string(number), value);
      continue;
    }
    TextAttr::Array array;
    const bool splat = tensor.value.shape().empty();
    for (int64_t i = 0; i < tensor.shape.elements(); ++i)
      array.values.push_back(tensor.value.data<int64_t>()[splat ? 0 : i]);
    reader.text.attributes.emplace_back(std::string(number), std::move(array));
  }
  reader.operands.resize(operands);
  const OpDef* def = find_op("stablehlo", name);
  TESSERA_CHECK(def, "no op is called {}", name);
  OpParams params = def->format.read ? def->format.read(*def, reader) : reader.read_fields(*def);
  return reader.insert(*def, std::move(params), reader.operands);
}

Values broadcast_in_dim(OpReader& reader) {
  for (const char* hint : {"known_expanding_dimensions", "known_nonexpanding_dimensions"})
    reader.text.take(hint);
  return as_static(reader, "broadcast_in_dim", 1, {});
}
Values iota(OpReader& reader) { return as_static(reader, "iota", 0, {}); }
Values reshape(OpReader& reader) { return as_static(reader, "reshape", 1, {}); }
Values pad(OpReader& reader) {
  return as_static(reader, "pad", 2, {"edge_padding_low", "edge_padding_high", "interior_padding"});
}
Values slice(OpReader& reader) {
  return as_static(reader, "slice", 1, {"start_indices", "limit_indices", "strides"});
}
Values gather(OpReader& reader) { return as_static(reader, "gather", 2, {"slice_sizes"}); }
Values convolution(OpReader& reader) { return as_static(reader, "convolution", 2, {"padding"}); }

ForeignOp dynamic(std::string_view name, std::string_view assembly,
                  Values (*build)(OpReader& reader)) {
  return {.dialect = "stablehlo",
          .name = name,
          .assembly = assembly,
          .build = build,
          .narrow = name != "dynamic_conv" && name != "dynamic_iota"};
}

[[maybe_unused]] const bool registered[] = {
    register_foreign_op(dynamic("dynamic_broadcast_in_dim",
                                "{operands}, dims = {broadcast_dimensions}", broadcast_in_dim)),
    register_foreign_op(dynamic("dynamic_iota", "{operands}, dim = {iota_dimension}", iota)),
    register_foreign_op(dynamic("dynamic_reshape", "{operands}", reshape)),
    register_foreign_op(dynamic("dynamic_pad", "{operands}", pad)),
    register_foreign_op(dynamic("real_dynamic_slice", "{operands}", slice)),
    register_foreign_op(dynamic("dynamic_gather", "{operands}", gather)),
    register_foreign_op(dynamic("dynamic_conv", "{operands}", convolution)),
};

}  // namespace
}  // namespace tessera::ops
