#include "plugin/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "plugin/device_order.h"
#include "plugin/device_parts.h"
#include "plugin/error.h"
#include "plugin/inspect_sharding.h"
#include "plugin/jaxlib_text.h"
#include "plugin/layout_modes.h"
#include "plugin/layouts.h"
#include "plugin/named_value.h"
#include "plugin/parts_of_sums.h"
#include "plugin/program_text.h"
#include "plugin/replicas.h"
#include "plugin/shardings.h"
#include "tessera/base/contains.h"
#include "tessera/cluster/processes.h"
#include "tessera/compile/load_program.h"
#include "tessera/interchange/bytecode/reader.h"
#include "tessera/interchange/programs/unroll_loops.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/format.h"

namespace tessera::plugin {
namespace {

using compile::Stages;
using runtime::ArrayLayout;

// Returns the instance of an array that each partition holds. `ids` is the partition at each
// position of the mesh.
std::vector<int32_t> instances_of(const ArrayLayout& layout, const std::vector<int64_t>& ids,
                                  int64_t partitions) {
  std::vector<int32_t> out(static_cast<size_t>(partitions), 0);
  if (!layout.sharding.is_named()) return out;
  for (size_t position = 0; position < ids.size(); ++position) {
    if (ids[position] < 0 || ids[position] >= partitions)
      invalid(fmt::format("[compile] expected a mesh of the devices 0 to {}, got one with {}",
                          partitions - 1, ids[position]));
    out[static_cast<size_t>(ids[position])] = layout.device_instances[position];
  }
  return out;
}

// Returns the partition at each position of the mesh: `own`, those of the program, or if that is
// empty, those of the layout's devices.
std::vector<int64_t> ids_of(const ArrayLayout& layout, const std::vector<int64_t>& own,
                            const std::vector<Device>& by_partition) {
  if (!own.empty() || !layout.sharding.is_named()) return own;
  std::vector<int64_t> ids = layout.sharding.device_ids();
  for (int64_t& id : ids)
    for (size_t p = 0; p < by_partition.size(); ++p)
      if (by_partition[p].id == id) {
        id = static_cast<int64_t>(p);
        break;
      }
  return ids;
}

// Returns the devices that partitions run on if this matters, which is only in a cluster. Otherwise
// returns none: partition p is device p in all meshes.
std::vector<Device> devices_by_partition(const CompileOptions& options) {
  std::vector<Device> out;
  if (!cluster::Processes::current()) return out;
  const std::vector<Device>& all = devices();
  for (int64_t p = 0; p < options.num_devices(); ++p) {
    const int64_t id = options.device_id(p);
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Device& d) { return d.id == id; });
    if (found == all.end())
      invalid(fmt::format("[compile] expected devices out of {}, got a program for device {}",
                          all.size(), id));
    out.push_back(*found);
  }
  return out;
}

void expect_pjrt_dtype(DType dtype) {
  if (to_pjrt(dtype) == PJRT_Buffer_Type_INVALID)
    unimplemented(
        fmt::format("[compile] expected arguments and results of a dtype that PJRT has, got {}; "
                    "convert it inside of the program",
                    dtype_name(dtype)));
}

void expect_kind(const std::string& kind) {
  const auto& kinds = memory_kinds();
  if (!kind.empty() && std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
    invalid(
        fmt::format("[compile] expected a memory kind out of {}, got '{}'; name one of these in "
                    "out_shardings",
                    fmt::join(kinds, ", "), kind));
}

// Returns a sharding in equal parts, which JAX requires, and, with `whole_axes`, over whole axes.
// Returns null if this sharding is one already.
std::optional<NamedSharding> with_even_parts(const NamedSharding& sharding, const Shape& shape,
                                             bool whole_axes) {
  std::vector<DimSpec> dims;
  bool changed = false;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    std::vector<AxisRef> axes = sharding.dim_axes(d);
    if (whole_axes)
      axes.erase(std::find_if(axes.begin(), axes.end(),
                              [](const AxisRef& axis) { return !axis.is_whole(); }),
                 axes.end());
    if (shape[d] % sharding.num_shards(d) != 0) axes.clear();
    changed |= axes != sharding.dim_axes(d);
    dims.push_back(axes.empty() ? DimSpec(None) : DimSpec(std::move(axes)));
  }
  if (!changed) return std::nullopt;
  return NamedSharding(sharding.mesh(), PartitionSpec(std::move(dims)));
}

// Returns whether `chosen` has a sharding in unequal parts, or over parts of axes for a value
// without a requested sharding. Then `asked` gets a sharding that leaves such dimensions whole.
// Throws ApiError if the program itself requested unequal parts.
bool ask_for_even_parts(const char* what, const std::vector<ir::ValueId>& values,
                        const ir::Function& f, const std::vector<NamedSharding>& chosen,
                        std::vector<std::optional<NamedSharding>>& asked) {
  bool changed = false;
  for (size_t i = 0; i < chosen.size(); ++i) {
    const ir::Type& type = f.type(values[i]);
    if (asked.size() <= i) asked.resize(chosen.size());
    std::optional<NamedSharding> even = with_even_parts(chosen[i], type.shape, !asked[i]);
    if (!even) continue;
    if (asked[i])
      invalid(fmt::format(
          "[compile] expected {} {} in equal parts, got {} of a shape that does not "
          "divide as {}; leave that dimension whole",
          what, i, describe(ir::Type{.dtype = type.dtype, .shape = type.shape}), asked[i]->spec()));
    asked[i] = std::move(even);
    changed = true;
  }
  return changed;
}

// Returns the program with arguments and results in equal parts over whole axes. If propagation
// chose others, the program is lowered again.
Lowered lower(const interchange::ParsedModule& module) {
  sharding::ShardingRequest request{.inputs = module.input_shardings,
                                    .outputs = module.output_shardings};
  const ir::Function& f = module.main;
  Lowered out(f, request, {}, devices()[0]);
  const Stages& stages = out.stages();
  if (stages.mesh.rank() == 0) return out;
  const bool inputs =
      ask_for_even_parts("argument", f.inputs, f, stages.partitioned.inputs, request.inputs);
  const bool outputs =
      ask_for_even_parts("result", f.outputs, f, stages.partitioned.outputs, request.outputs);
  return inputs || outputs ? Lowered(f, request, {}, devices()[0]) : out;
}

// Describes the shardings and layouts of arrays for jaxlib.
void describe_arrays(PJRT_Executable& out) {
  for (size_t i = 0; i < out.program->num_inputs(); ++i)
    expect_pjrt_dtype(out.program->input_layout(i)->dtype);
  for (size_t r = 0; r < out.output_shapes.size(); ++r) expect_pjrt_dtype(out.output_dtypes[r]);
  out.input_layouts = std::make_shared<const MemoryLayouts>(out.input_orders);
  out.output_layouts = std::make_shared<const MemoryLayouts>(out.output_orders);
  out.input_shardings = argument_shardings(out);
  out.output_shardings = result_shardings(out);
}

void describe_outputs(PJRT_Executable& out) {
  for (size_t r = 0; r < out.output_shapes.size(); ++r) {
    const Shape& shape = out.output_shapes[r];
    out.output_types.push_back(to_pjrt(out.output_dtypes[r]));
    out.output_dims.insert(out.output_dims.end(), shape.begin(), shape.end());
    out.output_ranks.push_back(static_cast<size_t>(shape.rank()));
    out.output_kind_texts.push_back(out.output_kinds[r].data());
    out.output_kind_sizes.push_back(out.output_kinds[r].size());
  }
}

// Throws ApiError if a result of a host function differs between devices. JAX's types say that it
// is equal on all, so a shard_map outside of jit, which is one program after the other, would lose
// all values except one.
void expect_equal_callbacks(const ir::Function& main, const Stages& stages) {
  if (stages.mesh.rank() == 0) return;
  const Mesh& mesh = stages.partitioned.mesh;
  for (size_t r = 0; r < main.outputs.size(); ++r) {
    if (main.type(main.outputs[r]).shape.elements() == 0) continue;  // a token
    const ir::AxisNames axes = unnamed_axes_of_callbacks(main, r);
    if (axes.empty()) continue;
    const fusion::Slot& slot =
        stages.schedule.slots[static_cast<size_t>(stages.schedule.outputs[r])];
    for (int a : slot.axes) {
      const std::string& part = mesh.axis_names()[static_cast<size_t>(a)];
      const std::string axis = part.substr(0, part.find('/'));
      if (contains(axes, axis))
        invalid(fmt::format(
            "[shard_map] expected result {} to be the same on all devices along '{}', which its "
            "out_spec does not name, got what a callback returned on each of them; put the "
            "shard_map "
            "under jax.jit, name '{}' in the spec, or reduce over it",
            r, axis, axis));
    }
  }
}

uint64_t hash_of(std::string_view bytes) { return std::hash<std::string_view>()(bytes); }

void describe_cost(PJRT_Executable& out) {
  const auto add = [&](const char* name, double value) {
    out.properties.push_back(named_float(name, static_cast<float>(value)));
  };
  add("flops", out.cost.flops);
  add("bytes accessed", static_cast<double>(out.cost.bytes_accessed));
  add("communication bytes", static_cast<double>(out.cost.communication_bytes));
  add("communication seconds", out.cost.communication_seconds);
}

}  // namespace

Shape held_shape(const ArrayLayout& layout, bool parts) {
  return {layout.local.begin() + (parts ? 1 : 0), layout.local.end()};
}

std::string_view code_of(const PJRT_Program& program) {
  const std::string_view format(program.format, program.format_size);
  if (format != "mlir")
    unimplemented(fmt::format(
        "[compile] expected a program in the format mlir, got {}; export it as StableHLO", format));
  return {program.code, program.code_size};
}

std::shared_ptr<PJRT_Executable> compile_program(std::string_view code, std::string_view options) {
  auto out = std::make_shared<PJRT_Executable>();
  out->options_text = options;
  out->options = parse_compile_options(options);
  const int64_t replicas = out->options.num_replicas;
  std::vector<HeldBytes> held;
  const auto on_tensor = [&](std::string_view bytes, const Literal& value) {
    if (bytes.size() >= ProgramText::kLarge) held.push_back({bytes, value});
  };
  LaidOutModule laid_out = with_memory_orders(
      interchange::read_module(code, "jax", {.on_tensor = on_tensor, .replicas = replicas}));
  out->code = std::make_shared<ProgramText>(code, std::move(held));
  out->input_orders = std::move(laid_out.inputs);
  out->output_orders = std::move(laid_out.outputs);
  const OrderedModule ordered = with_one_device_order(std::move(laid_out.module));
  interchange::ParsedModule module =
      replicas > 1 ? across_replicas(ordered.module) : split_unreduced(ordered.module);
  const std::vector<Device> by_partition = devices_by_partition(out->options);
  if (!by_partition.empty()) module = on_devices(std::move(module), by_partition);
  module.main = interchange::with_loops_rewritten(module);
  out->name = module.name.empty() ? "main" : module.name;
  const ir::Function& f = module.main;
  const Lowered lowered = lower(module);
  const Stages& stages = lowered.stages();
  expect_equal_callbacks(f, stages);
  inspect_shardings(stages.propagated);
  out->asks_this_process = asks_this_process(f);
  out->cost = lowered.cost();
  out->program = compile::load_program(f, stages, devices()[0]);
  out->donated.assign(module.donated.begin(), module.donated.end());
  for (size_t i = 0; i < f.inputs.size(); ++i) {
    const ArrayLayout& layout = *out->program->input_layout(i);
    out->input_ids.push_back(ids_of(layout, ordered.input_ids[i], by_partition));
    out->input_instances.push_back(
        instances_of(layout, out->input_ids[i], out->options.num_devices()));
    out->input_parts.push_back(!module.input_unreduced[i].empty());
    out->input_shapes.push_back(
        shape_of_array(held_shape(layout, out->input_parts[i]), out->input_orders[i]));
  }
  for (size_t i = 0; i < f.outputs.size(); ++i) {
    const ArrayLayout& layout = *out->program->output_layout(i);
    out->output_ids.push_back(ids_of(layout, ordered.output_ids[i], by_partition));
    out->output_instances.push_back(
        instances_of(layout, out->output_ids[i], out->options.num_devices()));
    const std::string& kind = module.output_memory_kinds[i];
    expect_kind(kind);
    out->output_kinds.push_back(kind.empty() ? memory_kinds()[0] : kind);
    out->output_parts.push_back(!module.output_unreduced[i].empty());
    out->output_dtypes.push_back(layout.dtype);
    out->output_shapes.push_back(
        shape_of_array(held_shape(layout, out->output_parts[i]), out->output_orders[i]));
  }
  describe_outputs(*out);
  describe_cost(*out);
  out->fingerprint = fmt::format("{:016x}{:016x}", hash_of(code), hash_of(options));
  describe_arrays(*out);
  out->partitioned = std::make_shared<const ir::Function>(with_array_shapes(
      with_held_shapes(stages.mesh.rank() > 0 ? stages.partitioned.function : stages.traced,
                       out->input_parts, out->output_parts),
      out->input_orders, out->output_orders));
  return out;
}

}  // namespace tessera::plugin

const std::string& PJRT_Executable::program_text() const {
  using namespace tessera;
  std::call_once(text->made, [&] {
    std::string module =
        interchange::to_mlir(plugin::without_foreign_ops(*partitioned), {.module_name = name});
    const std::string attributes =
        plugin::layout_attributes(input_orders, output_orders) + plugin::sharding_attributes(*this);
    if (const size_t at = module.find("attributes {"); !attributes.empty() && at != module.npos)
      module.insert(at + std::strlen("attributes {"), attributes + ", ");
    text->text = std::move(module);
  });
  return text->text;
}
