#include "tessera/mesh/visualize.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "../errors.h"
#include "../golden/golden.h"
#include "tessera/mesh/format.h"

namespace tessera::visualize_test {
namespace {

using tessera::test::error_of;
using ::testing::HasSubstr;

const std::vector<Device> tpus = parse_devices("tpu_v2:2x2");

NamedSharding on_line(int64_t n, const P& spec) {
  return NamedSharding(Mesh(parse_devices(fmt::format("cpu:{}", n)), {"x"}), spec);
}

// Returns the width in columns. A box-drawing character has three bytes.
size_t widest_line(const std::string& text) {
  std::istringstream in(text);
  size_t widest = 0;
  for (std::string line; std::getline(in, line);) {
    size_t columns = 0;
    for (unsigned char c : line) columns += (c & 0xC0) != 0x80;
    widest = std::max(widest, columns);
  }
  return widest;
}

TEST(ShardingTable, OfOneDevice) {
  EXPECT_EQ(sharding_table({4, 8}, SingleDeviceSharding(tpus[0])),
            "┌────────────────────────────────────────────────┐\n"
            "│                                                │\n"
            "│                                                │\n"
            "│                                                │\n"
            "│                                                │\n"
            "│                     TPU 0                      │\n"
            "│                                                │\n"
            "│                                                │\n"
            "│                                                │\n"
            "│                                                │\n"
            "└────────────────────────────────────────────────┘\n");
}

TEST(ShardingTable, OfTheTutorial) {
  Mesh mesh(create_device_mesh({2, 4}, {.devices = tpus}), {"x", "y"});
  EXPECT_EQ(sharding_table({4, 8}, NamedSharding(mesh, P("x", "y"))),
            "┌──────────┬──────────┬──────────┬──────────┐\n"
            "│          │          │          │          │\n"
            "│  TPU 0   │  TPU 1   │  TPU 2   │  TPU 3   │\n"
            "│          │          │          │          │\n"
            "│          │          │          │          │\n"
            "├──────────┼──────────┼──────────┼──────────┤\n"
            "│          │          │          │          │\n"
            "│  TPU 6   │  TPU 7   │  TPU 4   │  TPU 5   │\n"
            "│          │          │          │          │\n"
            "│          │          │          │          │\n"
            "└──────────┴──────────┴──────────┴──────────┘\n");
  EXPECT_EQ(sharding_table({8}, NamedSharding(mesh, P("y"))),
            "┌───────┬───────┬───────┬───────┐\n"
            "│TPU 0,6│TPU 1,7│TPU 2,4│TPU 3,5│\n"
            "└───────┴───────┴───────┴───────┘\n");
  Mesh line(create_device_mesh({8}, {.devices = tpus}), {"x"});
  EXPECT_EQ(sharding_table({8}, NamedSharding(line, P("x"))),
            "┌───────┬───────┬───────┬───────┬───────┬───────┬───────┬───────┐\n"
            "│ TPU 0 │ TPU 1 │ TPU 2 │ TPU 3 │ TPU 6 │ TPU 7 │ TPU 4 │ TPU 5 │\n"
            "└───────┴───────┴───────┴───────┴───────┴───────┴───────┴───────┘\n");
}

TEST(ShardingTable, OfJax) {
  golden::Topic topic("visualize");
  std::vector<Device> devices = parse_devices("cpu:16");
  for (const golden::Json& c : topic["cases"]) {
    const golden::Json& mesh_json = topic["meshes"].at(c.at("mesh").get<size_t>());
    DeviceMesh mesh;
    mesh.shape = golden::dims(mesh_json.at("shape"));
    for (int64_t id : mesh_json.at("ids")) mesh.devices.push_back(devices[id]);
    std::vector<DimSpec> dims;
    for (const golden::Json& axes : c.at("spec"))
      dims.push_back(joint(axes.get<std::vector<std::string>>()));
    const Shape shape = golden::dims(c.at("shape"));
    VisualizeOptions options;
    options.scale = c.at("options").value("scale", options.scale);
    options.min_width = c.at("options").value("min_width", options.min_width);
    options.max_width = c.at("options").value("max_width", options.max_width);
    std::string expected;
    for (const golden::Json& line : topic["texts"].at(c.at("text").get<size_t>()))
      for (int64_t i = 0; i < line.at(1).get<int64_t>(); ++i)
        expected += line.at(0).get<std::string>() + "\n";
    NamedSharding sharding(Mesh(mesh, mesh_json.at("names")), P(dims));
    EXPECT_EQ(sharding_table(shape, sharding, options), expected) << sharding << " " << shape;
  }
}

TEST(ShardingTable, CellsShrinkToTheirLabels) {
  // At its natural width this table would have 113 columns.
  EXPECT_EQ(sharding_table({4, 64}, on_line(8, P(None, "x")), {.scale = 0.3}),
            "┌────────┬────────┬────────┬────────┬────────┬────────┬────────┬────────┐\n"
            "│ CPU 0  │ CPU 1  │ CPU 2  │ CPU 3  │ CPU 4  │ CPU 5  │ CPU 6  │ CPU 7  │\n"
            "│        │        │        │        │        │        │        │        │\n"
            "└────────┴────────┴────────┴────────┴────────┴────────┴────────┴────────┘\n");
}

TEST(ShardingTable, LongListsOfIdsBecomeRanges) {
  Mesh mesh(DeviceMesh{{8, 16}, parse_devices("cpu:128")}, {"x", "y"});
  EXPECT_EQ(
      sharding_table({8}, NamedSharding(mesh, P("x")), {.max_width = 128}),
      "┌────────┬─────────┬─────────┬─────────┬─────────┬─────────┬──────────┬───────────┐\n"
      "│CPU 0-15│CPU 16-31│CPU 32-47│CPU 48-63│CPU 64-79│CPU 80-95│CPU 96-111│CPU 112-127│\n"
      "└────────┴─────────┴─────────┴─────────┴─────────┴─────────┴──────────┴───────────┘\n");
  EXPECT_EQ(sharding_table({4, 4}, NamedSharding(mesh, P()), {.scale = 0.3}),
            "┌─────────┐\n"
            "│CPU 0-127│\n"
            "│         │\n"
            "└─────────┘\n");
  EXPECT_EQ(sharding_table({64}, NamedSharding(mesh, P("y"))),
            "[0:24]\n"
            "┌────────────┬────────────┬────────────┬────────────┬────────────┬────────────┐\n"
            "│CPU 0-112:16│CPU 1-113:16│CPU 2-114:16│CPU 3-115:16│CPU 4-116:16│CPU 5-117:16│\n"
            "└────────────┴────────────┴────────────┴────────────┴────────────┴────────────┘\n"
            "[24:44]\n"
            "┌────────────┬────────────┬────────────┬────────────┬─────────────┐\n"
            "│CPU 6-118:16│CPU 7-119:16│CPU 8-120:16│CPU 9-121:16│CPU 10-122:16│\n"
            "└────────────┴────────────┴────────────┴────────────┴─────────────┘\n"
            "[44:64]\n"
            "┌─────────────┬─────────────┬─────────────┬─────────────┬─────────────┐\n"
            "│CPU 11-123:16│CPU 12-124:16│CPU 13-125:16│CPU 14-126:16│CPU 15-127:16│\n"
            "└─────────────┴─────────────┴─────────────┴─────────────┴─────────────┘\n");
}

TEST(ShardingTable, WideMeshesAreDrawnInBlocks) {
  EXPECT_EQ(sharding_table({32}, on_line(16, P("x"))),
            "[0:24]\n"
            "┌─────┬─────┬─────┬─────┬─────┬─────┬─────┬─────┬─────┬─────┬──────┬──────┐\n"
            "│CPU 0│CPU 1│CPU 2│CPU 3│CPU 4│CPU 5│CPU 6│CPU 7│CPU 8│CPU 9│CPU 10│CPU 11│\n"
            "└─────┴─────┴─────┴─────┴─────┴─────┴─────┴─────┴─────┴─────┴──────┴──────┘\n"
            "[24:32]\n"
            "┌───────┬───────┬───────┬───────┐\n"
            "│CPU 12 │CPU 13 │CPU 14 │CPU 15 │\n"
            "└───────┴───────┴───────┴───────┘\n");
  EXPECT_EQ(sharding_table({8, 32}, on_line(16, P(None, "x")), {.scale = 0.2}),
            "[:, 0:24]\n"
            "┌─────┬─────┬─────┬─────┬─────┬─────┬─────┬─────┬─────┬─────┬──────┬──────┐\n"
            "│CPU 0│CPU 1│CPU 2│CPU 3│CPU 4│CPU 5│CPU 6│CPU 7│CPU 8│CPU 9│CPU 10│CPU 11│\n"
            "└─────┴─────┴─────┴─────┴─────┴─────┴─────┴─────┴─────┴─────┴──────┴──────┘\n"
            "[:, 24:32]\n"
            "┌───────┬───────┬───────┬───────┐\n"
            "│CPU 12 │CPU 13 │CPU 14 │CPU 15 │\n"
            "└───────┴───────┴───────┴───────┘\n");
  std::string wide = sharding_table({1024}, on_line(512, P("x")));
  for (int64_t id = 0; id < 512; ++id) ASSERT_THAT(wide, HasSubstr(fmt::format("CPU {}", id)));
  EXPECT_LE(widest_line(wide), 80u);
}

TEST(ShardingTable, UnevenShardsShowWhatTheyHold) {
  EXPECT_EQ(sharding_table({10}, on_line(8, P("x"))),
            "┌───────┬───────┬───────┬───────┬───────┬─────────┐\n"
            "│ CPU 0 │ CPU 1 │ CPU 2 │ CPU 3 │ CPU 4 │CPU 5,6,7│\n"
            "│ [0:2] │ [2:4] │ [4:6] │ [6:8] │[8:10] │  empty  │\n"
            "└───────┴───────┴───────┴───────┴───────┴─────────┘\n");
  EXPECT_EQ(sharding_table({3, 5}, on_line(2, P("x"))),
            "┌──────────────────────────────────────┐\n"
            "│                                      │\n"
            "│                CPU 0                 │\n"
            "│              [0:2, 0:5]              │\n"
            "│                                      │\n"
            "│                                      │\n"
            "├──────────────────────────────────────┤\n"
            "│                CPU 1                 │\n"
            "│              [2:3, 0:5]              │\n"
            "└──────────────────────────────────────┘\n");
}

TEST(ShardingTable, OtherRanksAreListed) {
  Mesh mesh(DeviceMesh{{2, 4}, tpus}, {"x", "y"});
  EXPECT_EQ(sharding_table({4, 8, 6}, NamedSharding(mesh, P("x", None, joint("y")))),
            "┌───────┬─────────────────────┐\n"
            "│devices│        index        │\n"
            "├───────┼─────────────────────┤\n"
            "│ TPU 0 │[0:2, 0:8, 0:2]      │\n"
            "│ TPU 1 │[0:2, 0:8, 2:4]      │\n"
            "│ TPU 2 │[0:2, 0:8, 4:6]      │\n"
            "│ TPU 3 │[0:2, 0:8, 6:6] empty│\n"
            "│ TPU 4 │[2:4, 0:8, 0:2]      │\n"
            "│ TPU 5 │[2:4, 0:8, 2:4]      │\n"
            "│ TPU 6 │[2:4, 0:8, 4:6]      │\n"
            "│ TPU 7 │[2:4, 0:8, 6:6] empty│\n"
            "└───────┴─────────────────────┘\n");
  EXPECT_EQ(sharding_table({}, NamedSharding(mesh, P())),
            "┌───────────────────┬─────┐\n"
            "│      devices      │index│\n"
            "├───────────────────┼─────┤\n"
            "│TPU 0,1,2,3,4,5,6,7│ []  │\n"
            "└───────────────────┴─────┘\n");
  EXPECT_EQ(sharding_table({0, 4}, NamedSharding(mesh, P("x", "y"))),
            "┌───────┬────────────────┐\n"
            "│devices│     index      │\n"
            "├───────┼────────────────┤\n"
            "│TPU 0,4│[0:0, 0:1] empty│\n"
            "│TPU 1,5│[0:0, 1:2] empty│\n"
            "│TPU 2,6│[0:0, 2:3] empty│\n"
            "│TPU 3,7│[0:0, 3:4] empty│\n"
            "└───────┴────────────────┘\n");
  std::string many = sharding_table({2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, on_line(512, P("x")));
  EXPECT_LE(widest_line(many), 80u);
}

TEST(ShardingTable, OfAnAbstractMesh) {
  EXPECT_EQ(sharding_table({4}, NamedSharding(Mesh::abstract({2}, {"x"}), P("x"))),
            "┌────────┬────────┐\n"
            "│DEVICE 0│DEVICE 1│\n"
            "└────────┴────────┘\n");
}

TEST(ShardingTable, Errors) {
  EXPECT_THAT(error_of([] { sharding_table({8}, on_line(8, P(None, "x"))); }),
              HasSubstr("[visualize_array_sharding] expected a spec of at most 1 entry"));
  for (double scale : {0.0, -1.0, 1e9, std::nan("")})
    EXPECT_THAT(
        error_of([&] { sharding_table({8}, on_line(8, P("x")), {.scale = scale}); }),
        HasSubstr("[visualize_array_sharding] expected a scale above 0 and up to 100, got"));
  EXPECT_THAT(error_of([] { sharding_table({8}, on_line(8, P("x")), {.max_width = 0}); }),
              HasSubstr("expected min_width and max_width of at least 1, got 9 and 0"));
}

}  // namespace
}  // namespace tessera::visualize_test
