#include "tessera/interchange/formats/formats.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/indexing/scatter.h"

namespace tessera::interchange::formats {
namespace {

TextAttr record(const char* name, std::initializer_list<std::pair<const char*, Dims>> lists,
                int64_t index_vector_dim) {
  TextAttr::Entries entries;
  for (const auto& [key, dims] : lists)
    if (!dims.empty()) entries.emplace_back(key, TextAttr::Array{{dims.begin(), dims.end()}});
  if (index_vector_dim != 0)
    entries.emplace_back("index_vector_dim", TextAttr::Integer{index_vector_dim});
  return TextAttr::Record{name, std::move(entries)};
}

const TextAttr::Entries& read_record(OpReader& reader, const char* attribute, const char* name) {
  const auto* numbers = reader.require(attribute).get<TextAttr::Record>();
  if (!numbers || numbers->name != name)
    reader.error(fmt::format("expected {} = #{}<...>", attribute, name));
  return numbers->entries;
}

Dims dims_of(const TextAttr::Entries& entries, std::string_view key, const OpReader& reader) {
  for (const auto& [name, value] : entries) {
    if (name != key) continue;
    if (const auto* array = value.get<TextAttr::Array>())
      return Dims(array->values.begin(), array->values.end());
    reader.error(fmt::format("expected {} to be a list of dimensions", key));
  }
  return {};
}
int64_t int_of(const TextAttr::Entries& entries, std::string_view key, const OpReader& reader) {
  for (const auto& [name, value] : entries) {
    if (name != key) continue;
    if (const auto* integer = value.get<TextAttr::Integer>()) return integer->value;
    reader.error(fmt::format("expected {} to be a number", key));
  }
  return 0;
}
bool flag(OpReader& reader, std::string_view name) {
  const TextAttr* attribute = reader.text.take(name);
  if (!attribute) return false;
  const bool* value = attribute->get<bool>();
  if (!value) reader.error(fmt::format("expected {} to be true or false", name));
  return *value;
}

OpText write_gather(const Op& op, const Function&) {
  const GatherParams& p = op.params.as<GatherParams>();
  OpText text;
  text.attributes = {
      {"dimension_numbers", record("stablehlo.gather",
                                   {{"offset_dims", p.offset_dims},
                                    {"collapsed_slice_dims", p.collapsed_slice_dims},
                                    {"operand_batching_dims", p.operand_batching_dims},
                                    {"start_indices_batching_dims", p.start_indices_batching_dims},
                                    {"start_index_map", p.start_index_map}},
                                   p.index_vector_dim)},
      {"indices_are_sorted", p.indices_are_sorted},
      {"slice_sizes", TextAttr::Array{{p.slice_sizes.begin(), p.slice_sizes.end()}}}};
  return text;
}

OpParams read_gather(const OpDef&, OpReader& reader) {
  const TextAttr::Entries entries = read_record(reader, "dimension_numbers", "stablehlo.gather");
  auto dims = [&](std::string_view key) { return dims_of(entries, key, reader); };
  return GatherParams{dims("offset_dims"),
                      dims("collapsed_slice_dims"),
                      dims("operand_batching_dims"),
                      dims("start_indices_batching_dims"),
                      dims("start_index_map"),
                      int_of(entries, "index_vector_dim", reader),
                      reader.require_dims("slice_sizes"),
                      flag(reader, "indices_are_sorted")};
}

OpText write_scatter(const Op& op, const Function& function) {
  const ScatterParams& p = op.params.as<ScatterParams>();
  OpText text;
  text.attributes = {{"indices_are_sorted", p.indices_are_sorted},
                     {"scatter_dimension_numbers",
                      record("stablehlo.scatter",
                             {{"update_window_dims", p.update_window_dims},
                              {"inserted_window_dims", p.inserted_window_dims},
                              {"input_batching_dims", p.input_batching_dims},
                              {"scatter_indices_batching_dims", p.scatter_indices_batching_dims},
                              {"scatter_dims_to_operand_dims", p.scatter_dims_to_operand_dims}},
                             p.index_vector_dim)},
                     {"unique_indices", p.unique_indices}};
  text.regions = {p.kind == ScatterKind::kCustom
                      ? p.body
                      : scatter_body(p.kind, function.type(op.operands[0]).dtype)};
  return text;
}

OpParams read_scatter(const OpDef&, OpReader& reader) {
  if (reader.text.regions.size() != 1)
    reader.error(fmt::format("expected one region, got {}", reader.text.regions.size()));
  const size_t arrays = scatter_arrays(reader.operands.size());
  if (arrays == 0 || reader.operands.size() != 2 * arrays + 1)
    reader.error(
        fmt::format("expected arrays, their start indices and as many updates, got {} operands",
                    reader.operands.size()));
  const TextAttr::Entries entries =
      read_record(reader, "scatter_dimension_numbers", "stablehlo.scatter");
  auto dims = [&](std::string_view key) { return dims_of(entries, key, reader); };
  const FunctionRef body = plain_body(reader.text.regions[0]);
  ScatterParams p{dims("update_window_dims"),
                  dims("inserted_window_dims"),
                  dims("input_batching_dims"),
                  dims("scatter_indices_batching_dims"),
                  dims("scatter_dims_to_operand_dims"),
                  int_of(entries, "index_vector_dim", reader),
                  arrays == 1 ? classify_scatter_body(*body) : ScatterKind::kCustom};
  if (p.kind == ScatterKind::kCustom) p.body = body;
  p.indices_are_sorted = flag(reader, "indices_are_sorted");
  p.unique_indices = flag(reader, "unique_indices");
  return p;
}

}  // namespace

OpFormat gather() { return {.write = write_gather, .read = read_gather}; }
OpFormat scatter() { return {.write = write_scatter, .read = read_scatter}; }

}  // namespace tessera::interchange::formats
