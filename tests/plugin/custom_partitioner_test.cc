// PJRT's extension for custom partitioners: what callbacks get, and how their answers are used.
#include <gmock/gmock.h>

#include "tests/plugin/plugin_test.h"
#include "xla/pjrt/c/pjrt_c_api_custom_partitioner_extension.h"

namespace tessera::plugin_test::custom_partitioner_test {
namespace {

using testing::HasSubstr;

const PJRT_Custom_Partitioner_Extension* extension() {
  for (const PJRT_Extension_Base* e = api().extension_start; e; e = e->next)
    if (e->type == PJRT_Extension_Type_Custom_Partitioner)
      return reinterpret_cast<const PJRT_Custom_Partitioner_Extension*>(e);
  return nullptr;
}

// OpSharding in XLA's wire format: two tiles of the first of two dimensions, on devices 0 and 1.
const std::string kRows("\x08\x03\x1a\x02\x02\x01\x22\x02\x00\x01", 10);
const std::string kWhole("\x08\x00", 2);
// The same tiles as kRows, with the devices as an iota.
const std::string kIotaRows("\x08\x03\x1a\x02\x02\x01\x4a\x01\x02\x52\x01\x00", 12);
// Three tiles, although there are two devices; and a tile on a device that does not exist.
const std::string kThree("\x08\x03\x1a\x02\x03\x01\x22\x03\x00\x01\x02", 11);
const std::string kElsewhere("\x08\x03\x1a\x02\x02\x01\x22\x02\x00\x07", 10);
// A type of XLA's shardings that has no tiles.
const std::string kManual("\x08\x04", 2);

constexpr const char* kSine =
    "module { func.func public @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> { "
    "%0 = stablehlo.sine %x : tensor<2x2xf32> return %0 : tensor<2x2xf32> } }";

// A partitioner whose answer the test sets.
struct Partitioner {
  JAX_CustomCallPartitioner_Callbacks callbacks{};
  std::string module = kSine, operand = kRows, result = kRows, error;
  std::string seen_config, seen_shape, seen_sharding;
  int cleanups = 0, ends = 0;
  JAX_CustomCallPartitioner_string operand_text{};
};

void on_partition(JAX_CustomCallPartitioner_Callbacks* callbacks,
                  JAX_CustomCallPartitioner_Partition_Args* a) {
  auto& p = *static_cast<Partitioner*>(callbacks->private_data);
  const auto text = [](const JAX_CustomCallPartitioner_string& s) {
    return std::string(s.data, s.size);
  };
  p.seen_config = text(a->backend_config);
  p.seen_shape = text(a->op_args[0].shape);
  p.seen_sharding = text(a->op_args[0].sharding);
  a->header.data = &p;
  a->header.cleanup_fn = [](void* data) { ++static_cast<Partitioner*>(data)->cleanups; };
  a->header.has_error = !p.error.empty();
  a->header.code = PJRT_Error_Code_INTERNAL;
  a->header.error_msg = {p.error.data(), p.error.size()};
  p.operand_text = {p.operand.data(), p.operand.size()};
  a->args_sharding = &p.operand_text;
  a->result_sharding = {p.result.data(), p.result.size()};
  a->mlir_module = {p.module.data(), p.module.size()};
}

class CustomPartitioner : public Plugin {
 protected:
  static void set(Partitioner& p, const std::string& name = "test.by_rows") {
    p.callbacks.private_data = &p;
    p.callbacks.partition = on_partition;
    p.callbacks.dtor = [](auto* c) { ++static_cast<Partitioner*>(c->private_data)->ends; };
    PJRT_Register_Custom_Partitioner_Args a{};
    a.struct_size = PJRT_Register_Custom_Partitioner_Args_STRUCT_SIZE;
    a.name = name.data();
    a.name_size = name.size();
    a.callbacks = &p.callbacks;
    expect_ok(extension()->register_custom_partitioner(&a));
  }
  void TearDown() override {
    // After a test the registry refers to `last`, not to the partitioner of the test.
    static Partitioner& last = *new Partitioner;
    set(last);
  }
  Partitioner p, other;

  static std::string compiled() {
    return compile(
               "module attributes {mhlo.num_partitions = 2 : i32} { sdy.mesh @mesh = <[\"x\"=2]> "
               "func.func public @main(%x: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, "
               "[{\"x\"}, {}]>}) -> tensor<4x2xf32> { %0 = stablehlo.custom_call @test.by_rows(%x) "
               "{api_version = 2 : i32, backend_config = \"17\", sdy.sharding_rule = "
               "#sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=2}, custom>} : (tensor<4x2xf32>) "
               "-> "
               "tensor<4x2xf32> return %0 : tensor<4x2xf32> } }",
               std::string("\x1a\x04\x20\x01\x28\x02", 6))
        .message;
  }
};

TEST_F(CustomPartitioner, GetsMessagesOfXla) {
  ASSERT_NE(extension(), nullptr);
  set(p);
  EXPECT_EQ(compiled(), "");
  EXPECT_EQ(p.seen_config, "17");
  EXPECT_EQ(p.seen_shape, std::string("\x10\x0b\x1a\x02\x04\x02", 6)) << "float32[4,2]";
  EXPECT_EQ(p.seen_sharding, kRows);
  EXPECT_EQ(p.cleanups, 1);
}

TEST_F(CustomPartitioner, ReadsShardingsInEveryForm) {
  set(p);
  p.operand = p.result = kIotaRows;
  EXPECT_EQ(compiled(), "");
  p.operand = p.result = kWhole;
  EXPECT_THAT(compiled(), HasSubstr("[custom_partitioning] expected the function of one device to "
                                    "have operand 0 of float32[4,2]"));
}

TEST_F(CustomPartitioner, ErrorsAndAnswersThatDoNotFit) {
  set(p);
  p.error = "KeyError: no rule";
  EXPECT_THAT(compiled(), HasSubstr("[custom_partitioning] expected the callback `partition` of "
                                    "'test.by_rows' to return, got its error: KeyError: no rule; "
                                    "correct the callback"));
  EXPECT_EQ(p.cleanups, 1);
  p.error.clear();
  for (const std::string& sharding : {kThree, kElsewhere, kManual}) {
    p.operand = sharding;
    EXPECT_THAT(compiled(), HasSubstr("[custom_partitioning] expected a sharding over axes of the "
                                      "program's mesh"));
  }
  p.operand = "\xff";
  EXPECT_THAT(compiled(), HasSubstr("expected a sharding, got bytes that are none"));
  p.operand = kRows;
  p.module = "module {";
  EXPECT_THAT(compiled(), HasSubstr("[parse] test.by_rows"));
  p.module = kSine;
  EXPECT_EQ(compiled(), "") << "the client is as it was";
}

TEST_F(CustomPartitioner, EndsWhenAnotherTakesItsName) {
  Partitioner &first = p, &second = other;
  set(first);
  set(second);
  EXPECT_EQ(first.ends, 1);
  EXPECT_EQ(compiled(), "");
  EXPECT_EQ(first.seen_config, "");
  EXPECT_EQ(second.seen_config, "17");
}

TEST_F(CustomPartitioner, CallsThatCouldRunOnPartsOfABatchAreTaken) {
  PJRT_Register_Batch_Partitionable_Args a{};
  a.struct_size = PJRT_Register_Batch_Partitionable_Args_STRUCT_SIZE;
  a.name = "test.batch";
  a.name_size = 10;
  expect_ok(extension()->register_batch_partitionable(&a));
}

}  // namespace
}  // namespace tessera::plugin_test::custom_partitioner_test
