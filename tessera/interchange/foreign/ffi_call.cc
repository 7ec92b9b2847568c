// Reads a custom call whose target is a registered native function: it becomes an ffi_call
// (ops/control/ffi_call.h), and the attributes of the custom call become those of the ffi_call.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "tessera/interchange/foreign/foreign.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/control/ffi_target.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::interchange::foreign {
namespace {

using lax::FfiAttribute;
using lax::FfiAttributes;

Literal integer_literal(int64_t value, DType dtype) {
  return convert_literal(
      is_unsigned(dtype) ? Literal::scalar(static_cast<uint64_t>(value)) : Literal::scalar(value),
      dtype);
}

FfiAttributes attributes_of(const TextAttr::Entries& entries, OpReader& reader);

FfiAttribute attribute_of(const std::string& name, const TextAttr& attribute, OpReader& reader) {
  if (const auto* flag = attribute.get<bool>()) return Literal::scalar(*flag);
  if (const auto* number = attribute.get<TextAttr::Integer>())
    return integer_literal(number->value, integer_dtype(*number));
  if (const auto* number = attribute.get<TextAttr::Float>())
    return convert_literal(Literal::scalar(number->value), number->dtype);
  if (const auto* text = attribute.get<std::string>()) return *text;
  if (const auto* tensor = attribute.get<TextAttr::Tensor>()) {
    // One value may be a splat.
    const Literal& value = tensor->value;
    if (value.elements() == tensor->shape.elements())
      return value.reshaped(Shape{value.elements()});
    Literal out(value.dtype(), Shape{tensor->shape.elements()});
    const auto item = static_cast<size_t>(itemsize(value.dtype()));
    for (int64_t e = 0; e < out.elements(); ++e)
      std::memcpy(out.mutable_raw() + static_cast<size_t>(e) * item, value.raw(), item);
    return out;
  }
  if (const auto* array = attribute.get<TextAttr::Array>())
    return convert_literal(
        Literal::from<int64_t>(array->values, Shape{static_cast<int64_t>(array->values.size())}),
        array->dtype);
  const auto* record = attribute.get<TextAttr::Record>();
  if (!record || !record->name.empty())
    reader.error(fmt::format(
        "expected the attribute '{}' to be a number, an array of numbers, a string or a "
        "dictionary, got another kind; pass it as one of these",
        name));
  return attributes_of(record->entries, reader);
}

FfiAttributes attributes_of(const TextAttr::Entries& entries, OpReader& reader) {
  FfiAttributes out;
  for (const auto& [name, value] : entries) out.emplace(name, attribute_of(name, value, reader));
  return out;
}

// JAX writes the attributes as mhlo.backend_config, with an empty backend_config.
FfiAttributes take_attributes(OpReader& reader) {
  FfiAttributes out;
  for (const char* name : {"mhlo.backend_config", "backend_config"}) {
    const TextAttr* config = reader.text.take(name);
    if (!config) continue;
    if (const auto* record = config->get<TextAttr::Record>()) {
      if (out.empty()) out = attributes_of(record->entries, reader);
    } else if (const auto* text = config->get<std::string>(); !text || !text->empty()) {
      reader.error(
          "expected attributes as a dictionary, got an opaque backend_config; call a handler of "
          "custom_call_api_version 4");
    }
  }
  return out;
}

bool take_flag(OpReader& reader, std::string_view name) {
  const TextAttr* value = reader.text.take(name);
  const bool* flag = value ? value->get<bool>() : nullptr;
  return flag && *flag;
}

std::vector<int64_t> integers_in(const TextAttr& attribute) {
  if (const auto* array = attribute.get<TextAttr::Array>()) return array->values;
  if (const auto* tensor = attribute.get<TextAttr::Tensor>()) {
    const Literal wide = convert_literal(tensor->value, int64);
    std::vector<int64_t> out(static_cast<size_t>(tensor->shape.elements()));
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = wide.data<int64_t>()[wide.elements() == 1 ? 0 : i];
    return out;
  }
  return {};
}

// Reads output_operand_aliases. The tuple indices are empty if there is one result.
std::vector<Dims> take_aliases(OpReader& reader) {
  std::vector<Dims> out;
  const TextAttr* aliases = reader.text.take("output_operand_aliases");
  const auto* list = aliases ? aliases->get<TextAttr::List>() : nullptr;
  if (!list) return out;
  for (const TextAttr& item : list->items) {
    const auto* record = item.get<TextAttr::Record>();
    int64_t operand = -1, result = 0;
    for (const auto& [key, value] : record ? record->entries : TextAttr::Entries()) {
      if (const auto* number = value.get<TextAttr::Integer>(); number && key == "operand_index")
        operand = number->value;
      const std::vector<int64_t> indices = integers_in(value);
      if (key == "output_tuple_indices" && !indices.empty()) result = indices[0];
    }
    if (operand < 0) reader.error("expected output_operand_aliases with an operand_index");
    out.push_back({operand, result});
  }
  return out;
}

// Returns the order of dimensions in memory of each array, from major to minor, or nothing if the
// attribute is missing. XLA counts from minor to major.
std::vector<Dims> take_layouts(OpReader& reader, const char* name, std::span<const Type> types) {
  const TextAttr* layouts = reader.text.take(name);
  const auto* list = layouts ? layouts->get<TextAttr::List>() : nullptr;
  std::vector<Dims> out;
  if (!list || list->items.empty()) return out;
  if (list->items.size() != types.size())
    reader.error(
        fmt::format("expected {} with {} entries, got {}", name, types.size(), list->items.size()));
  for (size_t i = 0; i < types.size(); ++i) {
    std::vector<int64_t> order = integers_in(list->items[i]);
    std::reverse(order.begin(), order.end());
    // The layout of a token, and the one that JAX writes for an array without dimensions, is
    // ignored.
    if (types[i].shape.rank() == 0) order.clear();
    std::vector<int64_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    bool valid = static_cast<int64_t>(order.size()) == types[i].shape.rank();
    for (size_t d = 0; valid && d < sorted.size(); ++d)
      valid = sorted[d] == static_cast<int64_t>(d);
    if (!valid && types[i].shape == Shape{0}) {
      order = {0};
    } else if (!valid) {
      reader.error(fmt::format("expected {} to order the {} dimensions of array {}, got {}", name,
                               types[i].shape.rank(), i, fmt::join(order, ", ")));
    }
    out.emplace_back(order.begin(), order.end());
  }
  return out;
}

bool in_row_major_order(const Dims& order) {
  for (size_t d = 0; d < order.size(); ++d)
    if (order[d] != static_cast<int64_t>(d)) return false;
  return true;
}

Dims identity(int64_t rank) {
  Dims out;
  for (int64_t d = 0; d < rank; ++d) out.push_back(d);
  return out;
}

Dims inverse(const Dims& order) {
  Dims out = order;
  for (size_t d = 0; d < order.size(); ++d) out[order[d]] = static_cast<int64_t>(d);
  return out;
}

// If a layout is transposed, sets p.orders and gives operands and result types the shapes in
// memory. Returns the orders of the results.
std::vector<Dims> apply_layouts(OpReader& reader, Values& operands, std::vector<Type>& results,
                                ops::FfiCallParams& p) {
  std::vector<Type> types;
  for (ValueId v : operands) types.push_back(reader.type(v));
  std::vector<Dims> in = take_layouts(reader, "operand_layouts", types);
  std::vector<Dims> out = take_layouts(reader, "result_layouts", results);
  const auto is_plain = [](const std::vector<Dims>& orders) {
    return std::all_of(orders.begin(), orders.end(), in_row_major_order);
  };
  if (is_plain(in) && is_plain(out)) return {};
  if (in.empty())
    for (const Type& type : types) in.push_back(identity(type.shape.rank()));
  if (out.empty())
    for (const Type& type : results) out.push_back(identity(type.shape.rank()));
  for (size_t k = 0; k < operands.size(); ++k)
    if (!in_row_major_order(in[k]))
      operands[k] =
          reader.insert(transpose_op, TransposeParams{in[k]}, std::span(&operands[k], 1))[0];
  for (size_t r = 0; r < results.size(); ++r) {
    const Shape shape = results[r].shape;
    for (size_t d = 0; d < out[r].size(); ++d)
      results[r].shape[static_cast<int64_t>(d)] = shape[out[r][d]];
  }
  p.orders = in;
  p.orders.insert(p.orders.end(), out.begin(), out.end());
  return out;
}

}  // namespace

Values ffi_call(OpReader& reader) {
  ops::FfiCallParams p;
  p.target = *reader.require("call_target_name").get<std::string>();
  reader.text.take("api_version");
  if (const TextAttr* called = reader.text.take("called_computations"))
    if (const auto* list = called->get<TextAttr::List>(); list && !list->items.empty())
      reader.error("expected a call without called_computations; call a handler without these");
  const bool effect = take_flag(reader, "has_side_effect");
  p.attributes = ops::encode(take_attributes(reader));
  p.aliases = take_aliases(reader);
  Values operands = reader.operands;
  std::vector<Type> results = reader.result_types;
  const std::vector<Dims> orders = apply_layouts(reader, operands, results, p);
  p.without_results = results.empty();
  if (results.empty()) results.push_back({.dtype = bool_, .shape = {0}});
  for (const Type& type : results) {
    p.dtypes.emplace_back(mlir_name(type.dtype));
    p.shapes.push_back(type.shape);
  }
  Values out = reader.insert(effect ? ops::ffi_effect_op : ops::ffi_call_op, p, operands);
  for (size_t r = 0; r < orders.size(); ++r)
    if (!in_row_major_order(orders[r]))
      out[r] = reader.insert(transpose_op, TransposeParams{inverse(orders[r])},
                             std::span(&out[r], 1))[0];
  if (p.without_results) out.clear();
  return out;
}

}  // namespace tessera::interchange::foreign
