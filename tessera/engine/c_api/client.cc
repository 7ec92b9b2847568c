// A client of a plugin: its devices, transfers and compilations.
#include <charconv>

#include "tessera/engine/c_api/api.h"
#include "tessera/ir/format.h"

namespace tessera::engine {
namespace {

// Returns a client option in the form that the plugin gets: an integer, a float or a bool if the
// text is one.
PJRT_NamedValue named_value(const std::string& name, const std::string& value) {
  PJRT_NamedValue out{};
  out.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  out.name = name.data();
  out.name_size = name.size();
  out.value_size = 1;
  const char* const end = value.data() + value.size();
  const auto whole = [&](auto& number) {
    const auto [stop, error] = std::from_chars(value.data(), end, number);
    return error == std::errc() && stop == end;
  };
  if (value == "true" || value == "false") {
    out.type = PJRT_NamedValue_kBool;
    out.bool_value = value == "true";
  } else if (whole(out.int64_value)) {
    out.type = PJRT_NamedValue_kInt64;
  } else if (whole(out.float_value)) {
    out.type = PJRT_NamedValue_kFloat;
  } else {
    out.type = PJRT_NamedValue_kString;
    out.string_value = value.data();
    out.value_size = value.size();
  }
  return out;
}

std::string text(const char* data, size_t size) { return data ? std::string(data, size) : ""; }

// Returns the description of one device. Fields that a plugin does not describe keep their
// defaults.
ClientDevice describe_device(const PJRT_Api* api, PJRT_Device* device) {
  auto get = TESSERA_PJRT_ARGS(Device_GetDescription);
  get.device = device;
  check(api, api->PJRT_Device_GetDescription(&get));
  ClientDevice out;
  auto id = TESSERA_PJRT_ARGS(DeviceDescription_Id);
  id.device_description = get.device_description;
  check(api, api->PJRT_DeviceDescription_Id(&id));
  out.id = id.id;
  auto process = TESSERA_PJRT_ARGS(DeviceDescription_ProcessIndex);
  process.device_description = get.device_description;
  check(api, api->PJRT_DeviceDescription_ProcessIndex(&process));
  out.process_index = process.process_index;
  auto kind = TESSERA_PJRT_ARGS(DeviceDescription_Kind);
  kind.device_description = get.device_description;
  check(api, api->PJRT_DeviceDescription_Kind(&kind));
  out.kind = text(kind.device_kind, kind.device_kind_size);
  auto attributes = TESSERA_PJRT_ARGS(DeviceDescription_Attributes);
  attributes.device_description = get.device_description;
  check(api, api->PJRT_DeviceDescription_Attributes(&attributes));
  for (size_t i = 0; i < attributes.num_attributes; ++i) {
    const PJRT_NamedValue& value = attributes.attributes[i];
    const std::string name = text(value.name, value.name_size);
    if (name == "coords" && value.type == PJRT_NamedValue_kInt64List)
      for (size_t d = 0; d < std::min<size_t>(value.value_size, 3); ++d)
        out.coords[d] = value.int64_array_value[d];
    if (name == "core_on_chip" && value.type == PJRT_NamedValue_kInt64)
      out.core_on_chip = value.int64_value;
    if (name == "slice_index" && value.type == PJRT_NamedValue_kInt64)
      out.slice_index = value.int64_value;
  }
  return out;
}

class CApiClient final : public Client {
 public:
  CApiClient(const PJRT_Api* api, PJRT_Client* client) : api_(api), client_(client) {
    auto name = TESSERA_PJRT_ARGS(Client_PlatformName);
    name.client = client_;
    check(api_, api_->PJRT_Client_PlatformName(&name));
    platform_ = text(name.platform_name, name.platform_name_size);
    auto version = TESSERA_PJRT_ARGS(Client_PlatformVersion);
    version.client = client_;
    check(api_, api_->PJRT_Client_PlatformVersion(&version));
    platform_version_ = text(version.platform_version, version.platform_version_size);
    auto devices = TESSERA_PJRT_ARGS(Client_AddressableDevices);
    devices.client = client_;
    check(api_, api_->PJRT_Client_AddressableDevices(&devices));
    for (size_t i = 0; i < devices.num_addressable_devices; ++i) {
      handles_.push_back(devices.addressable_devices[i]);
      devices_.push_back(describe_device(api_, handles_.back()));
    }
  }

  const std::string& platform() const override { return platform_; }
  const std::string& platform_version() const override { return platform_version_; }
  const std::vector<ClientDevice>& devices() const override { return devices_; }

  bool has_dtype(DType dtype) const override {
    return buffer_type(dtype) != PJRT_Buffer_Type_INVALID;
  }

  ClientBufferRef put(const std::byte* data, DType dtype, const Shape& shape,
                      int64_t device) const override {
    if (!has_dtype(dtype))
      throw Failure(FailureKind::kRefused,
                    fmt::format("PJRT's C API has no element type {}", dtype_name(dtype)));
    const std::vector<int64_t> dims(shape.begin(), shape.end());
    auto args = TESSERA_PJRT_ARGS(Client_BufferFromHostBuffer);
    args.client = client_;
    args.data = data;
    args.type = buffer_type(dtype);
    args.dims = dims.data();
    args.num_dims = dims.size();
    args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
    args.device = handles_.at(static_cast<size_t>(device));
    check(api_, api_->PJRT_Client_BufferFromHostBuffer(&args));
    const EventHandle done(args.done_with_host_buffer, {api_});
    auto out = std::make_shared<CApiBuffer>(api_, args.buffer);
    await(api_, done.get());
    return out;
  }

  ClientExecutableRef compile(const std::string& module,
                              const std::string& options) const override {
    constexpr std::string_view kFormat = "mlir";
    std::string code = module;
    PJRT_Program program{.struct_size = PJRT_Program_STRUCT_SIZE,
                         .extension_start = nullptr,
                         .code = code.data(),
                         .code_size = code.size(),
                         .format = kFormat.data(),
                         .format_size = kFormat.size()};
    auto args = TESSERA_PJRT_ARGS(Client_Compile);
    args.client = client_;
    args.program = &program;
    args.compile_options = options.data();
    args.compile_options_size = options.size();
    check(api_, api_->PJRT_Client_Compile(&args));
    return std::make_shared<CApiExecutable>(api_, args.executable);
  }

 private:
  const PJRT_Api* api_;
  PJRT_Client* client_;  // exists as long as the process, like devices()
  std::string platform_, platform_version_;
  std::vector<PJRT_Device*> handles_;
  std::vector<ClientDevice> devices_;
};

}  // namespace

ClientRef make_client(const PJRT_Api* api, const std::string& path,
                      const std::map<std::string, std::string>& options) {
  std::vector<PJRT_NamedValue> values;
  std::vector<std::string> written;
  for (const auto& [name, value] : options) {
    values.push_back(named_value(name, value));
    written.push_back(fmt::format("{}={}", name, value));
  }
  auto args = TESSERA_PJRT_ARGS(Client_Create);
  args.create_options = values.data();
  args.num_options = values.size();
  try {
    check(api, api->PJRT_Client_Create(&args));
    return std::make_shared<CApiClient>(api, args.client);
  } catch (const Failure& failure) {
    value_error(
        "initialize",
        "expected the plugin '{}' to make a client{}, got: {}; change the client options, "
        "or look at what the plugin needs",
        path,
        written.empty() ? " without options" : fmt::format(" with {}", fmt::join(written, ", ")),
        failure.what());
  }
}

void CApiBuffer::copy_to_host(std::byte* to, int64_t bytes) const {
  auto dims = TESSERA_PJRT_ARGS(Buffer_Dimensions);
  dims.buffer = get();
  check(api_, api_->PJRT_Buffer_Dimensions(&dims));
  // Devices may store another dimension contiguously than the last one. The copy is row-major.
  std::vector<int64_t> minor_to_major;
  for (size_t d = dims.num_dims; d-- > 0;) minor_to_major.push_back(static_cast<int64_t>(d));
  PJRT_Buffer_MemoryLayout layout{};
  layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  layout.tiled.minor_to_major = minor_to_major.data();
  layout.tiled.minor_to_major_size = minor_to_major.size();
  auto args = TESSERA_PJRT_ARGS(Buffer_ToHostBuffer);
  args.src = get();
  args.host_layout = &layout;
  args.dst = to;
  args.dst_size = static_cast<size_t>(bytes);
  check(api_, api_->PJRT_Buffer_ToHostBuffer(&args));
  const EventHandle done(args.event, {api_});
  await(api_, done.get());
}

void CApiBuffer::release() const {
  auto args = TESSERA_PJRT_ARGS(Buffer_Delete);
  args.buffer = get();
  check(api_, api_->PJRT_Buffer_Delete(&args));
}

CApiExecutable::CApiExecutable(const PJRT_Api* api, PJRT_LoadedExecutable* executable)
    : api_(api), executable_(executable, {api}) {
  auto args = TESSERA_PJRT_ARGS(Executable_NumOutputs);
  const ExecutableHandle of = unloaded();
  args.executable = of.get();
  check(api_, api_->PJRT_Executable_NumOutputs(&args));
  num_outputs_ = args.num_outputs;
}

ExecutableHandle CApiExecutable::unloaded() const {
  auto args = TESSERA_PJRT_ARGS(LoadedExecutable_GetExecutable);
  args.loaded_executable = executable_.get();
  check(api_, api_->PJRT_LoadedExecutable_GetExecutable(&args));
  return ExecutableHandle(args.executable, {api_});
}

std::vector<std::vector<ClientBufferRef>> CApiExecutable::execute(
    std::span<const std::vector<const ClientBuffer*>> arguments) const {
  const size_t partitions = arguments.size();
  const size_t num_args = arguments[0].size();
  std::vector<std::vector<PJRT_Buffer*>> in(partitions), out(partitions);
  std::vector<PJRT_Buffer* const*> in_lists;
  std::vector<PJRT_Buffer**> out_lists;
  for (size_t p = 0; p < partitions; ++p) {
    for (const ClientBuffer* buffer : arguments[p])
      in[p].push_back(static_cast<const CApiBuffer*>(buffer)->get());
    out[p].resize(num_outputs_);
    in_lists.push_back(in[p].data());
    out_lists.push_back(out[p].data());
  }
  std::vector<PJRT_Event*> events(partitions);
  PJRT_ExecuteOptions options{};
  options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  auto args = TESSERA_PJRT_ARGS(LoadedExecutable_Execute);
  args.executable = executable_.get();
  args.options = &options;
  args.argument_lists = in_lists.data();
  args.num_devices = partitions;
  args.num_args = num_args;
  args.output_lists = out_lists.data();
  args.device_complete_events = events.data();
  check(api_, api_->PJRT_LoadedExecutable_Execute(&args));
  std::vector<EventHandle> done;
  for (PJRT_Event* event : events) done.push_back(EventHandle(event, {api_}));
  std::vector<std::vector<ClientBufferRef>> results(partitions);
  for (size_t p = 0; p < partitions; ++p)
    for (PJRT_Buffer* buffer : out[p])
      results[p].push_back(std::make_shared<CApiBuffer>(api_, buffer));
  for (const EventHandle& event : done) await(api_, event.get());
  return results;
}

std::string CApiExecutable::optimized_program() const {
  const ExecutableHandle of = unloaded();
  PJRT_Program program{};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  auto args = TESSERA_PJRT_ARGS(Executable_OptimizedProgram);
  args.executable = of.get();
  args.program = &program;
  check(api_, api_->PJRT_Executable_OptimizedProgram(&args));
  std::string out(program.code_size, '\0');
  program.code = out.data();
  check(api_, api_->PJRT_Executable_OptimizedProgram(&args));
  return out;
}

int64_t CApiExecutable::temporary_bytes() const {
  if (api_->struct_size < PJRT_STRUCT_SIZE(PJRT_Api, PJRT_Executable_GetCompiledMemoryStats))
    return 0;
  const ExecutableHandle of = unloaded();
  auto args = TESSERA_PJRT_ARGS(Executable_GetCompiledMemoryStats);
  args.executable = of.get();
  try {
    check(api_, api_->PJRT_Executable_GetCompiledMemoryStats(&args));
  } catch (const Failure&) {
    return 0;  // plugins need not report it
  }
  return args.temp_size_in_bytes;
}

}  // namespace tessera::engine
