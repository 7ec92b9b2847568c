// The functions of the C API that JAX reaches through other programs only, and what damaged bytes do.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "xla/pjrt/c/pjrt_c_api.h"
#include "xla/pjrt/c/pjrt_c_api_layouts_extension.h"
#include "xla/pjrt/c/pjrt_c_api_shardings_extension.h"

namespace {

using testing::HasSubstr;

const PJRT_Api& api() {
  static const PJRT_Api* const loaded = [] {
    void* library = dlopen(TESSERA_PJRT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(dlerror());
    return reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"))();
  }();
  return *loaded;
}

template <class Args>
Args args() {
  Args out{};
  out.struct_size = sizeof(Args);
  return out;
}

struct Error {
  PJRT_Error_Code code = PJRT_Error_Code_OK;
  std::string message;
};

Error taken(PJRT_Error* error) {
  if (!error) return {};
  auto message = args<PJRT_Error_Message_Args>();
  message.error = error;
  api().PJRT_Error_Message(&message);
  auto code = args<PJRT_Error_GetCode_Args>();
  code.error = error;
  api().PJRT_Error_GetCode(&code);
  Error out{code.code, {message.message, message.message_size}};
  auto destroy = args<PJRT_Error_Destroy_Args>();
  destroy.error = error;
  api().PJRT_Error_Destroy(&destroy);
  return out;
}

void expect_ok(PJRT_Error* error) { EXPECT_EQ(taken(error).message, ""); }

bool is_ready(PJRT_Event* event) {
  auto a = args<PJRT_Event_IsReady_Args>();
  a.event = event;
  expect_ok(api().PJRT_Event_IsReady(&a));
  return a.is_ready;
}

void destroy(PJRT_Event* event) {
  auto a = args<PJRT_Event_Destroy_Args>();
  a.event = event;
  expect_ok(api().PJRT_Event_Destroy(&a));
}

void destroy(PJRT_Buffer* buffer) {
  auto a = args<PJRT_Buffer_Destroy_Args>();
  a.buffer = buffer;
  expect_ok(api().PJRT_Buffer_Destroy(&a));
}

class Plugin : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    PJRT_NamedValue devices{};
    devices.struct_size = PJRT_NamedValue_STRUCT_SIZE;
    devices.name = "num_devices";
    devices.name_size = std::strlen(devices.name);
    devices.type = PJRT_NamedValue_kInt64;
    devices.int64_value = 2;
    devices.value_size = 1;
    auto a = args<PJRT_Client_Create_Args>();
    a.create_options = &devices;
    a.num_options = 1;
    expect_ok(api().PJRT_Client_Create(&a));
    client = a.client;
    auto all = args<PJRT_Client_AddressableMemories_Args>();
    all.client = client;
    expect_ok(api().PJRT_Client_AddressableMemories(&all));
    ASSERT_EQ(all.num_addressable_memories, 6U) << "three kinds on each device";
    memory = all.addressable_memories[0];
  }
  static void TearDownTestSuite() {
    auto a = args<PJRT_Client_Destroy_Args>();
    a.client = client;
    expect_ok(api().PJRT_Client_Destroy(&a));
  }

  static std::vector<float> read(PJRT_Buffer* buffer, size_t n) {
    std::vector<float> out(n);
    auto a = args<PJRT_Buffer_ToHostBuffer_Args>();
    a.src = buffer;
    a.dst = out.data();
    a.dst_size = n * sizeof(float);
    expect_ok(api().PJRT_Buffer_ToHostBuffer(&a));
    if (a.event) destroy(a.event);
    return out;
  }

  // Compiles; the error. The executable is destroyed.
  static Error compile(const std::string& program, const std::string& options) {
    std::string code = program;
    PJRT_Program p{};
    p.struct_size = PJRT_Program_STRUCT_SIZE;
    p.code = code.data();
    p.code_size = code.size();
    p.format = "mlir";
    p.format_size = 4;
    auto a = args<PJRT_Client_Compile_Args>();
    a.client = client;
    a.program = &p;
    a.compile_options = options.data();
    a.compile_options_size = options.size();
    const Error error = taken(api().PJRT_Client_Compile(&a));
    if (error.code == PJRT_Error_Code_OK) destroy(a.executable);
    return error;
  }
  static void destroy(PJRT_LoadedExecutable* executable) {
    auto a = args<PJRT_LoadedExecutable_Destroy_Args>();
    a.executable = executable;
    expect_ok(api().PJRT_LoadedExecutable_Destroy(&a));
  }
  using testing::Test::Test;
  static void destroy(PJRT_Buffer* buffer) { ::destroy(buffer); }
  static void destroy(PJRT_Event* event) { ::destroy(event); }

  static inline PJRT_Client* client = nullptr;
  static inline PJRT_Memory* memory = nullptr;
};

const char* const kProgram =
    "module @twice { func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> { "
    "%0 = stablehlo.add %x, %x : tensor<4xf32> return %0 : tensor<4xf32> } }";

// --- Buffers whose data comes later ---

class AsyncTransfers : public Plugin {
 protected:
  void SetUp() override {
    const std::array<int64_t, 2> dims{2, 3};
    PJRT_ShapeSpec spec{};
    spec.struct_size = PJRT_ShapeSpec_STRUCT_SIZE;
    spec.dims = dims.data();
    spec.num_dims = dims.size();
    spec.element_type = PJRT_Buffer_Type_F32;
    std::array<PJRT_ShapeSpec, 2> specs{spec, spec};
    auto a = args<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>();
    a.client = client;
    a.shape_specs = specs.data();
    a.num_shape_specs = specs.size();
    a.memory = memory;
    expect_ok(api().PJRT_Client_CreateBuffersForAsyncHostToDevice(&a));
    manager = a.transfer_manager;
  }
  void TearDown() override {
    auto a = args<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args>();
    a.transfer_manager = manager;
    expect_ok(api().PJRT_AsyncHostToDeviceTransferManager_Destroy(&a));
  }
  Error retrieve(int index, PJRT_Buffer*& out) {
    auto a = args<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>();
    a.transfer_manager = manager;
    a.buffer_index = index;
    const Error error = taken(api().PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(&a));
    out = a.buffer_out;
    return error;
  }
  Error send(int index, const std::vector<float>& data, int64_t offset, bool last) {
    auto a = args<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>();
    a.transfer_manager = manager;
    a.buffer_index = index;
    a.data = data.data();
    a.offset = offset;
    a.transfer_size = static_cast<int64_t>(data.size() * sizeof(float));
    a.is_last_transfer = last;
    const Error error = taken(api().PJRT_AsyncHostToDeviceTransferManager_TransferData(&a));
    if (a.done_with_h2d_transfer) destroy(a.done_with_h2d_transfer);
    return error;
  }
  static bool ready(PJRT_Buffer* buffer) {
    auto a = args<PJRT_Buffer_ReadyEvent_Args>();
    a.buffer = buffer;
    expect_ok(api().PJRT_Buffer_ReadyEvent(&a));
    const bool out = is_ready(a.event);
    destroy(a.event);
    return out;
  }
  PJRT_AsyncHostToDeviceTransferManager* manager = nullptr;
};

TEST_F(AsyncTransfers, ABufferIsReadyWithItsLastPiece) {
  PJRT_Buffer* buffer = nullptr;
  EXPECT_EQ(retrieve(0, buffer).message, "");
  EXPECT_FALSE(ready(buffer));
  EXPECT_EQ(send(0, {4, 5, 6}, 12, false).message, "");
  EXPECT_FALSE(ready(buffer));
  EXPECT_EQ(send(0, {1, 2, 3}, 0, true).message, "");
  EXPECT_TRUE(ready(buffer));
  EXPECT_EQ(read(buffer, 6), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  destroy(buffer);

  EXPECT_EQ(send(1, {1, 1, 1, 1, 1, 1}, 0, true).message, "");
  EXPECT_EQ(retrieve(1, buffer).message, "");
  EXPECT_TRUE(ready(buffer)) << "filled before it is asked for";
  destroy(buffer);
}

TEST_F(AsyncTransfers, RefusesWhatIsNotThere) {
  EXPECT_THAT(send(2, {1}, 0, false).message,
              HasSubstr("[transfer] expected the number of one of 2 buffers, got 2"));
  EXPECT_THAT(send(-1, {1}, 0, false).message, HasSubstr("got -1"));
  EXPECT_THAT(send(0, {1, 2}, 20, true).message,
              HasSubstr("[transfer] expected a part of 24 bytes, got 8 from 20 on"));
  EXPECT_THAT(send(0, {1}, -4, true).message, HasSubstr("got 4 from -4 on"));
  PJRT_Buffer* buffer = nullptr;
  EXPECT_EQ(retrieve(0, buffer).message, "");
  destroy(buffer);
  EXPECT_THAT(retrieve(0, buffer).message,
              HasSubstr("[transfer] expected a buffer to be retrieved once, got number 0"));
}

TEST_F(AsyncTransfers, AnErrorOfItsMakerIsTheBuffers) {
  PJRT_Buffer* buffer = nullptr;
  EXPECT_EQ(retrieve(0, buffer).message, "");
  const std::string said = "the file ended";
  auto a = args<PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args>();
  a.transfer_manager = manager;
  a.buffer_index = 0;
  a.error_code = PJRT_Error_Code_DATA_LOSS;
  a.error_message = said.data();
  a.error_message_size = said.size();
  expect_ok(api().PJRT_AsyncHostToDeviceTransferManager_SetBufferError(&a));
  std::vector<float> out(6);
  auto to_host = args<PJRT_Buffer_ToHostBuffer_Args>();
  to_host.src = buffer;
  to_host.dst = out.data();
  to_host.dst_size = 24;
  const Error error = taken(api().PJRT_Buffer_ToHostBuffer(&to_host));
  EXPECT_EQ(error.code, PJRT_Error_Code_DATA_LOSS);
  EXPECT_EQ(error.message, said);
  destroy(buffer);
}

// --- Memory of the host ---

PJRT_Client_BufferFromHostBuffer_Args host_args(PJRT_Client* client, PJRT_Memory* memory,
                                                const float* data, const int64_t& n) {
  auto a = args<PJRT_Client_BufferFromHostBuffer_Args>();
  a.client = client;
  a.data = data;
  a.type = PJRT_Buffer_Type_F32;
  a.dims = &n;
  a.num_dims = 1;
  a.memory = memory;
  return a;
}

TEST_F(Plugin, TheHostHearsWhenItsMemoryIsNoLongerUsed) {
  alignas(64) std::array<float, 32> data{};
  std::iota(data.begin(), data.end(), 1.F);
  const int64_t n = 32;
  auto a = host_args(client, memory, data.data(), n);
  a.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
  expect_ok(api().PJRT_Client_BufferFromHostBuffer(&a));
  EXPECT_FALSE(is_ready(a.done_with_host_buffer));
  data[0] = 7;
  EXPECT_EQ(read(a.buffer, 32)[0], 7.F);
  destroy(a.buffer);
  EXPECT_TRUE(is_ready(a.done_with_host_buffer));
  destroy(a.done_with_host_buffer);

  // Copied: memory that may change once the call is over, and what no kernel could load.
  for (const bool aligned : {true, false}) {
    const int64_t fewer = 16;
    a = host_args(client, memory, data.data() + (aligned ? 0 : 1), fewer);
    a.host_buffer_semantics = aligned ? PJRT_HostBufferSemantics_kImmutableOnlyDuringCall
                                      : PJRT_HostBufferSemantics_kImmutableZeroCopy;
    expect_ok(api().PJRT_Client_BufferFromHostBuffer(&a));
    EXPECT_TRUE(is_ready(a.done_with_host_buffer));
    const float before = data[aligned ? 0 : 1];
    data[aligned ? 0 : 1] = -1;
    EXPECT_EQ(read(a.buffer, 16)[0], before);
    destroy(a.buffer);
    destroy(a.done_with_host_buffer);
  }
}

// --- What a compiled program takes and returns ---

class Executables : public Plugin {
 protected:
  void SetUp() override {
    // Two devices: the argument in halves of its first dimension, the result on both of them.
    std::string code =
        "module @halves { sdy.mesh @m = <[\"x\"=2]>  func.func public @main("
        "%a: tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@m, [{\"x\"}, {}]>}, "
        "%b: tensor<f32>) -> (tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>}) { "
        "%0 = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> tensor<4x3xf32> "
        "%1 = stablehlo.add %a, %0 : tensor<4x3xf32> return %1 : tensor<4x3xf32> } }";
    const std::string options("\x1a\x04\x20\x01\x28\x02", 6);  // one replica, two partitions
    PJRT_Program p{};
    p.struct_size = PJRT_Program_STRUCT_SIZE;
    p.code = code.data();
    p.code_size = code.size();
    p.format = "mlir";
    p.format_size = 4;
    auto a = args<PJRT_Client_Compile_Args>();
    a.client = client;
    a.program = &p;
    a.compile_options = options.data();
    a.compile_options_size = options.size();
    expect_ok(api().PJRT_Client_Compile(&a));
    loaded = a.executable;
    auto get = args<PJRT_LoadedExecutable_GetExecutable_Args>();
    get.loaded_executable = loaded;
    expect_ok(api().PJRT_LoadedExecutable_GetExecutable(&get));
    executable = get.executable;
  }
  void TearDown() override {
    auto drop = args<PJRT_Executable_Destroy_Args>();
    drop.executable = executable;
    expect_ok(api().PJRT_Executable_Destroy(&drop));
    destroy(loaded);
  }

  template <class Extension>
  static const Extension& extension(PJRT_Extension_Type type) {
    for (const PJRT_Extension_Base* at = api().extension_start; at; at = at->next)
      if (at->type == type) return *reinterpret_cast<const Extension*>(at);
    throw std::runtime_error("the plugin lacks the extension");
  }
  static const PJRT_Layouts_Extension& layouts() {
    return extension<PJRT_Layouts_Extension>(PJRT_Extension_Type_Layouts);
  }
  static std::string text(PJRT_Layouts_MemoryLayout* layout) {
    auto a = args<PJRT_Layouts_MemoryLayout_Serialize_Args>();
    a.layout = layout;
    expect_ok(layouts().PJRT_Layouts_MemoryLayout_Serialize(&a));
    std::string out(a.serialized_bytes, a.serialized_bytes_size);
    a.serialized_layout_deleter(a.serialized_layout);
    return out;
  }
  static std::string text_and_destroy(PJRT_Layouts_MemoryLayout* layout) {
    std::string out = text(layout);
    auto a = args<PJRT_Layouts_MemoryLayout_Destroy_Args>();
    a.layout = layout;
    expect_ok(layouts().PJRT_Layouts_MemoryLayout_Destroy(&a));
    return out;
  }
  // The program as jaxlib reads it: its size, then the text.
  std::string program() const {
    PJRT_Program p{};
    p.struct_size = PJRT_Program_STRUCT_SIZE;
    auto a = args<PJRT_Executable_OptimizedProgram_Args>();
    a.executable = executable;
    a.program = &p;
    expect_ok(api().PJRT_Executable_OptimizedProgram(&a));
    std::string code(p.code_size, ' ');
    p.code = code.data();
    expect_ok(api().PJRT_Executable_OptimizedProgram(&a));
    EXPECT_EQ(std::string(p.format, p.format_size), "mlir");
    return code;
  }

  PJRT_LoadedExecutable* loaded = nullptr;
  PJRT_Executable* executable = nullptr;
};

// OpSharding: type OTHER (3) over tiles {2, 1} on devices {0, 1}; or REPLICATED (0).
TEST_F(Executables, SayHowTheyAreSharded) {
  const auto& shardings = extension<PJRT_Shardings_Extension>(PJRT_Extension_Type_Shardings);
  auto in = args<PJRT_Shardings_PJRT_Executable_ParameterShardings_Args>();
  in.executable = executable;
  expect_ok(shardings.PJRT_Shardings_PJRT_Executable_ParameterShardings(&in));
  ASSERT_EQ(in.num_parameters, 2U);
  const std::string halves("\x08\x03\x1a\x02\x02\x01\x22\x02\x00\x01", 10), whole("\x08\x00", 2);
  EXPECT_EQ(std::string(in.shardings[0], in.sharding_sizes[0]), halves);
  EXPECT_EQ(std::string(in.shardings[1], in.sharding_sizes[1]), whole);
  auto out = args<PJRT_Shardings_PJRT_Executable_OutputShardings_Args>();
  out.executable = executable;
  expect_ok(shardings.PJRT_Shardings_PJRT_Executable_OutputShardings(&out));
  ASSERT_EQ(out.num_outputs, 1U);
  EXPECT_EQ(std::string(out.shardings[0], out.sharding_sizes[0]), whole);
}

TEST_F(Executables, ArraysAreRowMajor) {
  auto in = args<PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args>();
  in.executable = executable;
  expect_ok(layouts().PJRT_Layouts_PJRT_Executable_GetParameterLayouts(&in));
  ASSERT_EQ(in.num_parameters, 2U);
  EXPECT_EQ(text(in.layouts[0]), "{1,0}");
  EXPECT_EQ(text(in.layouts[1]), "{}");
  auto out = args<PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args>();
  out.executable = executable;
  expect_ok(layouts().PJRT_Layouts_PJRT_Executable_GetOutputLayouts(&out));
  ASSERT_EQ(out.num_outputs, 1U);
  EXPECT_EQ(text(out.layouts[0]), "{1,0}");

  const std::array<int64_t, 3> dims{2, 3, 4};
  auto of_client = args<PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args>();
  of_client.client = client;
  of_client.type = PJRT_Buffer_Type_F32;
  of_client.dims = dims.data();
  of_client.num_dims = dims.size();
  expect_ok(layouts().PJRT_Layouts_PJRT_Client_GetDefaultLayout(&of_client));
  EXPECT_EQ(text_and_destroy(of_client.layout), "{2,1,0}");
  auto of_topology = args<PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args>();
  of_topology.type = PJRT_Buffer_Type_F32;
  of_topology.dims = dims.data();
  of_topology.num_dims = 1;
  expect_ok(layouts().PJRT_Layouts_PJRT_Topology_GetDefaultLayout(&of_topology));
  EXPECT_EQ(text_and_destroy(of_topology.layout), "{0}");
  const std::array<float, 4> data{};
  const int64_t n = 4;
  auto put = host_args(client, memory, data.data(), n);
  put.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  expect_ok(api().PJRT_Client_BufferFromHostBuffer(&put));
  auto of_buffer = args<PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args>();
  of_buffer.buffer = put.buffer;
  expect_ok(layouts().PJRT_Layouts_PJRT_Buffer_MemoryLayout(&of_buffer));
  EXPECT_EQ(text_and_destroy(of_buffer.layout), "{0}");
  destroy(put.buffer);
  destroy(put.done_with_host_buffer);
}

// The first text is that of a device, as any later one; also to threads that ask at once.
TEST_F(Executables, TheTextDoesNotDependOnWhoHasAsked) {
  std::vector<std::string> texts(4);
  std::vector<std::thread> threads;
  for (std::string& text : texts) threads.emplace_back([&] { text = program(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(texts[0], HasSubstr("stablehlo.all_gather"));
  EXPECT_THAT(texts[0], HasSubstr("mhlo.spmd_parameters_shardings = "
                                  "[\"{devices=[2,1]0,1}\", \"{replicated}\"]"));
  EXPECT_THAT(texts, testing::Each(texts[0]));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(program(), texts[0]);
}

// --- What is not there, and what is damaged ---

TEST_F(Plugin, FunctionsThatAreMissingSayTheirNames) {
  auto a = args<PJRT_Client_DmaMap_Args>();
  a.client = client;
  const Error error = taken(api().PJRT_Client_DmaMap(&a));
  EXPECT_EQ(error.code, PJRT_Error_Code_UNIMPLEMENTED);
  EXPECT_THAT(error.message, HasSubstr("got PJRT_Client_DmaMap; docs/jax.md"));
}

TEST_F(Plugin, ProgramsOfOtherFormatsAndOptionsAreRefused) {
  EXPECT_EQ(compile(kProgram, "").message, "");
  EXPECT_THAT(compile("module {", "").message, HasSubstr("[parse]"));
  EXPECT_THAT(compile(kProgram, "\xff\xff\xff").message,
              HasSubstr("expected a CompileOptionsProto"));
  // {3: {4: 2}}: two replicas. {7: {1: "fast"}}: an option.
  EXPECT_THAT(compile(kProgram, std::string("\x1a\x02\x20\x02", 4)).message,
              HasSubstr("[compile] expected one replica"));
  EXPECT_THAT(compile(kProgram, std::string("\x3a\x06\x0a\x04"
                                            "fast"))
                  .message,
              HasSubstr("No such compile option: 'fast'"));
}

TEST_F(Plugin, AProgramThatAsksForUnequalPartsIsRefused) {
  const std::string program =
      "module @odd { sdy.mesh @m = <[\"x\"=2]>  func.func public @main(%x: tensor<5xf32>) -> "
      "(tensor<5xf32> {sdy.sharding = #sdy.sharding<@m, [{\"x\"}]>}) { return %x : tensor<5xf32> } "
      "}";
  EXPECT_THAT(
      compile(program, "").message,
      HasSubstr("[compile] expected result 0 in equal parts, got float32[5] of a shape that "
                "does not divide as PartitionSpec('x'); leave that dimension whole"));
}

TEST_F(Plugin, DtypesThatPjrtLacksAreRefusedByName) {
  const Error error = compile(
      "module @six { func.func public @main(%x: tensor<4xf6E2M3FN>) -> tensor<4xf6E2M3FN> { "
      "return %x : tensor<4xf6E2M3FN> } }",
      "");
  EXPECT_EQ(error.code, PJRT_Error_Code_UNIMPLEMENTED);
  EXPECT_THAT(error.message,
              HasSubstr("[compile] expected arguments and results of a dtype that PJRT has, got "
                        "float6_e2m3fn"));
}

TEST_F(Plugin, DamagedProgramsOptionsAndExecutablesAreErrorsAtMost) {
  std::mt19937 random(7);
  const auto damaged = [&](std::string bytes) {
    for (int k = std::uniform_int_distribution<int>(1, 4)(random); k > 0 && !bytes.empty(); --k) {
      const size_t at = std::uniform_int_distribution<size_t>(0, bytes.size() - 1)(random);
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, 1 + random() % 8);
          break;
        default:
          bytes.insert(at, 1, static_cast<char>(random()));
      }
    }
    return bytes;
  };
  const std::string options("\x1a\x02\x28\x01", 4);
  std::string executable;
  {
    std::string code = kProgram;
    PJRT_Program p{};
    p.struct_size = PJRT_Program_STRUCT_SIZE;
    p.code = code.data();
    p.code_size = code.size();
    p.format = "mlir";
    p.format_size = 4;
    auto compiled = args<PJRT_Client_Compile_Args>();
    compiled.client = client;
    compiled.program = &p;
    compiled.compile_options = options.data();
    compiled.compile_options_size = options.size();
    expect_ok(api().PJRT_Client_Compile(&compiled));
    auto get = args<PJRT_LoadedExecutable_GetExecutable_Args>();
    get.loaded_executable = compiled.executable;
    expect_ok(api().PJRT_LoadedExecutable_GetExecutable(&get));
    auto serialize = args<PJRT_Executable_Serialize_Args>();
    serialize.executable = get.executable;
    expect_ok(api().PJRT_Executable_Serialize(&serialize));
    executable.assign(serialize.serialized_bytes, serialize.serialized_bytes_size);
    serialize.serialized_executable_deleter(serialize.serialized_executable);
    auto drop = args<PJRT_Executable_Destroy_Args>();
    drop.executable = get.executable;
    expect_ok(api().PJRT_Executable_Destroy(&drop));
    destroy(compiled.executable);
  }
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    refused += compile(damaged(kProgram), options).code != PJRT_Error_Code_OK;
    refused += compile(kProgram, damaged(options)).code != PJRT_Error_Code_OK;
    const std::string bytes = damaged(executable);
    auto a = args<PJRT_Executable_DeserializeAndLoad_Args>();
    a.client = client;
    a.serialized_executable = bytes.data();
    a.serialized_executable_size = bytes.size();
    const Error error = taken(api().PJRT_Executable_DeserializeAndLoad(&a));
    if (error.code == PJRT_Error_Code_OK) {
      EXPECT_EQ(bytes, executable);
      destroy(a.loaded_executable);
    } else {
      EXPECT_THAT(error.message, HasSubstr("[deserialize] expected"));
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_EQ(compile(kProgram, options).message, "") << "the client is as it was";
}

}  // namespace
