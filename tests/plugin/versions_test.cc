// Differences between versions of the C API: callers whose structs end earlier or later, and the
// functions and tables that newer callers use.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tests/plugin/plugin_test.h"
#include "xla/pjrt/c/pjrt_c_api_memory_descriptions_extension.h"

namespace tessera::plugin_test::versions_test {
namespace {

using testing::HasSubstr;

// Arguments that end after `size` bytes. The memory behind them must not be touched.
template <class Args>
struct Cut {
  explicit Cut(size_t size) : size(size) {
    std::memset(bytes, 0x5a, sizeof(bytes));
    std::memset(bytes, 0, size);
    at().struct_size = size;
  }
  Args& at() { return *reinterpret_cast<Args*>(bytes); }
  bool untouched_behind() const {
    return std::all_of(bytes + size, bytes + sizeof(bytes),
                       [](unsigned char b) { return b == 0x5a; });
  }
  size_t size;
  alignas(16) unsigned char bytes[sizeof(Args) + 64];
};

class Compiled : public Plugin {
 protected:
  void SetUp() override {
    loaded = compiled(kProgram, std::string("\x1a\x02\x28\x01", 4));
    executable = executable_of(loaded);
  }
  void TearDown() override {
    destroy(executable);
    destroy(loaded);
  }
  PJRT_LoadedExecutable* loaded = nullptr;
  PJRT_Executable* executable = nullptr;
};

TEST_F(Compiled, StructsOfOlderCallersAreReadAndWrittenAsFarAsTheyGo) {
  using Stats = PJRT_Executable_GetCompiledMemoryStats_Args;
  Cut<Stats> old(PJRT_STRUCT_SIZE(Stats, peak_memory_in_bytes));
  old.at().executable = executable;
  expect_ok(api().PJRT_Executable_GetCompiledMemoryStats(&old.at()));
  EXPECT_EQ(old.at().argument_size_in_bytes, 16);
  EXPECT_EQ(old.at().output_size_in_bytes, 16);
  EXPECT_GE(old.at().peak_memory_in_bytes, 32);
  EXPECT_EQ(old.at().struct_size, old.size);
  EXPECT_TRUE(old.untouched_behind());

  Cut<Stats> whole(sizeof(Stats));
  whole.at().executable = executable;
  expect_ok(api().PJRT_Executable_GetCompiledMemoryStats(&whole.at()));
  EXPECT_GE(whole.at().total_size_in_bytes, whole.at().peak_memory_in_bytes);
  EXPECT_EQ(whole.at().indefinite_allocations, 0);

  Cut<Stats> newer(sizeof(Stats) + 16);
  newer.at().executable = executable;
  expect_ok(api().PJRT_Executable_GetCompiledMemoryStats(&newer.at()));
  EXPECT_EQ(newer.at().argument_size_in_bytes, 16);
}

TEST_F(Plugin, StructsThatLackWhatIsNeededAreRefused) {
  Cut<PJRT_Client_Compile_Args> a(PJRT_STRUCT_SIZE(PJRT_Client_Compile_Args, client));
  a.at().client = client;
  const Error error = taken(api().PJRT_Client_Compile(&a.at()));
  EXPECT_EQ(error.code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("[tessera] expected PJRT_Client_Compile_Args of at least 56 "
                                       "bytes, got 24; use jaxlib 0.8 or later"));
  EXPECT_TRUE(a.untouched_behind());
}

TEST_F(Plugin, ErrorsHaveAFunctionTable) {
  auto a = args<PJRT_Client_DmaMap_Args>();
  a.client = client;
  PJRT_Error* error = api().PJRT_Client_DmaMap(&a);
  ASSERT_NE(error, nullptr);
  const PJRT_Error_FunctionTable& table = *error->vtable;
  EXPECT_EQ(table.struct_size, size_t{PJRT_Error_FunctionTable_STRUCT_SIZE});
  EXPECT_EQ(table.get_code(error), PJRT_Error_Code_UNIMPLEMENTED);
  const char* message = nullptr;
  size_t size = 0;
  table.message(error, &message, &size);
  EXPECT_THAT(std::string(message, size), HasSubstr("PJRT_Client_DmaMap"));
  const auto count = [](const char*, size_t, const char*, size_t, void* n) {
    ++*static_cast<int*>(n);
  };
  int payloads = 0;
  table.for_each_payload(error, count, &payloads);
  auto each = args<PJRT_Error_ForEachPayload_Args>();
  each.error = error;
  each.visitor = count;
  each.user_arg = &payloads;
  expect_ok(api().PJRT_Error_ForEachPayload(&each));
  EXPECT_EQ(payloads, 0);
  table.destroy(error);
}

TEST(Memories, KeepWhatCallersAttach) {
  PJRT_Client* client = nullptr;
  auto create = args<PJRT_Client_Create_Args>();
  expect_ok(api().PJRT_Client_Create(&create));
  client = create.client;
  auto all = args<PJRT_Client_AddressableMemories_Args>();
  all.client = client;
  expect_ok(api().PJRT_Client_AddressableMemories(&all));
  PJRT_Memory* memory = all.addressable_memories[0];
  const PJRT_Memory_FunctionTable& table = *memory->vtable;
  static int destroyed;
  destroyed = 0;
  int first = 1, second = 2, key = 0, other = 0;
  const auto count = [](void* value) { destroyed += *static_cast<int*>(value); };
  EXPECT_EQ(table.get_user_data(memory, &key), nullptr);
  table.set_user_data(memory, &key, &first, count);
  EXPECT_EQ(table.get_user_data(memory, &key), &first);
  EXPECT_EQ(table.get_user_data(memory, &other), nullptr);
  EXPECT_EQ(all.addressable_memories[1]->vtable->get_user_data(all.addressable_memories[1], &key),
            nullptr);
  table.set_user_data(memory, &key, &second, count);
  EXPECT_EQ(destroyed, 1) << "the value that was there before";
  auto destroy = args<PJRT_Client_Destroy_Args>();
  destroy.client = client;
  expect_ok(api().PJRT_Client_Destroy(&destroy));
  EXPECT_EQ(destroyed, 3) << "with the client";
}

TEST_F(Compiled, LoadedAgainItRunsOnTheSameDevices) {
  auto load = args<PJRT_Client_Load_Args>();
  load.client = client;
  load.executable = executable;
  expect_ok(api().PJRT_Client_Load(&load));
  auto ids = args<PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args>();
  ids.executable = load.loaded_executable;
  expect_ok(api().PJRT_LoadedExecutable_AddressableDeviceLogicalIds(&ids));
  ASSERT_EQ(ids.num_addressable_device_logical_ids, 1U);
  EXPECT_EQ(ids.addressable_device_logical_ids[0].replica, 0);
  EXPECT_EQ(ids.addressable_device_logical_ids[0].partition, 0);
  destroy(load.loaded_executable);

  auto kinds = args<PJRT_Executable_ParameterMemoryKinds_Args>();
  kinds.executable = executable;
  expect_ok(api().PJRT_Executable_ParameterMemoryKinds(&kinds));
  ASSERT_EQ(kinds.num_parameters, 1U);
  EXPECT_EQ(std::string(kinds.memory_kinds[0], kinds.memory_kind_sizes[0]), "device");
}

uint64_t fingerprint(const std::string& devices) {
  auto create = args<PJRT_TopologyDescription_Create_Args>();
  create.topology_name = devices.data();
  create.topology_name_size = devices.size();
  expect_ok(api().PJRT_TopologyDescription_Create(&create));
  auto a = args<PJRT_TopologyDescription_Fingerprint_Args>();
  a.topology = create.topology;
  expect_ok(api().PJRT_TopologyDescription_Fingerprint(&a));
  auto kinds = args<PJRT_TopologyDescription_GetMemorySpaceKindIds_Args>();
  kinds.topology = create.topology;
  expect_ok(api().PJRT_TopologyDescription_GetMemorySpaceKindIds(&kinds));
  EXPECT_EQ(kinds.num_memory_space_kind_ids, 3U);
  EXPECT_EQ(kinds.memory_space_kind_ids[2], 2);
  auto destroy = args<PJRT_TopologyDescription_Destroy_Args>();
  destroy.topology = create.topology;
  expect_ok(api().PJRT_TopologyDescription_Destroy(&destroy));
  return a.fingerprint;
}

TEST_F(Plugin, TopologiesHaveFingerprints) {
  EXPECT_EQ(fingerprint("tpu_v4:2x2x1"), fingerprint("tpu_v4:2x2x1"));
  EXPECT_NE(fingerprint("tpu_v4:2x2x1"), fingerprint("tpu_v4:2x1x1"));
  EXPECT_NE(fingerprint("cpu:2"), fingerprint("cpu:3"));
}

const PJRT_Extension_Base* extension(PJRT_Extension_Type type) {
  const PJRT_Extension_Base* at = api().extension_start;
  while (at && at->type != type) at = at->next;
  return at;
}

TEST_F(Plugin, DevicesThatAreNotThereHaveKindsOfMemory) {
  const auto* memories = reinterpret_cast<const PJRT_MemoryDescriptions_Extension*>(
      extension(PJRT_Extension_Type_MemoryDescriptions));
  ASSERT_NE(memories, nullptr);
  auto devices = args<PJRT_Client_TopologyDescription_Args>();
  devices.client = client;
  expect_ok(api().PJRT_Client_TopologyDescription(&devices));
  auto all = args<PJRT_TopologyDescription_GetDeviceDescriptions_Args>();
  all.topology = devices.topology;
  expect_ok(api().PJRT_TopologyDescription_GetDeviceDescriptions(&all));
  auto a = args<PJRT_DeviceDescription_MemoryDescriptions_Args>();
  a.device_description = all.descriptions[1];
  expect_ok(memories->PJRT_DeviceDescription_MemoryDescriptions(&a));
  EXPECT_EQ(a.default_memory_index, 0U);
  std::vector<std::string> kinds;
  for (size_t k = 0; k < a.num_memory_descriptions; ++k) {
    auto kind = args<PJRT_MemoryDescription_Kind_Args>();
    kind.memory_description = a.memory_descriptions[k];
    expect_ok(memories->PJRT_MemoryDescription_Kind(&kind));
    EXPECT_EQ(kind.kind_id, static_cast<int>(k));
    kinds.emplace_back(kind.kind, kind.kind_size);
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"device", "pinned_host", "unpinned_host"}));
}

TEST_F(Plugin, BuffersAreReadAsElementsOfAnotherType) {
  alignas(64) std::array<float, 4> data{1, -2, 0, 8};
  const int64_t n = 4;
  auto a = host_args(client, memory, data.data(), n);
  expect_ok(api().PJRT_Client_BufferFromHostBuffer(&a));
  destroy(a.done_with_host_buffer);
  const auto bitcast = [&](PJRT_Buffer_Type type, std::vector<int64_t> dims,
                           PJRT_Buffer_MemoryLayout* layout = nullptr) {
    auto b = args<PJRT_Buffer_Bitcast_Args>();
    b.buffer = a.buffer;
    b.element_type = type;
    b.dims = dims.data();
    b.num_dims = dims.size();
    b.device_layout = layout;
    const Error error = taken(api().PJRT_Buffer_Bitcast(&b));
    return std::pair(b.out_buffer, error);
  };
  const auto [bits, error] = bitcast(PJRT_Buffer_Type_U32, {2, 2});
  ASSERT_EQ(error.message, "");
  std::array<uint32_t, 4> out{};
  auto to_host = args<PJRT_Buffer_ToHostBuffer_Args>();
  to_host.src = bits;
  to_host.dst = out.data();
  to_host.dst_size = sizeof(out);
  expect_ok(api().PJRT_Buffer_ToHostBuffer(&to_host));
  destroy(to_host.event);
  EXPECT_EQ(out, (std::array<uint32_t, 4>{0x3f800000, 0xc0000000, 0, 0x41000000}));
  destroy(bits);
  EXPECT_THAT(bitcast(PJRT_Buffer_Type_U32, {5}).second.message,
              HasSubstr("[bitcast] expected a type and shape of 16 bytes, got 20"));
  EXPECT_THAT(bitcast(PJRT_Buffer_Type_S4, {16}).second.message,
              HasSubstr("[bitcast] expected elements of whole bytes, got float32 as int4"));
  const std::array<int64_t, 2> columns{0, 1};
  PJRT_Buffer_MemoryLayout layout{};
  layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.minor_to_major = columns.data();
  layout.tiled.minor_to_major_size = columns.size();
  EXPECT_THAT(bitcast(PJRT_Buffer_Type_U32, {2, 2}, &layout).second.message,
              HasSubstr("[bitcast] expected a layout with the last dimension innermost"));
  destroy(a.buffer);
}

}  // namespace
}  // namespace tessera::plugin_test::versions_test
