#include "tessera/numpy/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run.h"
#include "tessera/base/namespaces.h"
#include "tessera/control/control.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/numpy/collectives.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/operators.h"

namespace tessera::placement_test {

using namespace tracing;

namespace {

using ::testing::HasSubstr;

class PlacementTest : public ::testing::Test {
 protected:
  void SetUp() override {
    initialize({.devices = "cpu:8"});
    mesh_ = Mesh(create_device_mesh({2, 4}), {"x", "y"});
  }
  void TearDown() override { initialize({.devices = "cpu:1"}); }
  Mesh mesh_;
};

TEST_F(PlacementTest, DevicePutMovesAndKeepsValues) {
  const Array x = reshape(arange(32.0f), {4, 8});
  EXPECT_FALSE(x.sharding().is_named());
  const NamedSharding sharding(mesh_, P("x", "y"));
  const Array y = device_put(x, sharding);
  EXPECT_EQ(y.sharding(), Sharding(sharding));
  EXPECT_EQ(y.to_host(), x.to_host());
  const std::vector<Shard> shards = addressable_shards(y);
  ASSERT_EQ(shards.size(), 8u);
  EXPECT_EQ(shards[0].data, Literal::from<float>(std::vector<float>{0, 1, 8, 9}, {2, 2}));
  const Array back = device_put(y, devices()[3]);
  EXPECT_EQ(back.sharding(), Sharding(SingleDeviceSharding(devices()[3])));
  EXPECT_EQ(back.to_host(), x.to_host());
  EXPECT_TRUE(is_fully_replicated(device_put(y, NamedSharding(mesh_, P()))));
}

TEST_F(PlacementTest, TreesMoveLeafByLeaf) {
  struct Layer {
    Array kernel, bias;
  };
  const Layer layer{reshape(arange(8.0f), {2, 4}), arange(4.0f)};
  const Layer moved = device_put(layer, NamedSharding(mesh_, P("x")));
  EXPECT_TRUE(moved.kernel.sharding().is_named());
  EXPECT_TRUE(moved.bias.sharding().is_named());
  EXPECT_EQ(moved.bias.to_host(), layer.bias.to_host());
  const std::vector<Array> constrained =
      with_sharding_constraint(std::vector<Array>{layer.bias}, NamedSharding(mesh_, P("y")));
  EXPECT_EQ(constrained[0].sharding(), Sharding(NamedSharding(mesh_, P("y"))));
}

TEST_F(PlacementTest, ConstraintsAreRecordedInATrace) {
  FunctionTrace trace;
  const Array x = trace.add_input(Type{.dtype = float32, .shape = {8}});
  const NamedSharding sharding(mesh_, P("y"));
  const Array y = with_sharding_constraint(x, sharding), z = device_put(x, sharding);
  const Function f = trace.finish(std::vector<Array>{y, z});
  ASSERT_EQ(f.ops.size(), 2u);
  for (const Op& op : f.ops) EXPECT_EQ(op.def, &sharding_constraint_op);
}

TEST_F(PlacementTest, CallbacksMakeShards) {
  const Array x = make_array_from_callback(
      {8}, NamedSharding(mesh_, P("y")), int32, [](const ShardIndex& index) {
        std::vector<int32_t> values;
        for (int64_t i = index[0].start; i < index[0].stop; ++i)
          values.push_back(static_cast<int32_t>(10 * i));
        return Literal::from<int32_t>(values, {index[0].size()});
      });
  EXPECT_EQ(to_vector<int>(x), (std::vector<int>{0, 10, 20, 30, 40, 50, 60, 70}));
  EXPECT_THROW(make_array_from_callback({8}, NamedSharding(mesh_, P("y")), int32,
                                        [](const ShardIndex&) { return Literal(int32, {3}); }),
               UserError);
}

TEST_F(PlacementTest, Visualization) {
  ::testing::internal::CaptureStdout();
  visualize_array_sharding(device_put(arange(8.0f), NamedSharding(mesh_, P("y"))));
  const std::string drawn = ::testing::internal::GetCapturedStdout();
  EXPECT_THAT(drawn, HasSubstr("CPU 0,4"));
  EXPECT_THAT(drawn, HasSubstr("│"));
}

TEST_F(PlacementTest, Errors) {
  const Array x = arange(8.0f);
  const auto expect = [](const std::function<void()>& f, ErrorKind kind, const char* text) {
    try {
      f();
      ADD_FAILURE() << "no error; expected: " << text;
    } catch (const UserError& e) {
      EXPECT_EQ(e.kind(), kind) << e.what();
      EXPECT_THAT(e.what(), HasSubstr(text));
    }
  };
  const NamedSharding long_spec(mesh_, P("x", "y"));
  expect([&] { device_put(x, long_spec); }, ErrorKind::kSharding, "[device_put]");
  expect([&] { with_sharding_constraint(x, long_spec); }, ErrorKind::kSharding,
         "[with_sharding_constraint]");
  expect([] { psum(1, "x"); }, ErrorKind::kSharding,
         "[psum] expected an axis bound by shard_map (or by vmap's axis_name), got 'x'");
  FunctionTrace trace;
  const Array t = trace.add_input(Type{.dtype = float32, .shape = {8}});
  expect([&] { device_put(t, devices()[0]); }, ErrorKind::kTrace,
         "[device_put] expected a NamedSharding for the traced float32[8]");
  expect([&] { addressable_shards(t); }, ErrorKind::kTrace,
         "[addressable_shards] expected a concrete array");
}

}  // namespace
}  // namespace tessera::placement_test
