#include "plugin/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "plugin/compile.h"
#include "plugin/error.h"
#include "plugin/execute.h"
#include "plugin/program_text.h"
#include "plugin/strings.h"
#include "tessera/io/crc32c.h"

namespace tessera::plugin {
namespace {

// Returns the devices that partitions run on. Throws ApiError if one does not belong to the client.
std::vector<PJRT_Device*> devices_of(const PJRT_Client& client, const CompileOptions& options) {
  std::vector<PJRT_Device*> out;
  for (int64_t p = 0; p < options.num_devices(); ++p) {
    const int64_t id = options.device_id(p);
    const auto at = std::find_if(client.devices.begin(), client.devices.end(),
                                 [&](auto* device) { return device->description.device.id == id; });
    if (at == client.devices.end())
      invalid(fmt::format(
          "[compile] expected a program for devices of this client, which has {}, got one for {} "
          "devices, device {} among them; compile it for these devices, or set TESSERA_DEVICES",
          client.devices.size(), options.num_devices(), id));
    out.push_back(*at);
  }
  return out;
}

PJRT_LoadedExecutable* load(PJRT_Client* client, std::vector<PJRT_Device*> devices,
                            std::shared_ptr<PJRT_Executable> executable) {
  auto out = std::make_unique<PJRT_LoadedExecutable>();
  out->client = client;
  out->devices = std::move(devices);
  out->executable = std::move(executable);
  const bool replicas = out->executable->options.num_replicas > 1;
  for (size_t p = 0; p < out->devices.size(); ++p) {
    if (out->devices[p]->local_id < 0) continue;
    const int number = static_cast<int>(p);
    out->addressable.push_back(out->devices[p]);
    out->partitions.push_back(p);
    out->logical_ids.push_back(
        {.replica = replicas ? number : 0, .partition = replicas ? 0 : number});
  }
  return out.release();
}

PJRT_LoadedExecutable* load(PJRT_Client* client, std::string_view code, std::string_view options) {
  std::vector<PJRT_Device*> devices = devices_of(*client, parse_compile_options(options));
  return load(client, std::move(devices), compile_program(code, options));
}

// Returns the executable on the client's devices; if `options` are not empty, compiled with these
// options.
PJRT_LoadedExecutable* load(PJRT_Client* client, const PJRT_Executable& executable,
                            std::string_view options) {
  if (!options.empty() && options != executable.options_text)
    return load(client, executable.code->text(), options);
  return load(client, devices_of(*client, executable.options),
              std::shared_ptr<PJRT_Executable>(new_handle(executable)));
}

void add_loaded(PJRT_Api& api) {
  api.PJRT_Client_Compile = [](PJRT_Client_Compile_Args* a) {
    return guarded([&] {
      a->executable =
          load(a->client, code_of(*a->program), {a->compile_options, a->compile_options_size});
    });
  };
  api.PJRT_Client_Load = [](PJRT_Client_Load_Args* a) {
    return guarded([&] {
      a->loaded_executable =
          load(a->client, *a->executable, {a->compile_options, a->compile_options_size});
    });
  };
  api.PJRT_LoadedExecutable_AddressableDeviceLogicalIds = [](auto* a) -> PJRT_Error* {
    a->addressable_device_logical_ids = a->executable->logical_ids.data();
    a->num_addressable_device_logical_ids = a->executable->logical_ids.size();
    return nullptr;
  };
  api.PJRT_LoadedExecutable_Destroy = [](auto* a) -> PJRT_Error* {
    delete a->executable;
    return nullptr;
  };
  api.PJRT_LoadedExecutable_GetExecutable = [](auto* a) -> PJRT_Error* {
    a->executable = new_handle(*a->loaded_executable->executable);
    return nullptr;
  };
  api.PJRT_LoadedExecutable_AddressableDevices = [](auto* a) -> PJRT_Error* {
    a->addressable_devices = a->executable->addressable.data();
    a->num_addressable_devices = a->executable->addressable.size();
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
          auto* held = new PJRT_DeviceAssignmentSerialized{
              device_assignment_proto(ids, a->executable->executable->options.num_replicas > 1)};
          give(held->bytes, a->serialized_bytes, a->serialized_bytes_size);
          a->serialized_device_assignment = held;
          a->serialized_device_assignment_deleter = [](auto* d) { delete d; };
        });
      };
  api.PJRT_LoadedExecutable_Fingerprint = [](PJRT_LoadedExecutable_Fingerprint_Args* a) {
    return guarded([&] {
      give(a->executable->executable->fingerprint, a->executable_fingerprint,
           a->executable_fingerprint_size);
    });
  };
  api.PJRT_LoadedExecutable_Execute = [](PJRT_LoadedExecutable_Execute_Args* a) {
    return guarded([&] { execute(*a); });
  };
}

// A serialized executable contains the program and the options, and is compiled again when it is
// read: compiling is as fast as reading machine code would be, and the result fits the CPU. This
// line comes first; the next has the size of the program and the checksum of all that follows.
constexpr std::string_view kMagic = "tessera executable 2\n";

std::string serialized(const PJRT_Executable& e) {
  if (e.asks_this_process)
    unimplemented(
        "[serialize] expected a program that another process can compile, got one with "
        "custom_partitioning or inspect_array_sharding, whose callbacks this process has; compile "
        "it "
        "from its source there");
  std::string out = e.code->text();
  const size_t size = out.size();
  out += e.options_text;
  out.insert(
      0, fmt::format("{}{} {}\n", kMagic, size, tessera::internal::crc32c(out.data(), out.size())));
  return out;
}

struct SerializedParts {
  std::string_view code, options;
};
SerializedParts deserialized(std::string_view bytes) {
  const auto throw_damaged = [&]() {
    invalid(
        fmt::format("[deserialize] expected an executable that this version of Tessera "
                    "serialised, got {} other bytes; compile the program again",
                    bytes.size()));
  };
  if (bytes.substr(0, kMagic.size()) != kMagic) throw_damaged();
  const std::string_view rest = bytes.substr(kMagic.size());
  const size_t space = rest.find(' '), line = rest.find('\n');
  uint64_t code = 0, checksum = 0;
  const auto number = [&](size_t begin, size_t end, uint64_t& to) {
    const auto [at, error] = std::from_chars(rest.data() + begin, rest.data() + end, to);
    return error == std::errc() && at == rest.data() + end;
  };
  if (line == rest.npos || space > line || !number(0, space, code) ||
      !number(space + 1, line, checksum))
    throw_damaged();
  const std::string_view body = rest.substr(line + 1);
  if (code > body.size() || checksum != tessera::internal::crc32c(body.data(), body.size()))
    throw_damaged();
  return {body.substr(0, code), body.substr(code)};
}

void add_serialization(PJRT_Api& api) {
  api.PJRT_Executable_Serialize = [](PJRT_Executable_Serialize_Args* a) {
    return guarded([&] {
      auto* held = new PJRT_SerializedExecutable{serialized(*a->executable)};
      give(held->bytes, a->serialized_bytes, a->serialized_bytes_size);
      a->serialized_executable = held;
      a->serialized_executable_deleter = [](auto* e) { delete e; };
    });
  };
  api.PJRT_Executable_DeserializeAndLoad = [](PJRT_Executable_DeserializeAndLoad_Args* a) {
    return guarded([&] {
      const auto [code, options] =
          deserialized({a->serialized_executable, a->serialized_executable_size});
      a->loaded_executable = load(a->client, code, options);
    });
  };
  api.PJRT_Executable_GetCompileOptions = [](PJRT_Executable_GetCompileOptions_Args* a) {
    return guarded([&] {
      auto* held = new PJRT_SerializedCompileOptions{a->executable->options_text};
      give(held->bytes, a->serialized_bytes, a->serialized_bytes_size);
      a->serialized_compile_options = held;
      a->serialized_compile_options_deleter = [](auto* e) { delete e; };
    });
  };
}

void add_types_of_arguments_and_results(PJRT_Api& api) {
  api.PJRT_Executable_NumOutputs = [](auto* a) -> PJRT_Error* {
    a->num_outputs = a->executable->output_shapes.size();
    return nullptr;
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
    a->memory_kinds = a->executable->output_kind_texts.data();
    a->memory_kind_sizes = a->executable->output_kind_sizes.data();
    return nullptr;
  };
  api.PJRT_Executable_ParameterMemoryKinds = [](auto* a) -> PJRT_Error* {
    a->num_parameters = a->executable->input_kind_texts.size();
    a->memory_kinds = a->executable->input_kind_texts.data();
    a->memory_kind_sizes = a->executable->input_kind_sizes.data();
    return nullptr;
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
  api.PJRT_Executable_SizeOfGeneratedCodeInBytes = [](auto* a) -> PJRT_Error* {
    a->size_in_bytes = a->executable->program->code_bytes();
    return nullptr;
  };
  api.PJRT_Executable_OptimizedProgram = [](PJRT_Executable_OptimizedProgram_Args* a) {
    return guarded([&] {
      constexpr std::string_view kFormat = "mlir";
      const std::string& bytes = a->executable->program_text();
      a->program->format = kFormat.data();
      a->program->format_size = kFormat.size();
      if (a->program->code) {
        if (a->program->code_size < bytes.size())
          invalid("[compile] expected room for the program, got less");
        std::copy(bytes.begin(), bytes.end(), a->program->code);
      }
      a->program->code_size = bytes.size();
    });
  };
  api.PJRT_Executable_GetCostAnalysis = [](PJRT_Executable_GetCostAnalysis_Args* a) {
    return guarded([&] {
      a->properties = a->executable->properties.data();
      a->num_properties = a->executable->properties.size();
    });
  };
  api.PJRT_Executable_GetCompiledMemoryStats = [](PJRT_Executable_GetCompiledMemoryStats_Args* a) {
    return guarded([&] {
      const PJRT_Executable& e = *a->executable;
      // The host's memory is also the devices' memory. Statistics that are not counted are 0.
      *a = {.struct_size = a->struct_size,
            .extension_start = a->extension_start,
            .executable = a->executable};
      a->generated_code_size_in_bytes = e.program->code_bytes();
      for (size_t i = 0; i < e.program->num_inputs(); ++i)
        a->argument_size_in_bytes += e.program->input_layout(i)->local_bytes;
      for (size_t r = 0; r < e.program->num_outputs(); ++r)
        a->output_size_in_bytes += e.program->output_layout(r)->local_bytes;
      a->temp_size_in_bytes = e.program->arena_bytes() / e.options.num_devices();
      a->peak_memory_in_bytes =
          a->argument_size_in_bytes + a->output_size_in_bytes + a->temp_size_in_bytes;
      a->total_size_in_bytes = a->peak_memory_in_bytes + a->generated_code_size_in_bytes;
    });
  };
  api.PJRT_Executable_Fingerprint = [](PJRT_Executable_Fingerprint_Args* a) {
    return guarded([&] {
      give(a->executable->fingerprint, a->executable_fingerprint, a->executable_fingerprint_size);
    });
  };
}

}  // namespace

PJRT_Executable* new_handle(const PJRT_Executable& executable) {
  auto* out = new PJRT_Executable(executable);
  for (size_t r = 0; r < out->output_kinds.size(); ++r)
    out->output_kind_texts[r] = out->output_kinds[r].data();
  const std::string& kind = memory_kinds()[0];
  out->input_kind_texts.assign(out->program->num_inputs(), kind.data());
  out->input_kind_sizes.assign(out->program->num_inputs(), kind.size());
  return out;
}

void add_executables(PJRT_Api& api) {
  add_loaded(api);
  add_serialization(api);
  add_descriptions(api);
  add_types_of_arguments_and_results(api);
}

}  // namespace tessera::plugin
