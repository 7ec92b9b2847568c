#include "tessera/interchange/bytecode/vhlo.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "tessera/interchange/bytecode/blob.h"
#include "tessera/ir/format.h"

namespace tessera::interchange::bytecode {

bool is_empty(const TextAttr& value) {
  if (const auto* array = value.get<TextAttr::Array>()) return array->values.empty();
  if (const auto* list = value.get<TextAttr::List>()) return list->items.empty();
  if (const auto* record = value.get<TextAttr::Record>())
    return record->name.empty() && record->entries.empty();
  if (const auto* text = value.get<std::string>()) return text->empty();
  const bool* flag = value.get<bool>();
  return flag && !*flag;
}

bool is_algorithm(std::string_view name) {
  return name == "accumulation_type" || name == "allow_imprecise_accumulation" ||
         name == "lhs_component_count" || name == "lhs_precision_type" ||
         name == "num_primitive_operations" || name == "rhs_component_count" ||
         name == "rhs_precision_type";
}

namespace {

using Entries = TextAttr::Entries;

const TextAttr* find(const Entries& entries, std::string_view name) {
  for (const auto& [key, value] : entries)
    if (key == name) return &value;
  return nullptr;
}

std::optional<TextAttr> take_entry(Entries& entries, std::string_view name) {
  for (auto it = entries.begin(); it != entries.end(); ++it) {
    if (it->first != name) continue;
    std::optional<TextAttr> out = std::move(it->second);
    entries.erase(it);
    return out;
  }
  return std::nullopt;
}

void join(Entries& entries, const char* attribute, const char* record,
          std::initializer_list<const char*> fields) {
  TextAttr::Record out{record, {}};
  for (const char* field : fields)
    if (auto value = take_entry(entries, field)) out.entries.emplace_back(field, std::move(*value));
  entries.emplace_back(attribute, std::move(out));
}

bool join_convolution(Entries& entries) {
  bool found = true;
  const auto number = [&](const char* name) {
    const auto value = take_entry(entries, name);
    const auto* integer = value ? value->get<TextAttr::Integer>() : nullptr;
    found = found && integer;
    return integer ? integer->value : 0;
  };
  const auto dims = [&](const char* name) {
    const auto value = take_entry(entries, name);
    const auto* array = value ? value->get<TextAttr::Array>() : nullptr;
    found = found && array;
    return array ? Dims(array->values.begin(), array->values.end()) : Dims();
  };
  const ConvolutionNumbers n{.input_batch = number("input_batch_dimension"),
                             .input_feature = number("input_feature_dimension"),
                             .kernel_input = number("kernel_input_feature_dimension"),
                             .kernel_output = number("kernel_output_feature_dimension"),
                             .output_batch = number("output_batch_dimension"),
                             .output_feature = number("output_feature_dimension"),
                             .input_spatial = dims("input_spatial_dimensions"),
                             .kernel_spatial = dims("kernel_spatial_dimensions"),
                             .output_spatial = dims("output_spatial_dimensions")};
  std::string text = found ? convolution_numbers(n) : std::string();
  if (text.empty()) return false;
  entries.emplace_back("dimension_numbers",
                       TextAttr::Record{"stablehlo.conv", {{"text", std::move(text)}}});
  return true;
}

// Attributes that StableHLO leaves out if they are empty or false.
constexpr std::array<std::string_view, 16> kLeftOut = {"arg_attrs",
                                                       "backend_config",
                                                       "called_computations",
                                                       "composite_attributes",
                                                       "has_dynamic_root",
                                                       "has_side_effect",
                                                       "infeed_config",
                                                       "known_expanding_dimensions",
                                                       "known_nonexpanding_dimensions",
                                                       "layout",
                                                       "operand_layouts",
                                                       "output_operand_aliases",
                                                       "result_layouts",
                                                       "result_tilings",
                                                       "use_global_device_ids",
                                                       "res_attrs"};

bool is_default(std::string_view op, std::string_view name, const TextAttr& value) {
  if (std::find(kLeftOut.begin(), kLeftOut.end(), name) != kLeftOut.end()) return is_empty(value);
  const auto* number = value.get<TextAttr::Integer>();
  if (name == "api_version") return number && number->value == 1;
  if (op == "composite" && name == "version") return number && number->value == 0;
  const auto* word = value.get<TextAttr::Keyword>();
  return name == "compare_type" && word && word->name == "NOTYPE";
}

void name_symbols(Entries& entries, const std::function<TextAttr(const std::string&)>& symbol) {
  for (auto& [key, value] : entries) {
    if (key == "callee" || key == "decomposition") {
      if (const auto* name = value.get<std::string>()) value = symbol(std::string(*name));
    } else if (key == "called_computations") {
      auto* list = std::get_if<TextAttr::List>(&value.value);
      for (size_t i = 0; list && i < list->items.size(); ++i)
        if (const auto* name = list->items[i].get<std::string>())
          list->items[i] = symbol(std::string(*name));
    }
  }
}

}  // namespace

std::string from_vhlo(std::string_view op, TextAttr::Entries& entries,
                      const std::function<TextAttr(const std::string&)>& symbol) {
  // A list in StableHLO is a tensor in VHLO.
  if (op != "constant" && op != "custom_call" && op != "composite")
    for (auto& [key, value] : entries)
      if (const auto* tensor = value.get<TextAttr::Tensor>())
        if (const std::optional<Dims> dims = integers_of(*tensor))
          value = TextAttr::Array{{dims->begin(), dims->end()}};
  std::erase_if(entries, [&](const auto& entry) {
    return is_default(op, entry.first, entry.second) ||
           (op == "dot_general" && is_algorithm(entry.first));
  });
  name_symbols(entries, symbol);
  if (op == "gather" || op == "dynamic_gather") {
    join(entries, "dimension_numbers", "stablehlo.gather",
         {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
          "start_indices_batching_dims", "start_index_map", "index_vector_dim"});
  } else if (op == "scatter") {
    join(entries, "scatter_dimension_numbers", "stablehlo.scatter",
         {"update_window_dims", "inserted_window_dims", "input_batching_dims",
          "scatter_indices_batching_dims", "scatter_dims_to_operand_dims", "index_vector_dim"});
  } else if (op == "convolution" || op == "dynamic_conv") {
    if (!join_convolution(entries))
      return "expected dimension numbers that name each dimension once";
  }
  if (const auto channel = take_entry(entries, "channel_id")) {
    const auto* number = channel->get<TextAttr::Integer>();
    if (!number) return "expected 'channel_id' to be an integer";
    const TextAttr* type = find(entries, "channel_type");
    if (number->value != 0 || type)
      entries.emplace_back(
          "channel_handle",
          TextAttr::Record{"stablehlo.channel_handle",
                           {{"handle", *number}, {"type", type ? *type : TextAttr::Integer{0}}}});
    take_entry(entries, "channel_type");
  }
  return {};
}

namespace {

// The dimensions that `[b, 0, 1, f]` names: those of both letters, and the spatial ones.
struct Spec {
  int64_t first = 0, second = 0;
  TextAttr::Array spatial;
};
Spec read_spec(std::string_view text, char first, char second) {
  Spec spec;
  int64_t dim = 0;
  std::vector<std::pair<int, int64_t>> spatial;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',' || text[i] == ' ') continue;
    if (text[i] == first) {
      spec.first = dim;
    } else if (text[i] == second) {
      spec.second = dim;
    } else {
      int number = 0;
      const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), number);
      i = static_cast<size_t>(end - text.data()) - 1;
      spatial.emplace_back(number, dim);
    }
    ++dim;
  }
  std::sort(spatial.begin(), spatial.end());
  for (const auto& [number, at] : spatial) spec.spatial.values.push_back(at);
  return spec;
}

void split_convolution(Entries& entries) {
  const auto numbers = take_entry(entries, "dimension_numbers");
  const std::string text =
      *std::get<TextAttr::Record>(numbers->value).entries[0].second.get<std::string>();
  std::array<std::string_view, 3> specs;
  size_t at = 0;
  for (std::string_view& spec : specs) {
    const size_t begin = text.find('[', at) + 1;
    at = text.find(']', begin);
    spec = std::string_view(text).substr(begin, at - begin);
  }
  const Spec in = read_spec(specs[0], 'b', 'f'), kernel = read_spec(specs[1], 'i', 'o'),
             out = read_spec(specs[2], 'b', 'f');
  const auto add = [&](const char* name, TextAttr value) {
    entries.emplace_back(name, std::move(value));
  };
  add("input_batch_dimension", TextAttr::Integer{in.first});
  add("input_feature_dimension", TextAttr::Integer{in.second});
  add("input_spatial_dimensions", in.spatial);
  add("kernel_input_feature_dimension", TextAttr::Integer{kernel.first});
  add("kernel_output_feature_dimension", TextAttr::Integer{kernel.second});
  add("kernel_spatial_dimensions", kernel.spatial);
  add("output_batch_dimension", TextAttr::Integer{out.first});
  add("output_feature_dimension", TextAttr::Integer{out.second});
  add("output_spatial_dimensions", out.spatial);
}

}  // namespace

void to_vhlo(std::string_view op, Entries& entries) {
  if (op == "convolution") split_convolution(entries);
  for (const char* name : {"dimension_numbers", "scatter_dimension_numbers"}) {
    const auto numbers = take_entry(entries, name);
    const auto* record = numbers ? numbers->get<TextAttr::Record>() : nullptr;
    for (size_t i = 0; record && i < record->entries.size(); ++i)
      entries.push_back(record->entries[i]);
  }
  const auto channel = take_entry(entries, "channel_handle");
  const auto* handle = channel ? channel->get<TextAttr::Record>() : nullptr;
  if (const TextAttr* number = handle ? find(handle->entries, "handle") : nullptr)
    entries.emplace_back("channel_id", *number);
  for (auto& [key, value] : entries)
    if (value.get<TextAttr::Unit>()) value = true;
}

}  // namespace tessera::interchange::bytecode
