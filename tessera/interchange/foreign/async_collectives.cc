// Collectives that start and finish separately, as JAX 0.12 writes them: a custom call that starts,
// with the collective's attributes as JSON in its frontend attribute async_collective_config, and a
// custom call that waits for the result.
//
//   %1 = stablehlo.custom_call @"all-gather-start"(%0) {mhlo.frontend_attributes =
//       {async_collective_config = "{\"all_gather_dimension\": 0, \"replica_groups\": [[0, 1]],
//       \"use_global_device_ids\": true, \"channel_id\": 1}"}}
//   %2 = stablehlo.custom_call @"all-gather-done"(%1)
//
// Each start becomes the collective itself, and its result is used as the future.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tessera/interchange/foreign/foreign.h"
#include "tessera/interchange/op_table.h"
#include "tessera/ops/collectives/collectives.h"

namespace tessera::interchange::foreign {
namespace async_config {
using Json = nlohmann::json;

constexpr std::string_view kName = "async_collective_config";
// Returns the config, a JSON object.
Json read(OpReader& reader) {
  const TextAttr* attributes = reader.text.take("mhlo.frontend_attributes");
  const auto* record = attributes ? attributes->get<TextAttr::Record>() : nullptr;
  const std::string* text = nullptr;
  if (record)
    for (const auto& [name, value] : record->entries)
      if (name == kName) text = value.get<std::string>();
  if (!text)
    reader.error(
        fmt::format("expected the string {} among mhlo.frontend_attributes, got none", kName));
  Json config = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object())
    reader.error(fmt::format("expected {} to be an object of JSON, got '{}'", kName, *text));
  return config;
}

// Returns the name of an entry of the config among the attributes of StableHLO's collectives.
std::string attribute_name(const std::string& name) {
  if (name == "all_gather_dimension") return "all_gather_dim";
  if (name == "channel_id") return "channel_handle";
  if (name == "permutation") return "source_target_pairs";
  return name;
}

// Returns lists of devices as the rows of a matrix, in which short ones are filled with -1.
std::optional<TextAttr> matrix(const Json& rows) {
  size_t width = 0;
  for (const Json& row : rows) {
    if (!row.is_array()) return std::nullopt;
    for (const Json& device : row)
      if (!device.is_number_integer()) return std::nullopt;
    width = std::max(width, row.size());
  }
  // A permutation without pairs has two columns, too.
  const Shape shape{static_cast<int64_t>(rows.size()), static_cast<int64_t>(width ? width : 2)};
  Literal out(int64, shape);
  int64_t* to = out.mutable_data<int64_t>();
  for (const Json& row : rows)
    for (size_t i = 0; i < static_cast<size_t>(shape[1]); ++i)
      *to++ = i < row.size() ? row[i].get<int64_t>() : -1;
  return TextAttr::Tensor{std::move(out), shape};
}

// Replaces the op's attributes by those in its config.
void unpack(OpReader& reader) {
  const Json config = read(reader);
  ignore_call_attributes(reader);
  for (const auto& [key, value] : config.items()) {
    // Without tiles the dimension would have one element for each device, which JAX removes itself.
    if (key == "tiled" && value.is_boolean() && value.get<bool>()) continue;
    if (key == "use_global_device_ids" && value.is_boolean()) continue;
    std::optional<TextAttr> attribute;
    if (value.is_number_integer()) attribute = TextAttr::Integer{value.get<int64_t>()};
    if (value.is_array()) attribute = matrix(value);
    if (!attribute)
      reader.error(fmt::format("expected numbers and lists of devices in {}, got '{}' = {}", kName,
                               key, value.dump()));
    reader.text.attributes.emplace_back(attribute_name(key), std::move(*attribute));
  }
}

// Adds the collective that an op starts, with the op's operand.
Values start(OpReader& reader, const OpDef& def) {
  expect_count(reader, 1);
  unpack(reader);
  OpParams params = read_params(def, reader);
  return reader.insert(def, std::move(params), reader.operands);
}

// Adds the collective that starts a reduction. The called computation determines how it combines.
Values start_reduction(OpReader& reader, const OpDef& def) {
  const auto* called = reader.require("called_computations").get<TextAttr::List>();
  const auto* body =
      called && called->items.size() == 1 ? called->items[0].get<FunctionRef>() : nullptr;
  if (!body) reader.error("expected one called computation, which combines two values");
  reader.text.regions = {*body};
  return start(reader, def);
}

}  // namespace async_config

Values all_gather_start(OpReader& reader) { return async_config::start(reader, all_gather_op); }
Values all_to_all_start(OpReader& reader) { return async_config::start(reader, all_to_all_op); }
Values collective_permute_start(OpReader& reader) {
  return async_config::start(reader, collective_permute_op);
}
Values all_reduce_start(OpReader& reader) {
  return async_config::start_reduction(reader, all_reduce_op);
}
Values reduce_scatter_start(OpReader& reader) {
  return async_config::start_reduction(reader, reduce_scatter_op);
}

Values collective_done(OpReader& reader) {
  expect_count(reader, 1);
  ignore_call_attributes(reader);
  return reader.operands;
}

}  // namespace tessera::interchange::foreign
