#include "plugin/executable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "plugin/error.h"
#include "plugin/event.h"
#include "plugin/strings.h"
#include "tessera/compile/pipeline.h"
#include "tessera/ir/bytecode/reader.h"
#include "tessera/ir/format.h"
#include "tessera/runtime/array_layout.h"
#include "tessera/runtime/device_array.h"

namespace tessera::plugin {
namespace {

using compile::Stages;
using runtime::ArrayLayout;
using runtime::ArraySpec;
using runtime::DeviceArray;
using runtime::DeviceArrayRef;

// Where each partition's part of an array is.
std::vector<int32_t> instances_of(const ArrayLayout& layout, int64_t partitions) {
  std::vector<int32_t> out(static_cast<size_t>(partitions), 0);
  if (!layout.sharding.is_named()) return out;
  const std::vector<int64_t> ids = layout.sharding.device_ids();
  for (size_t position = 0; position < ids.size(); ++position) {
    if (ids[position] < 0 || ids[position] >= partitions)
      invalid(fmt::format("[compile] expected a mesh of the devices 0 to {}, got one with {}",
                          partitions - 1, ids[position]));
    out[static_cast<size_t>(ids[position])] = layout.device_instances[position];
  }
  return out;
}

ArraySpec spec_of(const ir::Type& type, const std::vector<NamedSharding>& shardings, size_t i) {
  const Sharding sharding =
      shardings.empty() ? Sharding(SingleDeviceSharding(devices()[0])) : Sharding(shardings[i]);
  return {type.dtype, type.shape, sharding, type.weak};
}

void expect_even(const ArrayLayout& layout, const char* what, size_t i) {
  if (!layout.even())
    invalid(
        fmt::format("[compile] expected {} {} in equal parts, got {} of a shape that does not "
                    "divide",
                    what, i, describe(ir::Type{.dtype = layout.dtype, .shape = layout.global})));
}

// XLA's text of a sharding, one number a device: tiles, then the devices that hold each.
std::string gspmd_text(const ArrayLayout& layout) {
  if (layout.instances == 1) return "{replicated}";
  const std::vector<int64_t> ids = layout.sharding.device_ids();
  std::vector<std::vector<int64_t>> holders(static_cast<size_t>(layout.instances));
  for (size_t position = 0; position < ids.size(); ++position)
    holders[static_cast<size_t>(layout.device_instances[position])].push_back(ids[position]);
  std::vector<int64_t> devices;
  for (const std::vector<int64_t>& some : holders)
    devices.insert(devices.end(), some.begin(), some.end());
  const size_t copies = holders[0].size();
  return fmt::format("{{devices=[{}{}]{}{}}}", fmt::join(layout.shards, ","),
                     copies > 1 ? fmt::format(",{}", copies) : "", fmt::join(devices, ","),
                     copies > 1 ? " last_tile_dim_replicate" : "");
}

std::string tensor_text(const ArrayLayout& layout) {
  return fmt::format("{}", ir::Type{.dtype = layout.dtype, .shape = layout.local});
}

std::string zeros_text(DType dtype) {
  if (dtype == bool_) return "false";
  if (is_complex(dtype)) return "(0.0, 0.0)";
  return is_inexact(dtype) ? "0.0" : "0";
}

// A program of the same arguments and results, which says how these are laid out. jaxlib makes an
// HloModule of it and reads its shardings.
std::string signature_program(const runtime::Program& program, const std::string& name) {
  std::vector<std::string> arguments, argument_shardings, results, result_shardings, values;
  std::string body;
  for (size_t i = 0; i < program.num_inputs(); ++i) {
    arguments.push_back(fmt::format("%arg{}: {}", i, tensor_text(*program.input_layout(i))));
    argument_shardings.push_back(fmt::format("\"{}\"", gspmd_text(*program.input_layout(i))));
  }
  for (size_t r = 0; r < program.num_outputs(); ++r) {
    const ArrayLayout& layout = *program.output_layout(r);
    results.push_back(tensor_text(layout));
    result_shardings.push_back(gspmd_text(layout));
    values.push_back(fmt::format("%{}", r));
    body += fmt::format("  %{} = stablehlo.constant dense<{}> : {}\n", r, zeros_text(layout.dtype),
                        results.back());
  }
  std::vector<std::string> attributes;
  if (!arguments.empty())
    attributes.push_back(
        fmt::format("mhlo.spmd_parameters_shardings = [{}]", fmt::join(argument_shardings, ", ")));
  if (results.size() == 1)
    attributes.push_back(fmt::format("mhlo.spmd_output_sharding = \"{}\"", result_shardings[0]));
  if (results.size() > 1)
    attributes.push_back(
        fmt::format("mhlo.spmd_output_sharding = \"{{{}}}\"", fmt::join(result_shardings, ", ")));
  return fmt::format(
      "module @{} attributes {{{}}} {{\nfunc.func public @main({}) -> ({}) {{\n{}  return {} {} "
      "{}\n}}\n}}\n",
      name.empty() ? "main" : name, fmt::join(attributes, ", "), fmt::join(arguments, ", "),
      fmt::join(results, ", "), body, fmt::join(values, ", "), results.empty() ? "" : ":",
      fmt::join(results, ", "));
}

void describe_outputs(PJRT_Executable& out) {
  static const std::string& kind = *new std::string("device");
  for (size_t r = 0; r < out.output_shapes.size(); ++r) {
    const Shape& shape = out.output_shapes[r];
    out.output_types.push_back(to_pjrt(out.output_dtypes[r]));
    out.output_dims.insert(out.output_dims.end(), shape.begin(), shape.end());
    out.output_ranks.push_back(static_cast<size_t>(shape.rank()));
    out.memory_kinds.push_back(kind.data());
    out.memory_kind_sizes.push_back(kind.size());
  }
}

std::shared_ptr<PJRT_Executable> compile_program(std::string_view code, std::string_view options) {
  auto out = std::make_shared<PJRT_Executable>();
  out->options_text = options;
  out->options = parse_compile_options(options);
  if (out->options.num_replicas != 1)
    unimplemented("[compile] expected one replica of partitioned programs, got several");
  const ir::ParsedModule module = ir::read_module(code, "jax");
  out->name = module.name;
  const ir::Function& f = module.main;
  const Stages stages = compile::run_pipeline(
      f, {.inputs = module.input_shardings, .outputs = module.output_shardings});
  const bool sharded = stages.mesh.rank() > 0;
  const auto& ins = stages.partitioned.inputs;
  const auto& outs = stages.partitioned.outputs;
  std::vector<ArraySpec> inputs, outputs;
  for (size_t i = 0; i < f.inputs.size(); ++i)
    inputs.push_back(spec_of(f.type(f.inputs[i]), sharded ? ins : decltype(ins){}, i));
  for (size_t i = 0; i < f.outputs.size(); ++i)
    outputs.push_back(spec_of(f.type(f.outputs[i]), sharded ? outs : decltype(outs){}, i));
  out->program = std::make_shared<const runtime::Program>(stages.schedule, inputs, outputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    expect_even(*out->program->input_layout(i), "argument", i);
    out->input_instances.push_back(
        instances_of(*out->program->input_layout(i), out->options.num_partitions));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ArrayLayout& layout = *out->program->output_layout(i);
    expect_even(layout, "result", i);
    out->output_instances.push_back(instances_of(layout, out->options.num_partitions));
    out->output_dtypes.push_back(layout.dtype);
    out->output_shapes.push_back(layout.local);
  }
  describe_outputs(*out);
  out->optimized = signature_program(*out->program, out->name);
  return out;
}

PJRT_LoadedExecutable* load(PJRT_Client* client, std::shared_ptr<PJRT_Executable> executable) {
  auto out = std::make_unique<PJRT_LoadedExecutable>();
  out->client = client;
  const CompileOptions& options = executable->options;
  for (int64_t p = 0; p < options.num_partitions; ++p) {
    const int64_t id = options.device_assignment.empty()
                           ? p
                           : options.device_assignment.at(static_cast<size_t>(p));
    const auto at = std::find_if(client->devices.begin(), client->devices.end(),
                                 [&](auto* device) { return device->description.device.id == id; });
    if (at == client->devices.end())
      invalid(fmt::format("[compile] expected devices of the client's {}, got device {}",
                          client->devices.size(), id));
    out->devices.push_back(*at);
  }
  out->executable = std::move(executable);
  return out.release();
}

// Input i as one array: its instances are where the partitions' buffers are.
DeviceArrayRef assemble(const PJRT_Executable& e, size_t i, PJRT_Buffer* const* const* arguments,
                        size_t partitions) {
  const runtime::ArrayLayoutRef& layout = e.program->input_layout(i);
  const std::vector<int32_t>& instances = e.input_instances[i];
  std::vector<int64_t> offsets(static_cast<size_t>(layout->instances), 0);
  const PJRT_Buffer& first = *arguments[0][i];
  for (size_t p = 0; p < partitions; ++p) {
    const PJRT_Buffer& buffer = *arguments[p][i];
    if (buffer.dtype != layout->dtype || buffer.shape != layout->local)
      invalid(fmt::format("[execute] expected argument {} on a device to be {}, got {}", i,
                          describe(ir::Type{.dtype = layout->dtype, .shape = layout->local}),
                          describe(ir::Type{.dtype = buffer.dtype, .shape = buffer.shape})));
    offsets[static_cast<size_t>(instances[p])] = buffer.data() - first.memory.data();
  }
  runtime::InstanceOffsets where;
  if (layout->instances == 1) {
    where.offset = offsets[0];
    where.stride = layout->local_bytes;
  } else {
    where.table = std::make_shared<const std::vector<int64_t>>(std::move(offsets));
  }
  return std::make_shared<const DeviceArray>(device_array_type(*layout, false), layout,
                                             first.memory, std::move(where));
}

void execute(PJRT_LoadedExecutable_Execute_Args& a) {
  if (a.executable->deleted)
    invalid("[execute] expected a program that is there, got a deleted one");
  const PJRT_Executable& e = *a.executable->executable;
  const size_t partitions = a.executable->devices.size();
  if (a.num_devices != partitions)
    invalid(fmt::format("[execute] expected arguments for {} devices, got them for {}", partitions,
                        a.num_devices));
  if (a.num_args != e.program->num_inputs())
    invalid(fmt::format("[execute] expected {} arguments, got {}", e.program->num_inputs(),
                        a.num_args));
  // Another thread may delete a buffer meanwhile; its memory stays for this run.
  std::vector<runtime::Buffer> held;
  for (size_t p = 0; p < partitions; ++p)
    for (size_t i = 0; i < a.num_args; ++i) held.push_back(a.argument_lists[p][i]->memory);
  std::vector<DeviceArrayRef> inputs;
  for (size_t i = 0; i < a.num_args; ++i)
    inputs.push_back(assemble(e, i, a.argument_lists, partitions));
  const std::vector<DeviceArrayRef> outputs = e.program->run(inputs);
  for (size_t p = 0; p < partitions; ++p) {
    for (size_t r = 0; r < outputs.size(); ++r) {
      const DeviceArray& array = *outputs[r];
      a.output_lists[p][r] =
          new_buffer(a.executable->devices[p], e.output_dtypes[r], e.output_shapes[r],
                     array.buffer(), array.offsets().at(e.output_instances[r][p]));
    }
    if (a.device_complete_events) a.device_complete_events[p] = ready_event();
  }
}

void add_loaded(PJRT_Api& api) {
  api.PJRT_Client_Compile = [](PJRT_Client_Compile_Args* a) {
    return guarded([&] {
      const std::string_view format(a->program->format, a->program->format_size);
      if (format != "mlir")
        unimplemented(
            fmt::format("[compile] expected a program in the format mlir, got {}", format));
      a->executable =
          load(a->client, compile_program({a->program->code, a->program->code_size},
                                          {a->compile_options, a->compile_options_size}));
    });
  };
  api.PJRT_LoadedExecutable_Destroy = [](auto* a) -> PJRT_Error* {
    delete a->executable;
    return nullptr;
  };
  api.PJRT_LoadedExecutable_GetExecutable = [](auto* a) -> PJRT_Error* {
    a->executable = new PJRT_Executable(*a->loaded_executable->executable);
    return nullptr;
  };
  api.PJRT_LoadedExecutable_AddressableDevices = [](auto* a) -> PJRT_Error* {
    a->addressable_devices = a->executable->devices.data();
    a->num_addressable_devices = a->executable->devices.size();
    return nullptr;
  };
  api.PJRT_LoadedExecutable_Delete = [](auto* a) -> PJRT_Error* {
    a->executable->deleted = true;
    return nullptr;
  };
  api.PJRT_LoadedExecutable_IsDeleted = [](auto* a) -> PJRT_Error* {
    a->is_deleted = a->executable->deleted;
    return nullptr;
  };
  api.PJRT_LoadedExecutable_GetDeviceAssignment =
      [](PJRT_LoadedExecutable_GetDeviceAssignment_Args* a) {
        return guarded([&] {
          std::vector<int64_t> ids;
          for (PJRT_Device* device : a->executable->devices)
            ids.push_back(device->description.device.id);
          auto* held = new PJRT_DeviceAssignmentSerialized{device_assignment_proto(ids)};
          give(held->bytes, a->serialized_bytes, a->serialized_bytes_size);
          a->serialized_device_assignment = held;
          a->serialized_device_assignment_deleter = [](auto* d) { delete d; };
        });
      };
  api.PJRT_LoadedExecutable_Execute = [](PJRT_LoadedExecutable_Execute_Args* a) {
    return guarded([&] { execute(*a); });
  };
}

void add_descriptions(PJRT_Api& api) {
  api.PJRT_Executable_Destroy = [](auto* a) -> PJRT_Error* {
    delete a->executable;
    return nullptr;
  };
  api.PJRT_Executable_Name = [](auto* a) -> PJRT_Error* {
    give(a->executable->name, a->executable_name, a->executable_name_size);
    return nullptr;
  };
  api.PJRT_Executable_NumReplicas = [](auto* a) -> PJRT_Error* {
    a->num_replicas = static_cast<size_t>(a->executable->options.num_replicas);
    return nullptr;
  };
  api.PJRT_Executable_NumPartitions = [](auto* a) -> PJRT_Error* {
    a->num_partitions = static_cast<size_t>(a->executable->options.num_partitions);
    return nullptr;
  };
  api.PJRT_Executable_NumOutputs = [](auto* a) -> PJRT_Error* {
    a->num_outputs = a->executable->output_shapes.size();
    return nullptr;
  };
  api.PJRT_Executable_SizeOfGeneratedCodeInBytes = [](auto* a) -> PJRT_Error* {
    a->size_in_bytes = a->executable->program->code_bytes();
    return nullptr;
  };
  api.PJRT_Executable_OptimizedProgram = [](PJRT_Executable_OptimizedProgram_Args* a) {
    return guarded([&] {
      static constexpr std::string_view kFormat = "mlir";
      const std::string& text = a->executable->optimized;
      a->program->format = kFormat.data();
      a->program->format_size = kFormat.size();
      if (a->program->code) {
        if (a->program->code_size < text.size())
          invalid("[compile] expected room for the program's text, got less");
        std::copy(text.begin(), text.end(), a->program->code);
      }
      a->program->code_size = text.size();
    });
  };
  api.PJRT_Executable_OutputElementTypes = [](auto* a) -> PJRT_Error* {
    a->output_types = a->executable->output_types.data();
    a->num_output_types = a->executable->output_types.size();
    return nullptr;
  };
  api.PJRT_Executable_OutputDimensions = [](auto* a) -> PJRT_Error* {
    a->num_outputs = a->executable->output_shapes.size();
    a->dims = a->executable->output_dims.data();
    a->dim_sizes = a->executable->output_ranks.data();
    return nullptr;
  };
  api.PJRT_Executable_OutputMemoryKinds = [](auto* a) -> PJRT_Error* {
    a->num_outputs = a->executable->output_shapes.size();
    a->memory_kinds = a->executable->memory_kinds.data();
    a->memory_kind_sizes = a->executable->memory_kind_sizes.data();
    return nullptr;
  };
}

}  // namespace

void add_executables(PJRT_Api& api) {
  add_loaded(api);
  add_descriptions(api);
}

}  // namespace tessera::plugin
