#include "tessera/ir/bytecode/op_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <mutex>

#include "tessera/base/fork.h"
#include "tessera/ir/bytecode/blob.h"
#include "tessera/ir/format.h"

namespace tessera::ir::bytecode {
namespace {

struct Row {
  std::string_view op, properties;  // an optional one ends in ?, the sizes of two segments in #
};

// Sorted by name within an op. Where versions differ there is a row for each.
constexpr Row kRows[] = {
    {"builtin.module", "sym_name? sym_visibility?"},
    {"func.call", "arg_attrs? callee no_inline? res_attrs?"},
    {"func.call", "callee no_inline?"},
    {"func.call", "callee"},
    {"func.func", "arg_attrs? function_type no_inline? res_attrs? sym_name sym_visibility?"},
    {"func.func", "arg_attrs? function_type res_attrs? sym_name sym_visibility?"},
    {"chlo.constant", "value"},
    {"chlo.ragged_dot", "precision_config? ragged_dot_dimension_numbers"},
    {"chlo.scan", "dimension is_associative? is_reverse? operandSegmentSizes# resultSegmentSizes#"},
    {"chlo.scan",
     "dimension is_associative? is_reverse? scan_dim_size? operandSegmentSizes# "
     "resultSegmentSizes#"},
    {"chlo.top_k", "k"},
    {"sdy.manual_computation", "in_shardings manual_axes out_shardings"},
    {"sdy.mesh", "mesh sym_name"},
    {"sdy.named_computation", "in_shardings? name out_shardings?"},
    {"sdy.propagation_barrier", "allowed_direction"},
    {"sdy.reshard", "sharding"},
    {"sdy.sharding_constraint", "sharding"},
    {"sdy.sharding_group", "group_id"},
    {"stablehlo.all_gather",
     "all_gather_dim channel_handle? replica_groups use_global_device_ids?"},
    {"stablehlo.all_reduce", "channel_handle? replica_groups use_global_device_ids?"},
    {"stablehlo.all_to_all",
     "channel_handle? concat_dimension replica_groups split_count split_dimension"},
    {"stablehlo.batch_norm_grad", "epsilon feature_index"},
    {"stablehlo.batch_norm_inference", "epsilon feature_index"},
    {"stablehlo.batch_norm_training", "epsilon feature_index"},
    {"stablehlo.broadcast", "broadcast_sizes"},
    {"stablehlo.broadcast_in_dim", "broadcast_dimensions"},
    {"stablehlo.cbrt", "result_accuracy?"},
    {"stablehlo.cholesky", "lower?"},
    {"stablehlo.collective_broadcast", "channel_handle? has_dynamic_root? replica_groups"},
    {"stablehlo.collective_broadcast", "channel_handle? replica_groups"},
    {"stablehlo.collective_permute", "channel_handle? source_target_pairs"},
    {"stablehlo.collective_reduce",
     "channel_handle? has_dynamic_root? replica_groups use_global_device_ids?"},
    {"stablehlo.compare", "compare_type? comparison_direction"},
    {"stablehlo.composite", "composite_attributes? decomposition name version?"},
    {"stablehlo.concatenate", "dimension"},
    {"stablehlo.constant", "value"},
    {"stablehlo.convolution",
     "batch_group_count dimension_numbers feature_group_count lhs_dilation? padding? "
     "precision_config? rhs_dilation? window_reversal? window_strides?"},
    {"stablehlo.cosine", "result_accuracy?"},
    {"stablehlo.cross-replica-sum", "replica_groups"},
    {"stablehlo.custom_call",
     "api_version? backend_config? call_target_name called_computations? has_side_effect? "
     "operand_layouts? output_operand_aliases? result_layouts? result_tilings?"},
    {"stablehlo.custom_call",
     "api_version? backend_config? call_target_name called_computations? has_side_effect? "
     "operand_layouts? output_operand_aliases? result_layouts?"},
    {"stablehlo.dot", "precision_config?"},
    {"stablehlo.dot_general", "algorithm? dot_dimension_numbers precision_config?"},
    {"stablehlo.dynamic_broadcast_in_dim",
     "broadcast_dimensions known_expanding_dimensions? known_nonexpanding_dimensions?"},
    {"stablehlo.dynamic_conv",
     "batch_group_count dimension_numbers feature_group_count lhs_dilation? precision_config? "
     "rhs_dilation? window_reversal? window_strides?"},
    {"stablehlo.dynamic_gather", "dimension_numbers indices_are_sorted?"},
    {"stablehlo.dynamic_iota", "iota_dimension"},
    {"stablehlo.dynamic_slice", "slice_sizes"},
    {"stablehlo.einsum", "einsum_config"},
    {"stablehlo.exponential", "result_accuracy?"},
    {"stablehlo.exponential_minus_one", "result_accuracy?"},
    {"stablehlo.fft", "fft_length fft_type"},
    {"stablehlo.gather", "dimension_numbers indices_are_sorted? slice_sizes"},
    {"stablehlo.get_dimension_size", "dimension"},
    {"stablehlo.get_tuple_element", "index"},
    {"stablehlo.infeed", "infeed_config? layout?"},
    {"stablehlo.iota", "iota_dimension"},
    {"stablehlo.log", "result_accuracy?"},
    {"stablehlo.log_plus_one", "result_accuracy?"},
    {"stablehlo.logistic", "result_accuracy?"},
    {"stablehlo.map", "dimensions"},
    {"stablehlo.outfeed", "outfeed_config?"},
    {"stablehlo.pad", "edge_padding_high edge_padding_low interior_padding"},
    {"stablehlo.recv", "channel_handle is_host_transfer? source_target_pairs?"},
    {"stablehlo.reduce", "dimensions"},
    {"stablehlo.reduce_precision", "exponent_bits mantissa_bits"},
    {"stablehlo.reduce_scatter",
     "channel_handle? replica_groups scatter_dimension use_global_device_ids?"},
    {"stablehlo.reduce_window",
     "base_dilations? padding? window_dilations? window_dimensions window_strides?"},
    {"stablehlo.reverse", "dimensions"},
    {"stablehlo.rng", "rng_distribution"},
    {"stablehlo.rng_bit_generator", "rng_algorithm"},
    {"stablehlo.rsqrt", "result_accuracy?"},
    {"stablehlo.scatter", "indices_are_sorted? scatter_dimension_numbers unique_indices?"},
    {"stablehlo.select_and_scatter", "padding? window_dimensions? window_strides?"},
    {"stablehlo.send", "channel_handle is_host_transfer? source_target_pairs?"},
    {"stablehlo.set_dimension_size", "dimension"},
    {"stablehlo.sine", "result_accuracy?"},
    {"stablehlo.slice", "limit_indices start_indices strides"},
    {"stablehlo.sort", "dimension? is_stable?"},
    {"stablehlo.sqrt", "result_accuracy?"},
    {"stablehlo.tan", "result_accuracy?"},
    {"stablehlo.tanh", "result_accuracy?"},
    {"stablehlo.torch_index_select", "batch_dims dim"},
    {"stablehlo.transpose", "permutation"},
    {"stablehlo.triangular_solve", "left_side lower transpose_a unit_diagonal"},
    {"stablehlo.unary_einsum", "einsum_config"},
};

struct VhloOp {
  std::string_view name;
  int number;
  std::string_view first, last;  // versions of VHLO that have it; no last: up to now
  std::string_view attributes;
};
constexpr VhloOp kVhloOps[] = {
#define VHLO_OP(name, number, first, last, attributes) {name, number, first, last, attributes},
#include "tessera/ir/bytecode/vhlo_ops.def"
};

std::vector<Property> words(std::string_view text) {
  std::vector<Property> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    std::string_view name = text.substr(0, end);
    const bool optional = name.back() == '?', sizes = name.back() == '#';
    if (optional || sizes) name.remove_suffix(1);
    out.push_back({name, optional, sizes});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Two sizes are three numbers; both 0, one. Rows of an op differ by one attribute.
bool takes(const std::vector<Property>& properties, size_t count) {
  const auto sizes = static_cast<size_t>(std::count_if(properties.begin(), properties.end(),
                                                       [](const Property& p) { return p.sizes; }));
  const size_t least = properties.size();
  return count >= least && count <= least + 2 * sizes && (count - least) % 2 == 0;
}

}  // namespace

std::vector<Property> properties_of(std::string_view dialect, std::string_view op, size_t count) {
  if (dialect == "vhlo") {
    for (const VhloOp& row : kVhloOps)
      if (op == fmt::format("{}_v{}", row.name, row.number))
        if (auto out = words(row.attributes); out.size() == count) return out;
    return {};
  }
  const std::string name = fmt::format("{}.{}", dialect, op);
  for (const Row& row : kRows)
    if (row.op == name)
      if (auto out = words(row.properties); takes(out, count)) return out;
  return {};
}

std::string_view without_version(std::string_view name) {
  const size_t at = name.rfind("_v");
  const bool versioned = at != std::string_view::npos && at + 2 < name.size() &&
                         std::all_of(name.begin() + static_cast<ptrdiff_t>(at) + 2, name.end(),
                                     [](char c) { return c >= '0' && c <= '9'; });
  return versioned ? name.substr(0, at) : name;
}

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

Version parse_version(std::string_view text) {
  Version out{};
  const char* at = text.data();
  const char* const end = at + text.size();
  bool valid = true;
  for (int& part : out) {
    const auto [next, error] = std::from_chars(at, end, part);
    valid = valid && error == std::errc() && part >= 0;
    const bool last = &part == &out.back();
    valid = valid && (last ? next == end : next != end && *next == '.');
    if (!valid) break;
    at = next + 1;
  }
  if (!valid || out < Version{0, 9, 0} || out > Version{1, 22, 0})
    value_error("bytecode",
                "expected a version of VHLO from 0.9.0 to 1.22.0, as '1.17.0', got '{}'", text);
  return out;
}

const VhloVersion* find_vhlo(std::string_view op, const Version& version) {
  using Key = std::pair<std::string_view, int>;
  static auto& found = *new std::map<Key, VhloVersion>;
  static auto& mutex = *new ForkSafeMutex;
  for (const VhloOp& row : kVhloOps) {
    if (row.name != op || version < parse_version(row.first) ||
        (!row.last.empty() && parse_version(row.last) < version))
      continue;
    const std::scoped_lock lock(mutex);
    const auto [it, is_new] = found.try_emplace(Key(row.name, row.number));
    if (is_new) it->second = {fmt::format("{}_v{}", row.name, row.number), words(row.attributes)};
    return &it->second;
  }
  return nullptr;
}

namespace {

using Entries = TextAttr::Entries;

const TextAttr* find(const Entries& entries, std::string_view name) {
  for (const auto& [key, value] : entries)
    if (key == name) return &value;
  return nullptr;
}

std::optional<TextAttr> cut(Entries& entries, std::string_view name) {
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
    if (auto value = cut(entries, field)) out.entries.emplace_back(field, std::move(*value));
  entries.emplace_back(attribute, std::move(out));
}

bool join_convolution(Entries& entries) {
  bool found = true;
  const auto number = [&](const char* name) {
    const auto value = cut(entries, name);
    const auto* integer = value ? value->get<TextAttr::Integer>() : nullptr;
    found = found && integer;
    return integer ? integer->value : 0;
  };
  const auto dims = [&](const char* name) {
    const auto value = cut(entries, name);
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

// Attributes that StableHLO leaves out where they are empty or false.
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
  // What is a list in StableHLO is a tensor in VHLO.
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
  if (const auto channel = cut(entries, "channel_id")) {
    const auto* number = channel->get<TextAttr::Integer>();
    if (!number) return "expected 'channel_id' to be an integer";
    const TextAttr* type = find(entries, "channel_type");
    if (number->value != 0 || type)
      entries.emplace_back(
          "channel_handle",
          TextAttr::Record{"stablehlo.channel_handle",
                           {{"handle", *number}, {"type", type ? *type : TextAttr::Integer{0}}}});
    cut(entries, "channel_type");
  }
  return {};
}

namespace {

// Dimensions that `[b, 0, 1, f]` names, by name: those of the letters, then the spatial ones.
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
  const auto numbers = cut(entries, "dimension_numbers");
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
    const auto numbers = cut(entries, name);
    const auto* record = numbers ? numbers->get<TextAttr::Record>() : nullptr;
    for (size_t i = 0; record && i < record->entries.size(); ++i)
      entries.push_back(record->entries[i]);
  }
  const auto channel = cut(entries, "channel_handle");
  const auto* handle = channel ? channel->get<TextAttr::Record>() : nullptr;
  if (const TextAttr* number = handle ? find(handle->entries, "handle") : nullptr)
    entries.emplace_back("channel_id", *number);
  for (auto& [key, value] : entries)
    if (value.get<TextAttr::Unit>()) value = true;
}

}  // namespace tessera::ir::bytecode
