#include "tessera/mesh/sharding.h"

#include <gmock/gmock.h>

#include "tessera/base/error.h"
#include "tessera/mesh/format.h"

namespace tessera::sharding_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<Device> eight = parse_devices("tpu_v2:2x2");
const Mesh grid(DeviceMesh{{2, 4}, eight}, {"x", "y"});

TEST(Sharding, PrintsAsTheKindItIs) {
  EXPECT_EQ(fmt::format("{}", Sharding(SingleDeviceSharding(eight[0]))),
            "SingleDeviceSharding(device=TpuDevice(id=0, process_index=0, coords=(0,0,0), "
            "core_on_chip=0))");
  EXPECT_EQ(fmt::format("{}", Sharding(NamedSharding(grid, P("x")))),
            "NamedSharding(mesh=Mesh('x': 2, 'y': 4), spec=PartitionSpec('x'))");
}

TEST(Sharding, EqualityAcrossKindsAndWithNamed) {
  NamedSharding named(grid, P("x"));
  Sharding sharding = named;
  EXPECT_TRUE(sharding == NamedSharding(grid, P("x", None)));
  EXPECT_TRUE(NamedSharding(grid, P("x", None)) == sharding);
  EXPECT_FALSE(sharding == NamedSharding(grid, P("y")));
  EXPECT_TRUE(Sharding(SingleDeviceSharding(eight[1])) == SingleDeviceSharding(eight[1]));
  EXPECT_FALSE(Sharding(SingleDeviceSharding(eight[1])) == SingleDeviceSharding(eight[2]));
  EXPECT_FALSE(sharding == Sharding(SingleDeviceSharding(eight[0])));
  EXPECT_EQ(sharding.hash(), Sharding(NamedSharding(grid, P("x", None))).hash());
}

TEST(Sharding, ForwardsToTheNamedOne) {
  Sharding sharding = NamedSharding(grid, P("x", "y"));
  EXPECT_TRUE(sharding.is_named());
  EXPECT_EQ(sharding.shard_shape({4, 8}), (Shape{2, 2}));
  EXPECT_EQ(sharding.num_shards(1), 4);
  EXPECT_EQ(sharding.num_devices(), 8);
  EXPECT_EQ(sharding.devices(), eight);
  EXPECT_FALSE(sharding.is_fully_replicated());
  EXPECT_EQ(sharding.devices_indices_map({4, 8}).size(), 8u);
}

TEST(Sharding, OfOneDevice) {
  Sharding sharding = SingleDeviceSharding(eight[3]);
  EXPECT_FALSE(sharding.is_named());
  EXPECT_EQ(sharding.shard_shape({4, 8}), (Shape{4, 8}));
  EXPECT_EQ(sharding.num_shards(0), 1);
  EXPECT_THAT(sharding.device_ids(), ElementsAre(3));
  EXPECT_TRUE(sharding.is_fully_replicated());
  EXPECT_THAT(sharding.devices_indices_map({4, 8}), ElementsAre(DeviceIndex{3, {{0, 4}, {0, 8}}}));
}

TEST(Sharding, EquivalenceAcrossKinds) {
  Sharding single = SingleDeviceSharding(eight[3]);
  EXPECT_TRUE(single.is_equivalent_to(NamedSharding(Mesh({eight[3]}, {"x"}), P("x")), 1));
  EXPECT_FALSE(single.is_equivalent_to(NamedSharding(Mesh({eight[2]}, {"x"}), P("x")), 1));
  EXPECT_FALSE(single.is_equivalent_to(NamedSharding(grid, P()), 1));
}

TEST(Sharding, Errors) {
  Sharding single = SingleDeviceSharding(eight[3]), named = NamedSharding(grid, P());
  EXPECT_THAT([&] { single.named(); },
              ::testing::ThrowsMessage<UserError>(HasSubstr(
                  "[Sharding] expected a NamedSharding, got SingleDeviceSharding(device=")));
  EXPECT_THAT([&] { named.single(); },
              ::testing::ThrowsMessage<UserError>(HasSubstr(
                  "[Sharding] expected a SingleDeviceSharding, got NamedSharding(mesh=")));
}

}  // namespace
}  // namespace tessera::sharding_test
