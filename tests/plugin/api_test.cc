// Functions of the C API that JAX calls only for other programs than those of its tests, and
// damaged bytes.
#include <gmock/gmock.h>

#include <array>
#include <numeric>
#include <random>
#include <set>

#include "tests/plugin/plugin_test.h"

namespace tessera::plugin_test::api_test {
namespace {

using testing::HasSubstr;

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

// A program that returns its argument twice: each result has memory of its own, which all threads
// fill.
TEST_F(Plugin, ResultsThatAreArgumentsAreCopies) {
  constexpr int64_t kElements = 300001;
  std::vector<float> values(kElements);
  std::iota(values.begin(), values.end(), 0.F);
  const std::string type = "tensor<300001xf32>";
  PJRT_LoadedExecutable* loaded =
      compiled("module { func.func public @main(%x: " + type + ") -> (" + type + ", " + type +
                   ") { return %x, %x : " + type + ", " + type + " } }",
               "");
  ASSERT_TRUE(loaded);
  auto from = host_args(client, memory, values.data(), kElements);
  expect_ok(api().PJRT_Client_BufferFromHostBuffer(&from));
  if (from.done_with_host_buffer) destroy(from.done_with_host_buffer);
  std::array<PJRT_Buffer*, 2> out{};
  PJRT_Buffer* const* in_list = &from.buffer;
  PJRT_Buffer** out_list = out.data();
  auto how = args<PJRT_ExecuteOptions>();
  auto a = args<PJRT_LoadedExecutable_Execute_Args>();
  a.executable = loaded;
  a.options = &how;
  a.argument_lists = &in_list;
  a.num_devices = 1;
  a.num_args = 1;
  a.output_lists = &out_list;
  expect_ok(api().PJRT_LoadedExecutable_Execute(&a));
  std::set<const void*> addresses;
  for (PJRT_Buffer* buffer : {from.buffer, out[0], out[1]}) {
    EXPECT_EQ(read(buffer, values.size()), values);
    auto pointer = args<PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args>();
    pointer.buffer = buffer;
    expect_ok(api().PJRT_Buffer_OpaqueDeviceMemoryDataPointer(&pointer));
    addresses.insert(pointer.device_memory_ptr);
    destroy(buffer);
  }
  EXPECT_EQ(addresses.size(), 3u);
  destroy(loaded);
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

  // Memory is copied if it may change after the call, or if kernels could not load it.
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

// --- Missing functions, and damaged bytes ---

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
  // {3: {4: 2, 5: 2}}: two replicas of two partitions. {7: {1: "fast"}}: an option.
  EXPECT_THAT(compile(kProgram, std::string("\x1a\x04\x20\x02\x28\x02", 6)).message,
              HasSubstr("[compile] expected several partitions or several replicas"));
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
    PJRT_LoadedExecutable* const loaded = compiled(kProgram, options);
    PJRT_Executable* const compiled_program = executable_of(loaded);
    auto serialize = args<PJRT_Executable_Serialize_Args>();
    serialize.executable = compiled_program;
    expect_ok(api().PJRT_Executable_Serialize(&serialize));
    executable.assign(serialize.serialized_bytes, serialize.serialized_bytes_size);
    serialize.serialized_executable_deleter(serialize.serialized_executable);
    destroy(compiled_program);
    destroy(loaded);
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
}  // namespace tessera::plugin_test::api_test
