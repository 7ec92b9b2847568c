#include "plugin/layout_modes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "plugin/error.h"
#include "tessera/control/control.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/trace/trace.h"

namespace tessera::plugin {
namespace {

constexpr std::string_view kAuto = "auto", kDefault = "default";

// Returns the dimensions from the outermost to the innermost, which is the permutation that
// transposes an array to its memory.
Dims to_memory(const MinorToMajor& order) { return {order.rbegin(), order.rend()}; }

Dims inverse(const Dims& permutation) {
  Dims out(permutation.size(), 0);
  for (size_t k = 0; k < permutation.size(); ++k)
    out[static_cast<size_t>(permutation[k])] = static_cast<int64_t>(k);
  return out;
}

// Returns the order of a text such as "{0,1}", innermost dimension first; nullopt for other text.
std::optional<MinorToMajor> parsed(std::string_view text, int64_t rank) {
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  MinorToMajor out;
  while (!text.empty()) {
    int64_t dim = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
    if (error != std::errc()) return std::nullopt;
    out.push_back(dim);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty()) break;
    if (text[0] != ',' || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
  }
  MinorToMajor sorted = out;
  std::sort(sorted.rbegin(), sorted.rend());
  if (sorted != row_major(rank)) return std::nullopt;
  return out;
}

// Returns the order that the layout mode of an argument or a result requests.
MinorToMajor requested_order(const std::string& mode, int64_t rank, const char* what, size_t i) {
  if (mode.empty() || mode == kDefault || mode == kAuto) return row_major(rank);
  if (auto order = parsed(mode, rank)) return *order;
  invalid(fmt::format(
      "[layout] expected an order of the {} dimensions of {} {}, got '{}'; pass a Layout that "
      "names each of them once in major_to_minor, without tiling",
      rank, what, i, mode));
}

// Returns the order in which result `r` is contiguous if it is a transpose of a value of main;
// otherwise row-major order.
MinorToMajor chosen_order(const ir::Function& main, size_t r,
                          const std::vector<MinorToMajor>& inputs) {
  ir::ValueId value = main.outputs[r];
  // Dimension k of the result is dimension dims[k] of the value.
  Dims dims;
  for (int64_t d = 0; d < main.type(value).rank(); ++d) dims.push_back(d);
  const auto makes = [&](const ir::Op& op) {
    return !op.results.empty() && op.results[0] == value;
  };
  for (auto op = main.ops.rbegin(); op != main.ops.rend(); ++op) {
    if (!makes(*op)) continue;
    if (op->def != &ops::transpose_op) break;
    const Dims& permutation = op->params.as<ops::TransposeParams>().permutation;
    for (int64_t& d : dims) d = permutation[static_cast<size_t>(d)];
    value = op->operands[0];
  }
  const auto input = std::find(main.inputs.begin(), main.inputs.end(), value);
  const MinorToMajor order = input == main.inputs.end()
                                 ? row_major(main.type(value).rank())
                                 : inputs[static_cast<size_t>(input - main.inputs.begin())];
  const Dims result_dims = inverse(dims);
  MinorToMajor out;
  for (int64_t d : order) out.push_back(result_dims[static_cast<size_t>(d)]);
  return out;
}

std::optional<NamedSharding> transposed(const std::optional<NamedSharding>& sharding,
                                        const Dims& permutation) {
  if (!sharding) return std::nullopt;
  std::vector<DimSpec> dims;
  for (int64_t d : permutation) dims.push_back(sharding->spec().dim(d));
  return NamedSharding(sharding->mesh(), PartitionSpec(std::move(dims)));
}

bool is_row_major(const MinorToMajor& order) {
  return order == row_major(static_cast<int64_t>(order.size()));
}

// Returns main with arguments and results as they are in memory.
ir::Function on_memory(const LaidOutModule& m, const std::vector<ir::Type>& types) {
  const auto body = std::make_shared<const ir::Function>(m.module.main);
  const auto transpose = [](const Array& x, const MinorToMajor& order, const Dims& permutation) {
    return is_row_major(order) ? x : lax::transpose(x, permutation);
  };
  const ir::FlatFn function = [&](const std::vector<Array>& arguments) {
    std::vector<Array> values;
    for (size_t i = 0; i < arguments.size(); ++i)
      values.push_back(transpose(arguments[i], m.inputs[i], inverse(to_memory(m.inputs[i]))));
    std::vector<Array> results =
        ir::bind_op(ops::call_op, ops::CallParams{body}, std::span<const Array>(values));
    for (size_t r = 0; r < results.size(); ++r)
      results[r] = transpose(results[r], m.outputs[r], to_memory(m.outputs[r]));
    return results;
  };
  ir::Function out = tracing::trace_function(function, types, m.module.main.name).function;
  for (size_t i = 0; i < types.size(); ++i)
    out.types[static_cast<size_t>(out.inputs[i])].sharding = types[i].sharding;
  return out;
}

}  // namespace

LaidOutModule with_memory_orders(interchange::ParsedModule module) {
  LaidOutModule out{.module = std::move(module)};
  interchange::ParsedModule& m = out.module;
  const ir::Function& main = m.main;
  for (size_t i = 0; i < main.inputs.size(); ++i)
    out.inputs.push_back(
        requested_order(m.input_layout_modes[i], main.type(main.inputs[i]).rank(), "argument", i));
  for (size_t r = 0; r < main.outputs.size(); ++r)
    out.outputs.push_back(m.output_layout_modes[r] == kAuto
                              ? chosen_order(main, r, out.inputs)
                              : requested_order(m.output_layout_modes[r],
                                                main.type(main.outputs[r]).rank(), "result", r));
  if (std::all_of(out.inputs.begin(), out.inputs.end(), is_row_major) &&
      std::all_of(out.outputs.begin(), out.outputs.end(), is_row_major))
    return out;
  std::vector<ir::Type> types = main.types_of(main.inputs);
  for (size_t i = 0; i < types.size(); ++i) {
    const Dims permutation = to_memory(out.inputs[i]);
    const Shape shape = types[i].shape;
    for (size_t k = 0; k < permutation.size(); ++k)
      types[i].shape[static_cast<int64_t>(k)] = shape[permutation[k]];
    m.input_shardings[i] = transposed(m.input_shardings[i], permutation);
    types[i].sharding = m.input_shardings[i]
                            ? std::make_shared<const NamedSharding>(*m.input_shardings[i])
                            : nullptr;
  }
  for (size_t r = 0; r < out.outputs.size(); ++r)
    m.output_shardings[r] = transposed(m.output_shardings[r], to_memory(out.outputs[r]));
  m.main = on_memory(out, types);
  return out;
}

ir::Function with_array_shapes(ir::Function f, const std::vector<MinorToMajor>& inputs,
                               const std::vector<MinorToMajor>& outputs) {
  const auto of_array = [](ir::Type type, const MinorToMajor& order) {
    type.shape = shape_of_array(type.shape, order);
    type.sharding = nullptr;
    return type;
  };
  std::vector<ir::Op> before;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (is_row_major(inputs[i])) continue;
    const ir::ValueId memory = f.inputs[i];
    f.inputs[i] = f.add_value(of_array(f.type(memory), inputs[i]));
    before.push_back({.def = &ops::transpose_op,
                      .params = ops::TransposeParams{to_memory(inputs[i])},
                      .operands = {f.inputs[i]},
                      .results = {memory}});
  }
  f.ops.insert(f.ops.begin(), before.begin(), before.end());
  for (size_t r = 0; r < outputs.size(); ++r) {
    if (is_row_major(outputs[r])) continue;
    const ir::Type type = of_array(f.type(f.outputs[r]), outputs[r]);
    f.outputs[r] = f.add_op(ops::transpose_op, ops::TransposeParams{inverse(to_memory(outputs[r]))},
                            {f.outputs[r]}, std::array{type})[0];
  }
  return f;
}

std::string layout_attributes(const std::vector<MinorToMajor>& inputs,
                              const std::vector<MinorToMajor>& outputs) {
  const auto text = [](const std::vector<MinorToMajor>& orders) {
    std::vector<std::string> out;
    for (const MinorToMajor& order : orders)
      out.push_back(order.empty() ? "dense<> : tensor<0xindex>"
                                  : fmt::format("dense<[{}]> : tensor<{}xindex>",
                                                fmt::join(order, ", "), order.size()));
    return fmt::format("{}", fmt::join(out, ", "));
  };
  if (std::all_of(inputs.begin(), inputs.end(), is_row_major) &&
      std::all_of(outputs.begin(), outputs.end(), is_row_major))
    return {};
  return fmt::format(
      "mhlo.xla_entry_computation_parameter_layouts = [{}], "
      "mhlo.xla_entry_computation_result_layout = [{}], ",
      text(inputs), text(outputs));
}

Shape shape_of_array(const Shape& memory, const MinorToMajor& order) {
  Shape out = memory;
  const Dims permutation = to_memory(order);
  for (size_t k = 0; k < permutation.size(); ++k)
    out[permutation[k]] = memory[static_cast<int64_t>(k)];
  return out;
}

}  // namespace tessera::plugin
