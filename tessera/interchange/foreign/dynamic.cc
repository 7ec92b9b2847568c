// StableHLO's dynamic_* ops, whose shapes are operands. If their result types are static and these
// operands are known constants, they become the ops without `dynamic_`.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "tessera/interchange/foreign/foreign.h"
#include "tessera/interchange/module_builder.h"
#include "tessera/interchange/op_table.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/reductions/reduce_window.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::interchange::foreign {
namespace {

const Function& function_of(const OpReader& reader) {
  return static_cast<const Reader&>(reader).function();
}

// Returns the values of operand k and removes it from the operands.
TextAttr take_numbers(OpReader& reader, size_t k, std::string_view name) {
  const Type type = reader.type(reader.operands[k]);
  const auto value = is_integer(type.dtype)
                         ? constant_value(function_of(reader), reader.operands[k])
                         : std::nullopt;
  if (!value)
    reader.error(
        fmt::format("expected {} to be integers that constants give, got {}; export the "
                    "program with concrete shapes",
                    name, type));
  return TextAttr::Tensor{convert_literal(*value, int64), type.shape};
}

// If the only result has an open shape, gives it the values of operand k as its shape.
void refine_result(OpReader& reader, size_t k) {
  if (reader.result_types.size() != 1 || !is_open(reader.result_types[0]) ||
      k >= reader.operands.size())
    return;
  Type& result = reader.result_types[0];
  const std::optional<Dims> shape = constant_dims(function_of(reader), reader.operands[k]);
  if (!shape || shape->rank() != result.rank() || !is_readable(Shape(*shape)))
    reader.error(
        fmt::format("expected constants to give the shape of the result, {}, got {}; "
                    "export the program with concrete shapes",
                    result, shape ? fmt::format("{}", *shape) : "values that vary"));
  result = refined(result, *shape);
}

// Makes the static op of that name. The operands behind the first `operands` ones become the
// attributes `numbers`.
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
  return reader.insert(*def, read_params(*def, reader), reader.operands);
}

// Returns whether both values are computed by the same ops from the same values. The search is
// bounded.
bool same_value(const Function& f, ValueId a, ValueId b, int depth = 8) {
  if (a == b) return true;
  const auto maker = [&](ValueId v) {
    return std::find_if(f.ops.rbegin(), f.ops.rend(), [&](const Op& op) {
      return std::find(op.results.begin(), op.results.end(), v) != op.results.end();
    });
  };
  const auto x = maker(a), y = maker(b);
  if (depth == 0 || x == f.ops.rend() || y == f.ops.rend() || x->def != y->def || x->def->effect ||
      !(x->params == y->params) || x->operands.size() != y->operands.size() ||
      x->results.size() != 1 || y->results.size() != 1)
    return false;
  for (size_t k = 0; k < x->operands.size(); ++k)
    if (!same_value(f, x->operands[k], y->operands[k], depth - 1)) return false;
  return true;
}

// Handles starts that are known only at run time, with limits that are the starts plus constants.
// JAX writes this for a dynamic_slice of computed sizes. The starts are in bounds already.
std::optional<Values> dynamic_slice(OpReader& reader) {
  const Function& f = function_of(reader);
  if (reader.operands.size() != 4 || constant_dims(f, reader.operands[1])) return std::nullopt;
  const ValueId start = reader.operands[1], limit = reader.operands[2];
  const auto sum = std::find_if(f.ops.begin(), f.ops.end(), [&](const Op& op) {
    return op.def->name == "add" && op.results[0] == limit;
  });
  if (sum == f.ops.end()) return std::nullopt;
  const bool first = same_value(f, sum->operands[0], start);
  if (!first && !same_value(f, sum->operands[1], start)) return std::nullopt;
  const std::optional<Dims> strides = constant_dims(f, reader.operands[3]);
  if (!strides ||
      std::any_of(strides->begin(), strides->end(), [](int64_t stride) { return stride != 1; }))
    return std::nullopt;
  const std::optional<Dims> sizes = constant_dims(f, sum->operands[first ? 1 : 0]);
  if (!sizes) return std::nullopt;
  Values operands = {reader.operands[0]};
  for (int64_t d = 0; d < sizes->rank(); ++d) {
    const ValueId one =
        reader.insert(slice_op, SliceParams{{d}, {d + 1}, {1}}, std::span(&start, 1))[0];
    operands.push_back(reader.insert(reshape_op, ReshapeParams{{}}, std::span(&one, 1))[0]);
  }
  return reader.insert(dynamic_slice_op, DynamicSliceParams{*sizes}, operands);
}
}  // namespace

Values dynamic_broadcast_in_dim(OpReader& reader) {
  for (const char* hint : {"known_expanding_dimensions", "known_nonexpanding_dimensions"})
    reader.text.take(hint);
  refine_result(reader, 1);
  return as_static(reader, "broadcast_in_dim", 1, {});
}
Values dynamic_iota(OpReader& reader) {
  refine_result(reader, 0);
  return as_static(reader, "iota", 0, {});
}
Values dynamic_reshape(OpReader& reader) {
  refine_result(reader, 1);
  return as_static(reader, "reshape", 1, {});
}
Values dynamic_pad(OpReader& reader) {
  return as_static(reader, "pad", 2, {"edge_padding_low", "edge_padding_high", "interior_padding"});
}
Values real_dynamic_slice(OpReader& reader) {
  if (std::optional<Values> results = dynamic_slice(reader)) return *results;
  return as_static(reader, "slice", 1, {"start_indices", "limit_indices", "strides"});
}
Values dynamic_gather(OpReader& reader) { return as_static(reader, "gather", 2, {"slice_sizes"}); }
Values dynamic_conv(OpReader& reader) { return as_static(reader, "convolution", 2, {"padding"}); }

// A check of the arguments' shapes that jax.export adds. Its condition is known once the shapes
// are.
Values shape_assertion(OpReader& reader) {
  for (const char* about : {"has_side_effect", "api_version", "backend_config"})
    reader.text.take(about);
  const auto* message = reader.require("error_message").get<std::string>();
  const Function& f = function_of(reader);
  const std::optional<Literal> holds =
      reader.operands.empty() ? std::nullopt : constant_value(f, reader.operands[0]);
  if (!message || !holds || holds->dtype() != bool_ || holds->elements() != 1)
    reader.error("expected a condition on shapes that are known, and a message");
  std::string text = *message;
  for (size_t k = 1; k < reader.operands.size(); ++k) {
    const std::optional<Dims> value = constant_dims(f, reader.operands[k]);
    const std::string hole = fmt::format("{{{}}}", k - 1);
    if (const size_t at = text.find(hole); at != std::string::npos && value)
      text.replace(at, hole.size(), fmt::format("{}", fmt::join(*value, ", ")));
  }
  if (!holds->data<bool>()[0]) reader.error(text);
  return {};
}

// The operands are arrays, initial values, sizes, strides, dilations and padding. The body is a
// called function.
Values dynamic_reduce_window(OpReader& reader) {
  constexpr std::array<std::string_view, 5> kNumbers = {
      "window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding"};
  for (const char* about : {"has_side_effect", "api_version", "backend_config"})
    reader.text.take(about);
  const auto* called = reader.require("called_computations").get<TextAttr::List>();
  const auto* body =
      called && called->items.size() == 1 ? called->items[0].get<FunctionRef>() : nullptr;
  if (!body || reader.operands.size() < 2 + kNumbers.size() || reader.operands.size() % 2 == 0)
    reader.error("expected operands, initial values, five shapes and one called computation");
  reader.text.regions = {*body};
  const size_t operands = reader.operands.size() - kNumbers.size();
  for (size_t k = 0; k < kNumbers.size(); ++k) {
    const std::string name(kNumbers[k]);
    const TextAttr numbers = take_numbers(reader, operands + k, name);
    const auto& tensor = *numbers.get<TextAttr::Tensor>();
    reader.text.attributes.emplace_back(
        name,
        tensor.shape.rank() == 1
            ? TextAttr(TextAttr::Array{{tensor.value.data<int64_t>(),
                                        tensor.value.data<int64_t>() + tensor.value.elements()}})
            : numbers);
  }
  reader.operands.resize(operands);
  return reader.insert(reduce_window_op, read_params(reduce_window_op, reader), reader.operands);
}

// The second operand is the shape of the second result.
Values dynamic_rng_bit_generator(OpReader& reader) {
  for (const char* about : {"has_side_effect", "api_version", "backend_config"})
    reader.text.take(about);
  const std::optional<Dims> shape = reader.operands.size() == 2 && reader.result_types.size() == 2
                                        ? constant_dims(function_of(reader), reader.operands[1])
                                        : std::nullopt;
  if (!shape || shape->rank() != reader.result_types[1].rank() || !is_readable(Shape(*shape)))
    reader.error("expected a state, and the shape of the bits as constants give it");
  reader.result_types[1] = refined(reader.result_types[1], *shape);
  reader.operands.resize(1);
  return rng_bit_generator(reader);
}

// The arguments are those of chlo.top_k, except that k is an operand.
Values dynamic_top_k(OpReader& reader) {
  const std::optional<Dims> k = reader.operands.size() == 2
                                    ? constant_dims(function_of(reader), reader.operands[1])
                                    : std::nullopt;
  if (!k || k->rank() != 1) reader.error("expected an array, and k as constants give it");
  reader.operands.resize(1);
  for (const char* about : {"has_side_effect", "api_version", "backend_config"})
    reader.text.take(about);
  reader.text.attributes.emplace_back("k", TextAttr::Integer{(*k)[0]});
  return top_k(reader);
}

}  // namespace tessera::interchange::foreign
