#include "tessera/interchange/formats/formats.h"

#include "tessera/control/control.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/linear/dot_general.h"

namespace tessera::interchange::formats {
namespace {

OpText write_compare(const Op& op, const Function&) {
  const std::vector<Attribute> fields = op.params.fields();
  OpText text;
  text.attributes = {
      {"comparison_direction",
       TextAttr::Keyword{"comparison_direction", std::get<std::string>(fields[0])}},
      {"compare_type", TextAttr::Keyword{"comparison_type", std::get<std::string>(fields[1])}}};
  return text;
}

OpParams read_compare(const OpDef& def, OpReader& reader) {
  std::vector<Attribute> fields = def.params.fields();
  fields[0] =
      from_text(reader.require("comparison_direction"), fields[0], "comparison_direction", reader);
  if (reader.operands.empty()) reader.error("expected two operands, got none");
  const CompareType default_type = default_compare_type(reader.type(reader.operands[0]).dtype);
  fields[1] = std::string(enum_names(default_type)[static_cast<size_t>(default_type)]);
  if (const TextAttr* type = reader.text.take("compare_type")) {
    const auto name = std::get<std::string>(from_text(*type, fields[1], "compare_type", reader));
    if (name != "NOTYPE") fields[1] = name;
  }
  return def.params.with_fields(fields);
}

OpText write_constant(const Op& op, const Function&) {
  const ConstantParams& p = op.params.as<ConstantParams>();
  OpText text;
  text.attributes = {{"value", TextAttr::Tensor{p.value, p.shape}}};
  return text;
}

OpParams read_constant(const OpDef&, OpReader& reader) {
  const auto* tensor = reader.require("value").get<TextAttr::Tensor>();
  if (!tensor) reader.error("expected a dense value, as dense<1.0> : tensor<4xf32>");
  ConstantParams p{tensor->value, tensor->shape};
  if (const TextAttr* weak = reader.text.find("tessera.weak"))
    if (const auto* list = weak->get<TextAttr::List>(); list && list->items.size() == 1)
      if (const bool* value = list->items[0].get<bool>()) p.weak = *value;
  return p;
}

OpText write_dot(const Op& op, const Function&) {
  const DotParams& p = op.params.as<DotParams>();
  OpText text;
  auto add = [&](const char* name, const Dims& dims) {
    text.attributes.emplace_back(name, to_text(Attribute(dims), nullptr));
  };
  if (!p.lhs_batch.empty()) {
    add("lhs_batching_dimensions", p.lhs_batch);
    add("rhs_batching_dimensions", p.rhs_batch);
  }
  add("lhs_contracting_dimensions", p.lhs_contract);
  add("rhs_contracting_dimensions", p.rhs_contract);
  // This attribute is Tessera's own: StableHLO does not define the order of sums.
  if (p.sum != DotSum::kAny)
    text.extra.emplace_back("tessera.sum",
                            TextAttr(std::string(enum_names(p.sum)[static_cast<size_t>(p.sum)])));
  if (p.lhs_examples >= 0 || p.rhs_examples >= 0)
    text.extra.emplace_back("tessera.examples",
                            to_text(Attribute(Dims{p.lhs_examples, p.rhs_examples}), nullptr));
  return text;
}

// Converts a dot of bools, whose result is whether any pair is true, to one of integers, which
// counts such pairs: the result is whether their number is not 0. Returns false for other operands.
bool count_pairs(OpReader& reader) {
  const auto is_bool = [&](ValueId v) { return reader.type(v).dtype == bool_; };
  if (!is_bool(reader.operands[0]) || !is_bool(reader.operands[1]) || reader.result_types.empty())
    return false;
  DType& result = reader.result_types[0].dtype;
  if (result == bool_) result = int32;
  for (ValueId& v : reader.operands)
    v = reader.insert(convert_op, ConvertParams{result}, std::span(&v, 1))[0];
  return true;
}

// Converts operands of different float dtypes, as JAX writes them, to a dtype that holds both, and
// integers whose product is a float (JAX's preferred_element_type) to the dtype of the product.
void convert_operands(OpReader& reader) {
  if (reader.operands.size() != 2 || count_pairs(reader)) return;
  const DType a = reader.type(reader.operands[0]).dtype, b = reader.type(reader.operands[1]).dtype;
  const DType result = reader.result_types[0].dtype;
  if (is_integer(a) && is_integer(b) && is_floating(result))
    for (ValueId& v : reader.operands)
      v = reader.insert(convert_op, ConvertParams{result}, std::span(&v, 1))[0];
  if (a == b || !is_inexact(a) || !is_inexact(b) || is_complex(a) || is_complex(b)) return;
  const DType both = itemsize(a) == itemsize(b) ? float32 : itemsize(a) > itemsize(b) ? a : b;
  for (ValueId& v : reader.operands)
    if (reader.type(v).dtype != both)
      v = reader.insert(convert_op, ConvertParams{both}, std::span(&v, 1))[0];
}

DotSum dot_sum(const TextAttr& text, OpReader& reader) {
  const auto names = enum_names(DotSum());
  const auto* name = text.get<std::string>();
  size_t i = 0;
  while (i < names.size() && !(name && *name == names[i])) ++i;
  if (i == names.size())
    reader.error("expected tessera.sum = \"any\", \"invariant\", \"examples\" or \"grid\"");
  return static_cast<DotSum>(i);
}

// Assembly lists the dimensions; the generic form has the record #stablehlo.dot<...>. Precision and
// algorithm are lower bounds: Tessera always multiplies and adds in the operands' precision or
// better.
OpParams read_dot(const OpDef&, OpReader& reader) {
  for (const char* hint : {"precision", "precision_config", "algorithm"}) reader.text.take(hint);
  if (const TextAttr* numbers = reader.text.take("dot_dimension_numbers")) {
    const auto* record = numbers->get<TextAttr::Record>();
    if (!record || record->name != "stablehlo.dot")
      reader.error("expected dot_dimension_numbers = #stablehlo.dot<...>");
    const TextAttr::Entries entries = record->entries;
    for (const auto& entry : entries) reader.text.attributes.push_back(entry);
  }
  auto dims = [&](const char* name) {
    return reader.text.find(name) ? reader.require_dims(name) : Dims();
  };
  if (reader.result_types.empty()) reader.error("expected the type of the result");
  convert_operands(reader);
  DotParams params{dims("lhs_batching_dimensions"), dims("rhs_batching_dimensions"),
                   dims("lhs_contracting_dimensions"), dims("rhs_contracting_dimensions"),
                   reader.result_types[0].dtype};
  if (const TextAttr* text = reader.text.take("tessera.sum")) params.sum = dot_sum(*text, reader);
  if (const Dims examples = dims("tessera.examples"); examples.size() == 2) {
    params.lhs_examples = examples[0];
    params.rhs_examples = examples[1];
  }
  return params;
}

OpText write_constraint(const Op& op, const Function& function) {
  OpText text;
  text.attributes = {
      {"sharding", TextAttr::Sharding{op.params.as<ShardingConstraintParams>().sharding,
                                      function.type(op.operands[0]).rank()}}};
  return text;
}

}  // namespace

OpFormat compare() {
  return {.assembly = "{comparison_direction}, {operands}<, {compare_type}>",
          .write = write_compare,
          .read = read_compare};
}

OpFormat constant() {
  return {.assembly = "{extra}{value}",
          .signature = OpFormat::Signature::kNone,
          .write = write_constant,
          .read = read_constant};
}

OpFormat dot_general() {
  return {.assembly =
              "{operands}<, batching_dims = {lhs_batching_dimensions} x {rhs_batching_dimensions}>"
              "<, contracting_dims = {lhs_contracting_dimensions} x {rhs_contracting_dimensions}>"
              "<, precision = {precision}><, algorithm = {algorithm}>",
          .write = write_dot,
          .read = read_dot};
}

OpFormat sharding_constraint() {
  return {.assembly = "{operands} {sharding}",
          .signature = OpFormat::Signature::kSame,
          .write = write_constraint};
}

}  // namespace tessera::interchange::formats
