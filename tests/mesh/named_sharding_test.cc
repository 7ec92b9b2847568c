#include "tessera/mesh/named_sharding.h"

#include <gmock/gmock.h>

#include "../errors.h"
#include "../golden/golden.h"
#include "tessera/mesh/format.h"

namespace tessera::named_sharding_test {
namespace {

using tessera::test::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Mesh mesh_of(const Shape& shape, std::vector<std::string> names) {
  return Mesh(DeviceMesh{shape, parse_devices(fmt::format("cpu:{}", shape.elements()))},
              std::move(names));
}
const Mesh line = mesh_of({8}, {"x"});
const Mesh grid = mesh_of({2, 4}, {"x", "y"});

NamedSharding sharding_of(const golden::Json& c) {
  std::vector<DimSpec> dims;
  for (const golden::Json& axes : c.at("spec"))
    dims.push_back(joint(axes.get<std::vector<std::string>>()));
  return NamedSharding(mesh_of(golden::dims(c.at("mesh").at("shape")), c.at("mesh").at("names")),
                       P(dims));
}

TEST(NamedSharding, PlacesAsJax) {
  golden::Topic topic("named_sharding");
  for (const golden::Json& c : topic["cases"]) {
    NamedSharding sharding = sharding_of(c);
    Shape shape = golden::dims(topic["shapes"].at(std::to_string(sharding.spec().rank())));
    EXPECT_EQ(sharding.shard_shape(shape), golden::dims(c.at("shard_shape"))) << sharding;
    EXPECT_EQ(sharding.is_fully_replicated(), c.at("replicated").get<bool>()) << sharding;
    std::vector<DeviceIndex> map = sharding.devices_indices_map(shape);
    ASSERT_EQ(map.size(), 8u);
    for (const DeviceIndex& device : map) {
      for (int64_t d = 0; d < shape.rank(); ++d) {
        EXPECT_EQ(device.index[d].start, c.at("starts").at(device.device_id).at(d).get<int64_t>())
            << sharding;
        EXPECT_EQ(device.index[d].size(), c.at("shard_shape").at(d).get<int64_t>()) << sharding;
      }
    }
  }
}

TEST(NamedSharding, PlacesAsJaxInRanksOneToThree) {
  golden::Topic topic("reshard");
  for (const golden::Json& c : topic["placements"]) {
    NamedSharding sharding = sharding_of(c);
    Shape shape = golden::dims(c.at("shape"));
    EXPECT_EQ(sharding.shard_shape(shape), golden::dims(c.at("shard_shape"))) << sharding;
    EXPECT_EQ(sharding.is_fully_replicated(), c.at("replicated").get<bool>()) << sharding;
    for (const DeviceIndex& device : sharding.devices_indices_map(shape)) {
      const golden::Json& ranges = c.at("map").at(device.device_id);
      for (int64_t d = 0; d < shape.rank(); ++d)
        EXPECT_EQ(device.index[d], (IndexRange{ranges.at(d).at(0), ranges.at(d).at(1)}))
            << sharding;
    }
  }
}

TEST(NamedSharding, EquivalenceIsJaxs) {
  golden::Topic topic("named_sharding");
  int64_t equivalent = 0, pairs = 0;
  std::vector<std::pair<NamedSharding, int64_t>> shardings;
  for (const golden::Json& c : topic["cases"])
    shardings.emplace_back(sharding_of(c), c.at("class").get<int64_t>());
  for (const auto& [a, a_class] : shardings)
    for (const auto& [b, b_class] : shardings) {
      int64_t rank = a.spec().rank();
      if (b.spec().rank() != rank) continue;
      EXPECT_EQ(a.is_equivalent_to(b, rank), a_class == b_class) << a << " and " << b;
      // On one mesh, equal and equivalent shardings are the same.
      if (a.mesh() == b.mesh()) {
        EXPECT_EQ(a == b, a_class == b_class) << a << " and " << b;
        if (a == b) {
          EXPECT_EQ(a.hash(), b.hash()) << a << " and " << b;
        }
      }
      equivalent += a_class == b_class;
      ++pairs;
    }
  EXPECT_GT(equivalent, static_cast<int64_t>(shardings.size()));
  EXPECT_GT(pairs, equivalent);
}

TEST(NamedSharding, Prints) {
  EXPECT_EQ(fmt::format("{}", NamedSharding(grid, P("x", "y"))),
            "NamedSharding(mesh=Mesh('x': 2, 'y': 4), spec=PartitionSpec('x', 'y'))");
}

TEST(NamedSharding, HasAxesAndShardsOfEachDimension) {
  NamedSharding sharding(grid, P(joint("y", "x"), None, UNCONSTRAINED));
  EXPECT_THAT(sharding.dim_axes(0), ElementsAre(AxisRef{"y"}, AxisRef{"x"}));
  EXPECT_TRUE(sharding.dim_axes(1).empty());
  EXPECT_TRUE(sharding.dim_axes(7).empty());
  EXPECT_EQ(sharding.num_shards(0), 8);
  EXPECT_EQ(sharding.num_shards(1), 1);
  EXPECT_EQ(sharding.num_shards(7), 1);
  EXPECT_FALSE(sharding.is_open(0));
  EXPECT_TRUE(sharding.is_open(2));
  EXPECT_FALSE(sharding.is_open(7));
  // Device 5 is at x = 1, y = 1. With y as the major axis it has part 1 * 2 + 1.
  EXPECT_EQ(sharding.shard_coordinates(5, 3), (Dims{3, 0, 0}));
}

TEST(NamedSharding, UnevenShardsArePaddedInStorageAndShorterInTheMap) {
  NamedSharding sharding(line, P("x"));
  EXPECT_EQ(sharding.shard_shape({10, 3}), (Shape{2, 3}));
  std::vector<IndexRange> rows;
  for (const DeviceIndex& device : sharding.devices_indices_map({10, 3})) {
    rows.push_back(device.index[0]);
    EXPECT_EQ(device.index[1], (IndexRange{0, 3}));
  }
  EXPECT_THAT(rows, ElementsAre(IndexRange{0, 2}, IndexRange{2, 4}, IndexRange{4, 6},
                                IndexRange{6, 8}, IndexRange{8, 10}, IndexRange{10, 10},
                                IndexRange{10, 10}, IndexRange{10, 10}));
  EXPECT_EQ(sharding.shard_shape({9}), Shape{2});
  EXPECT_EQ(sharding.devices_indices_map({9})[4].index[0], (IndexRange{8, 9}));
}

TEST(NamedSharding, ZeroSizeArrays) {
  NamedSharding sharding(line, P("x"));
  EXPECT_EQ(sharding.shard_shape({0, 4}), (Shape{0, 4}));
  for (const DeviceIndex& device : sharding.devices_indices_map({0, 4}))
    EXPECT_EQ(device.index[0], (IndexRange{0, 0}));
}

TEST(NamedSharding, ScalarsOnAMesh) {
  NamedSharding sharding(line, P());
  EXPECT_EQ(sharding.shard_shape({}), Shape());
  EXPECT_EQ(sharding.devices_indices_map({}).size(), 8u);
  EXPECT_TRUE(sharding.is_fully_replicated());
}

TEST(NamedSharding, SubAxesCutAsTheirAxisDoesInSteps) {
  // The axis x of size 8 is divided into a major part of 2 and a minor part of 4.
  NamedSharding major(line, P(AxisRef{"x", 1, 2})), minor(line, P(AxisRef{"x", 2, 4}));
  EXPECT_EQ(major.num_shards(0), 2);
  EXPECT_EQ(minor.num_shards(0), 4);
  EXPECT_EQ(major.shard_coordinates(5, 1), Dims{1});
  EXPECT_EQ(minor.shard_coordinates(5, 1), Dims{1});
  EXPECT_EQ(minor.shard_coordinates(3, 1), Dims{3});
  NamedSharding middle(line, P(AxisRef{"x", 2, 2}));
  EXPECT_EQ(middle.shard_coordinates(3, 1), Dims{1});
  EXPECT_EQ(middle.shard_coordinates(4, 1), Dims{0});
  // A mesh with these factors as axes has the same placement.
  Mesh factored = mesh_of({2, 2, 2}, {"a", "b", "c"});
  EXPECT_TRUE(middle.is_equivalent_to(NamedSharding(factored, P("b")), 1));
  EXPECT_TRUE(NamedSharding(line, P(AxisRef{"x", 2, 4}, AxisRef{"x", 1, 2}))
                  .is_equivalent_to(NamedSharding(factored, P(joint("b", "c"), "a")), 2));
}

TEST(NamedSharding, PartsThatFollowEachOtherAreJoined) {
  NamedSharding whole(line, P("x"));
  EXPECT_EQ(NamedSharding(line, P(AxisRef{"x", 1, 8})), whole);
  EXPECT_EQ(NamedSharding(line, P(joint(AxisRef{"x", 1, 2}, AxisRef{"x", 2, 4}))), whole);
  EXPECT_EQ(
      NamedSharding(line, P(joint(AxisRef{"x", 1, 2}, AxisRef{"x", 2, 2}, AxisRef{"x", 4, 2}))),
      whole);
  EXPECT_THAT(NamedSharding(line, P(joint(AxisRef{"x", 1, 2}, AxisRef{"x", 2, 2}))).dim_axes(0),
              ElementsAre(AxisRef{"x", 1, 4}));
  EXPECT_NE(NamedSharding(line, P(joint(AxisRef{"x", 2, 4}, AxisRef{"x", 1, 2}))), whole);
}

TEST(NamedSharding, EqualityIgnoresWhatDoesNotMatter) {
  EXPECT_EQ(NamedSharding(grid, P("x")), NamedSharding(grid, P("x", None)));
  Mesh thin = mesh_of({8, 1}, {"x", "y"});
  EXPECT_EQ(NamedSharding(thin, P("x", "y")), NamedSharding(thin, P("x")));
  EXPECT_EQ(NamedSharding(thin, P("x", "y")).hash(), NamedSharding(thin, P("x")).hash());
  std::vector<DimSpec> dims = {"x"};
  EXPECT_EQ(NamedSharding(mesh_of({2, 2, 2}, {"x", "y", "z"}), P(dims, {{"z"}, {"y"}})),
            NamedSharding(mesh_of({2, 2, 2}, {"x", "y", "z"}), P(dims, {{"y"}, {"z"}})));
  // Whether propagation may change a dimension is a part of the sharding.
  EXPECT_NE(NamedSharding(grid, P("x")), NamedSharding(grid, P("x", UNCONSTRAINED)));
  EXPECT_NE(NamedSharding(grid, P("x")), NamedSharding(grid, P(dims, {{"y"}})));
  EXPECT_TRUE(
      NamedSharding(grid, P("x")).is_equivalent_to(NamedSharding(grid, P("x", UNCONSTRAINED)), 2));
  EXPECT_NE(NamedSharding(grid, P("x")), NamedSharding(Mesh::abstract({2, 4}, {"x", "y"}), P("x")));
}

TEST(NamedSharding, EquivalenceLooksAtDevicesNotPositions) {
  std::vector<Device> devices = parse_devices("cpu:2");
  Mesh straight(devices, {"x"}), swapped({devices[1], devices[0]}, {"x"});
  EXPECT_FALSE(NamedSharding(straight, P("x")).is_equivalent_to(NamedSharding(swapped, P("x")), 1));
  EXPECT_TRUE(NamedSharding(straight, P()).is_equivalent_to(NamedSharding(swapped, P()), 1));
  Mesh others({parse_devices("cpu:3")[2], devices[0]}, {"x"});
  EXPECT_FALSE(NamedSharding(straight, P()).is_equivalent_to(NamedSharding(others, P()), 1));
}

TEST(NamedSharding, DefaultIsOfNothing) {
  EXPECT_EQ(NamedSharding(), NamedSharding(Mesh(), P()));
  EXPECT_TRUE(NamedSharding().is_fully_replicated());
}

TEST(NamedSharding, WorksForAbstractMeshes) {
  NamedSharding sharding(Mesh::abstract({4096}, {"x"}), P("x"));
  EXPECT_EQ(sharding.shard_shape({8192}), Shape{2});
  EXPECT_EQ(sharding.devices_indices_map({8192})[4095].index[0], (IndexRange{8190, 8192}));
}

TEST(NamedSharding, Errors) {
  EXPECT_THAT(error_of([] { NamedSharding(grid, P("x", "model")); }),
              HasSubstr("[NamedSharding] expected axes of Mesh('x': 2, 'y': 4), got 'model' in "
                        "PartitionSpec('x', 'model')"));
  EXPECT_THAT(error_of([] { NamedSharding(grid, P("x", "x")); }),
              HasSubstr("[NamedSharding] expected each mesh axis at most once, got 'x' twice in "
                        "PartitionSpec('x', 'x') for "
                        "Mesh('x': 2, 'y': 4)"));
  EXPECT_THAT(error_of([] { NamedSharding(grid, P(joint("y", "y"))); }),
              HasSubstr("got 'y' twice"));
  EXPECT_THAT(error_of([] { NamedSharding(grid, P(std::vector<DimSpec>{"x"}, {{"x"}})); }),
              HasSubstr("got 'x' twice"));
  EXPECT_THAT(error_of([] { NamedSharding(grid, P(std::vector<DimSpec>{"x"}, {{"z"}})); }),
              HasSubstr("got 'z' in"));
  for (const AxisRef& bad :
       {AxisRef{"x", 1, 3}, AxisRef{"x", 3, 2}, AxisRef{"x", 2, 8}, AxisRef{"x", 0, 2},
        AxisRef{"x", -1, 2}, AxisRef{"x", 1, -2}, AxisRef{"x", int64_t{1} << 62, int64_t{1} << 62}})
    EXPECT_THAT(
        error_of([&] { NamedSharding(line, P(bad)); }),
        HasSubstr(
            "expected a sub-axis whose pre-size times size divides axis 'x' of size 8, got 'x:("))
        << bad.pre_size << " " << bad.size;
  // Overlapping parts of one axis, and parts of different decompositions.
  EXPECT_THAT(error_of([] {
                NamedSharding(line, P("x", AxisRef{"x", 1, 2}));
              }),
              HasSubstr("got 'x' twice"));
  EXPECT_THAT(error_of([] {
                NamedSharding(line, P(AxisRef{"x", 1, 4}, AxisRef{"x", 2, 2}));
              }),
              HasSubstr("got 'x' twice"));
  EXPECT_THAT(error_of([] {
                NamedSharding(mesh_of({12}, {"x"}), P(AxisRef{"x", 1, 2}, AxisRef{"x", 3, 2}));
              }),
              HasSubstr("got 'x' twice"));
  EXPECT_EQ(error_of([] { NamedSharding(line, P(AxisRef{"x", 4, 2}, AxisRef{"x", 1, 2})); }), "");
}

TEST(NamedSharding, RankAndDivisibilityErrors) {
  NamedSharding sharding(grid, P("x", None, "y"));
  EXPECT_THAT(
      error_of([&] {
        check_rank("device_put", sharding, {4, 8});
      }),
      HasSubstr(
          "[device_put] expected a spec of at most 2 entries for an array of shape (4, 8), got "
          "PartitionSpec('x', None, 'y'); drop the last 1"));
  EXPECT_THAT(error_of([&] { sharding.shard_shape({4, 8}); }), HasSubstr("at most 2 entries"));
  EXPECT_THAT(error_of([&] { sharding.devices_indices_map({4}); }), HasSubstr("at most 1 entry"));
  EXPECT_EQ(error_of([&] { check_rank("device_put", sharding, {4, 8, 8}); }), "");
  EXPECT_THAT(error_of([&] {
                check_divisible("shard_map", sharding, {4, 8, 6});
              }),
              HasSubstr("[shard_map] expected dimension 2 of shape (4, 8, 6) to be a multiple of "
                        "4, the size of 'y' in "
                        "Mesh('x': 2, 'y': 4), got 6"));
  EXPECT_EQ(error_of([&] { check_divisible("shard_map", sharding, {4, 7, 8}); }), "");
}

TEST(ShardRange, CoversTheExtentOnce) {
  for (int64_t extent : {0, 1, 7, 8, 9, 10, 64})
    for (int64_t shards : {1, 2, 3, 8, 16}) {
      int64_t next = 0;
      for (int64_t i = 0; i < shards; ++i) {
        IndexRange range = shard_range(extent, shards, i);
        EXPECT_EQ(range.start, next);
        EXPECT_LE(range.size(), ceil_div(extent, shards));
        next = range.stop;
      }
      EXPECT_EQ(next, extent);
    }
}

}  // namespace
}  // namespace tessera::named_sharding_test
