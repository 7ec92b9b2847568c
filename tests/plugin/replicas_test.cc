// Programs of several replicas: each device runs the whole program with arguments and results of
// its own.
#include <gmock/gmock.h>

#include <array>

#include "tests/plugin/plugin_test.h"
#include "xla/pjrt/c/pjrt_c_api_shardings_extension.h"

namespace tessera::plugin_test::replicas_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// CompileOptionsProto: 3 executable_build_options { 4 num_replicas, 5 num_partitions }.
std::string options(char replicas, char partitions = 1) {
  return std::string("\x1a\x04\x20", 3) + replicas + '\x28' + partitions;
}
const std::string kTwo = options(2);

class Replicas : public Plugin {
 protected:
  void SetUp() override {
    auto all = args<PJRT_Client_AddressableMemories_Args>();
    all.client = client;
    expect_ok(api().PJRT_Client_AddressableMemories(&all));
    memories = {all.addressable_memories[0], all.addressable_memories[3]};
  }

  static PJRT_Buffer* buffer(PJRT_Memory* memory, const std::vector<float>& values) {
    const auto n = static_cast<int64_t>(values.size());
    auto a = host_args(client, memory, values.data(), n);
    expect_ok(api().PJRT_Client_BufferFromHostBuffer(&a));
    if (a.done_with_host_buffer) destroy(a.done_with_host_buffer);
    return a.buffer;
  }

  // Runs a program of one argument and one result, vectors of n elements, on both devices. Returns
  // the results one after the other.
  std::vector<float> run(const std::string& program, const std::string& with,
                         const std::vector<std::vector<float>>& arguments) {
    PJRT_LoadedExecutable* loaded = compiled(program, with);
    if (!loaded) return {};
    std::array<PJRT_Buffer*, 2> in{}, out{};
    std::array<PJRT_Buffer* const*, 2> in_lists{};
    std::array<PJRT_Buffer**, 2> out_lists{};
    for (size_t d = 0; d < 2; ++d) {
      in[d] = buffer(memories[d], arguments[d]);
      in_lists[d] = &in[d];
      out_lists[d] = &out[d];
    }
    auto how = args<PJRT_ExecuteOptions>();
    auto a = args<PJRT_LoadedExecutable_Execute_Args>();
    a.executable = loaded;
    a.options = &how;
    a.argument_lists = in_lists.data();
    a.num_devices = 2;
    a.num_args = 1;
    a.output_lists = out_lists.data();
    expect_ok(api().PJRT_LoadedExecutable_Execute(&a));
    std::vector<float> results;
    for (size_t d = 0; d < 2; ++d) {
      const std::vector<float> own = read(out[d], arguments[d].size());
      results.insert(results.end(), own.begin(), own.end());
      destroy(in[d]);
      destroy(out[d]);
    }
    destroy(loaded);
    return results;
  }

  std::array<PJRT_Memory*, 2> memories{};
};

// A program whose result is `op` of its argument.
std::string program(const std::string& op) {
  return "module { func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> { %0 = " + op +
         " return %0 : tensor<2xf32> } }";
}
const std::string kUnary = " : (tensor<2xf32>) -> tensor<2xf32>";

TEST_F(Replicas, EachDeviceHasValuesOfItsOwn) {
  EXPECT_THAT(run(program("stablehlo.add %x, %x : tensor<2xf32>"), kTwo, {{1, 2}, {3, 4}}),
              ElementsAre(2, 4, 6, 8));
}

TEST_F(Replicas, CollectivesAreAmongReplicas) {
  const std::string add =
      " ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %1 = stablehlo.add %a, %b : tensor<f32> "
      "stablehlo.return %1 : tensor<f32> })";
  const auto sum = [&](const std::string& groups) {
    return program("\"stablehlo.all_reduce\"(%x) <{replica_groups = " + groups + "}>" + add +
                   kUnary);
  };
  const std::vector<std::vector<float>> x{{1, 2}, {3, 4}};
  EXPECT_THAT(run(sum("dense<[[0, 1]]> : tensor<1x2xi64>"), kTwo, x), ElementsAre(4, 6, 4, 6));
  EXPECT_THAT(run(sum("dense<> : tensor<0x0xi64>"), kTwo, x), ElementsAre(4, 6, 4, 6)) << "all";
  EXPECT_THAT(run(sum("dense<[[0], [1]]> : tensor<2x1xi64>"), kTwo, x), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(run(program("\"stablehlo.cross-replica-sum\"(%x) <{replica_groups = dense<[[0, 1]]> "
                          ": tensor<1x2xi64>}>" +
                          kUnary),
                  kTwo, x),
              ElementsAre(4, 6, 4, 6));
  EXPECT_THAT(run(program("\"stablehlo.collective_permute\"(%x) <{source_target_pairs = "
                          "dense<[[0, 1]]> : tensor<1x2xi64>}>" +
                          kUnary),
                  kTwo, x),
              ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(
      run(program("\"stablehlo.all_to_all\"(%x) <{split_dimension = 0 : i64, concat_dimension = 0 "
                  ": i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : "
                  "tensor<1x2xi64>}>" +
                  kUnary),
          kTwo, x),
      ElementsAre(1, 3, 2, 4));
}

TEST_F(Replicas, SumsOfBooleansTellWhetherOneIsTrue) {
  EXPECT_THAT(
      run("module { func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> { "
          "%two = stablehlo.constant dense<2.0> : tensor<2xf32> "
          "%large = stablehlo.compare GT, %x, %two : (tensor<2xf32>, tensor<2xf32>) -> "
          "tensor<2xi1> %some = \"stablehlo.cross-replica-sum\"(%large) <{replica_groups = "
          "dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xi1>) -> tensor<2xi1> %0 = "
          "stablehlo.convert %some : (tensor<2xi1>) -> tensor<2xf32> return %0 : tensor<2xf32> } }",
          kTwo, {{1, 3}, {2, 4}}),
      ElementsAre(0, 1, 0, 1));
}

TEST_F(Replicas, HaveNumbers) {
  const auto number = [](const std::string& op) {
    return program("stablehlo." + op +
                   " : tensor<ui32> %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<f32> %2 = "
                   "stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<2xf32> %3 = "
                   "stablehlo.add %x, %2 : tensor<2xf32>");
  };
  auto text = number("replica_id");
  const auto returning = [](std::string program) {
    return program.replace(program.rfind("%0 : tensor<2xf32>"), 2, "%3");
  };
  EXPECT_THAT(run(returning(text), kTwo, {{1, 2}, {3, 4}}), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(run(returning(number("partition_id")), kTwo, {{1, 2}, {3, 4}}),
              ElementsAre(1, 2, 3, 4));
}

TEST_F(Replicas, SayHowManyTheyAreAndWhere) {
  // 9 device_assignment { 1 replica_count, 2 computation_count, 3 { 1 replica_device_ids } }
  const std::string assignment("\x08\x02\x10\x01\x1a\x04\x0a\x02\x01\x00", 10);
  const std::string with = std::string("\x1a\x10\x20\x02\x28\x01\x4a\x0a", 8) + assignment;
  PJRT_LoadedExecutable* loaded = compiled(program("stablehlo.negate %x : tensor<2xf32>"), with);
  ASSERT_NE(loaded, nullptr);
  PJRT_Executable* executable = executable_of(loaded);
  auto replicas = args<PJRT_Executable_NumReplicas_Args>();
  replicas.executable = executable;
  expect_ok(api().PJRT_Executable_NumReplicas(&replicas));
  EXPECT_EQ(replicas.num_replicas, 2U);
  auto partitions = args<PJRT_Executable_NumPartitions_Args>();
  partitions.executable = executable;
  expect_ok(api().PJRT_Executable_NumPartitions(&partitions));
  EXPECT_EQ(partitions.num_partitions, 1U);
  auto ids = args<PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args>();
  ids.executable = loaded;
  expect_ok(api().PJRT_LoadedExecutable_AddressableDeviceLogicalIds(&ids));
  ASSERT_EQ(ids.num_addressable_device_logical_ids, 2U);
  EXPECT_EQ(ids.addressable_device_logical_ids[1].replica, 1);
  EXPECT_EQ(ids.addressable_device_logical_ids[1].partition, 0);
  auto where = args<PJRT_LoadedExecutable_GetDeviceAssignment_Args>();
  where.executable = loaded;
  expect_ok(api().PJRT_LoadedExecutable_GetDeviceAssignment(&where));
  EXPECT_EQ(std::string(where.serialized_bytes, where.serialized_bytes_size), assignment);
  where.serialized_device_assignment_deleter(where.serialized_device_assignment);
  for (const PJRT_Extension_Base* at = api().extension_start; at; at = at->next) {
    if (at->type != PJRT_Extension_Type_Shardings) continue;
    auto in = args<PJRT_Shardings_PJRT_Executable_ParameterShardings_Args>();
    in.executable = executable;
    expect_ok(reinterpret_cast<const PJRT_Shardings_Extension*>(at)
                  ->PJRT_Shardings_PJRT_Executable_ParameterShardings(&in));
    ASSERT_EQ(in.num_parameters, 1U);
    const std::string whole("\x08\x00", 2);  // type REPLICATED
    EXPECT_EQ(std::string(in.shardings[0], in.sharding_sizes[0]), whole);
  }
  destroy(executable);
  destroy(loaded);
}

TEST_F(Replicas, NotWithPartitionsToo) {
  EXPECT_THAT(compile(kProgram, options(2, 2)).message,
              HasSubstr("[compile] expected several partitions or several replicas of a program, "
                        "got 2 replicas of 2 partitions each; use one partition for each device"));
  EXPECT_THAT(compile(kProgram, options(3)).message,
              HasSubstr("expected a program for devices of this client, which has 2"));
  EXPECT_EQ(compile(kProgram, kTwo).message, "") << "the client is as it was";
}

}  // namespace
}  // namespace tessera::plugin_test::replicas_test
