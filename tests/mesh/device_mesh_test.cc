#include "tessera/mesh/device_mesh.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "../errors.h"
#include "../golden/golden.h"
#include "tessera/mesh/format.h"

namespace tessera::device_mesh_test {
namespace {

using tessera::test::error_of;
using ::testing::HasSubstr;

std::string mesh_text(const char* spec, const Shape& shape, bool split = false) {
  return fmt::format("{}", create_device_mesh(shape, {.devices = parse_devices(spec),
                                                      .allow_split_physical_axes = split}));
}

TEST(CreateDeviceMesh, TraysOfV2AndV3) {
  for (const char* spec : {"tpu_v2:2x2", "tpu_v3:2x2"}) {
    EXPECT_EQ(mesh_text(spec, {8}), "[0, 1, 2, 3, 6, 7, 4, 5]");
    EXPECT_EQ(mesh_text(spec, {2, 4}), "[[0, 1, 2, 3], [6, 7, 4, 5]]");
    EXPECT_EQ(mesh_text(spec, {4, 2}), "[[0, 1], [2, 3], [6, 7], [4, 5]]");
  }
  EXPECT_EQ(mesh_text("tpu_v2:4x2", {2, 8}),
            "[[0, 1, 2, 3, 6, 7, 4, 5], [8, 9, 10, 11, 14, 15, 12, 13]]");
  EXPECT_EQ(mesh_text("tpu_v2:4x2", {4, 4}),
            "[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]");
}

TEST(CreateDeviceMesh, RingsOfV5AndV6) {
  EXPECT_EQ(mesh_text("tpu_v5e:2x2", {4}), "[0, 1, 3, 2]");
  EXPECT_EQ(mesh_text("tpu_v6e:4x2", {8}), "[0, 1, 2, 3, 7, 6, 5, 4]");
  EXPECT_EQ(mesh_text("tpu_v5e:4x4", {16}),
            "[0, 1, 2, 3, 7, 6, 5, 9, 10, 11, 15, 14, 13, 12, 8, 4]");
  EXPECT_EQ(mesh_text("tpu_v5p:2x2x2", {8}), "[0, 1, 3, 2, 6, 7, 5, 4]");
}

TEST(CreateDeviceMesh, TorusOfV4) {
  EXPECT_EQ(mesh_text("tpu_v4:2x2x4", {4, 4}),
            "[[0, 2, 1, 3], [4, 6, 5, 7], [8, 10, 9, 11], [12, 14, 13, 15]]");
  EXPECT_EQ(mesh_text("tpu_v4:2x2x4", {2, 8}),
            "[[0, 4, 8, 12, 1, 5, 9, 13], [2, 6, 10, 14, 3, 7, 11, 15]]");
  EXPECT_EQ(mesh_text("tpu_v4:2x2x4", {2, 2, 4}, true),
            "[[[0, 2, 1, 3], [4, 6, 5, 7]], [[8, 10, 9, 11], [12, 14, 13, 15]]]");
}

TEST(CreateDeviceMesh, GpusByIdAndCpusAsGiven) {
  std::vector<Device> gpus = parse_devices("gpu:4"), cpus = parse_devices("cpu:4");
  std::reverse(gpus.begin(), gpus.end());
  std::reverse(cpus.begin(), cpus.end());
  EXPECT_EQ(fmt::format("{}", create_device_mesh({2, 2}, {.devices = gpus})), "[[0, 1], [2, 3]]");
  EXPECT_EQ(fmt::format("{}", create_device_mesh({2, 2}, {.devices = cpus})), "[[3, 2], [1, 0]]");
}

TEST(CreateDeviceMesh, UsesAllDevicesByDefault) {
  initialize({.devices = "tpu_v2:2x2"});
  EXPECT_EQ(fmt::format("{}", create_device_mesh({device_count()})), "[0, 1, 2, 3, 6, 7, 4, 5]");
}

TEST(CreateDeviceMesh, OfJax) {
  golden::Topic topic("device_mesh");
  int64_t refused = 0;
  for (const golden::Json& c : topic["meshes"]) {
    std::string spec = c.at("devices");
    const Shape shape = golden::dims(c.at("shape"));
    DeviceMeshOptions options{parse_devices(spec), c.at("split")};
    if (c.at("ids").is_null()) {
      EXPECT_THAT(error_of([&] { create_device_mesh(shape, options); }),
                  HasSubstr("products of whole axes of the torus"))
          << spec << " " << shape;
      ++refused;
      continue;
    }
    DeviceMesh mesh = create_device_mesh(shape, options);
    EXPECT_EQ(mesh.shape, shape);
    std::vector<int64_t> ids;
    for (const Device& device : mesh.devices) ids.push_back(device.id);
    EXPECT_EQ(ids, c.at("ids").get<std::vector<int64_t>>())
        << spec << " " << shape << options.allow_split_physical_axes;
  }
  EXPECT_GT(refused, 0);
}

TEST(CreateDeviceMesh, SplitsAxesWithLargePrimeFactors) {
  // 14 and 10 are not products of whole axes of 7x10x2. Each device must still occur once.
  DeviceMesh mesh = create_device_mesh(
      {14, 10}, {.devices = parse_devices("tpu_v4:7x10x2"), .allow_split_physical_axes = true});
  std::vector<int64_t> ids;
  for (const Device& device : mesh.devices) ids.push_back(device.id);
  std::sort(ids.begin(), ids.end());
  for (int64_t i = 0; i < 140; ++i) ASSERT_EQ(ids[i], i);
  mesh = create_device_mesh(
      {10, 14}, {.devices = parse_devices("tpu_v4:4x5x7"), .allow_split_physical_axes = true});
  EXPECT_EQ(mesh.devices.size(), 140u);
}

TEST(CreateDeviceMesh, Errors) {
  std::vector<Device> devices = parse_devices("cpu:8");
  EXPECT_THAT(error_of([&] {
                create_device_mesh({3, 2}, {.devices = devices});
              }),
              HasSubstr("[create_device_mesh] expected a shape whose product is the number of "
                        "devices, 8, got shape (3, 2)"));
  EXPECT_THAT(error_of([&] { create_device_mesh({16}, {.devices = devices}); }),
              HasSubstr("got shape (16,)"));
  EXPECT_THAT(error_of([&] {
                create_device_mesh({0, 8}, {.devices = devices});
              }),
              HasSubstr("expected axis sizes of at least 1, got shape (0, 8)"));
  EXPECT_THAT(error_of([&] {
                create_device_mesh({int64_t{1} << 62, int64_t{1} << 62}, {.devices = devices});
              }),
              HasSubstr("expected a shape whose product"));
  devices[3] = parse_devices("gpu:1")[0];
  EXPECT_THAT(error_of([&] { create_device_mesh({8}, {.devices = devices}); }),
              HasSubstr("expected devices of one kind, got CpuDevice(id=0) and CudaDevice(id=0)"));
  EXPECT_THAT(error_of([&] {
                create_device_mesh({2, 2, 4}, {.devices = parse_devices("tpu_v4:2x2x4")});
              }),
              HasSubstr("expected logical axes that are products of whole axes of the torus (2, 2, "
                        "4), got shape (2, 2, 4), "
                        "whose axis 1 of size 2 finds none free"));
}

TEST(CreateHybridDeviceMesh, PutsTheSlowNetworkMajor) {
  HybridDeviceMeshOptions options{.devices = parse_devices("tpu_v4:2x2x1*2")};
  EXPECT_EQ(fmt::format("{}", create_hybrid_device_mesh({2, 2}, {2, 1}, options)),
            "[[0, 1], [2, 3], [4, 5], [6, 7]]");
  EXPECT_EQ(fmt::format("{}", create_hybrid_device_mesh({2, 2}, {1, 2}, options)),
            "[[0, 1, 4, 5], [2, 3, 6, 7]]");
}

TEST(CreateHybridDeviceMesh, OfJax) {
  golden::Topic topic("device_mesh");
  for (const golden::Json& c : topic["hybrid"]) {
    std::string spec = c.at("devices");
    const Shape ici = golden::dims(c.at("ici")), dcn = golden::dims(c.at("dcn"));
    // An emulated slice is one process, so grouping by process and by slice is the same.
    for (bool process : {false, true}) {
      HybridDeviceMeshOptions options{parse_devices(spec), c.at("split"), process};
      if (c.at("ids").is_null()) {
        EXPECT_THROW(create_hybrid_device_mesh(ici, dcn, options), UserError) << spec << ici << dcn;
        continue;
      }
      std::vector<int64_t> ids;
      for (const Device& device : create_hybrid_device_mesh(ici, dcn, options).devices)
        ids.push_back(device.id);
      EXPECT_EQ(ids, c.at("ids").get<std::vector<int64_t>>()) << spec << ici << dcn;
    }
  }
}

TEST(CreateHybridDeviceMesh, Errors) {
  HybridDeviceMeshOptions options{.devices = parse_devices("tpu_v4:2x2x1*2")};
  EXPECT_THAT(
      error_of([&] {
        create_hybrid_device_mesh({2, 2}, {2}, options);
      }),
      HasSubstr(
          "[create_hybrid_device_mesh] expected two shapes of one rank, got (2, 2) and (2,)"));
  EXPECT_THAT(
      error_of([&] {
        create_hybrid_device_mesh({2, 2}, {3, 1}, options);
      }),
      HasSubstr(
          "expected a dcn_shape whose product is the number of slice granules, 2, got (3, 1)"));
  EXPECT_THAT(error_of([&] {
                create_hybrid_device_mesh({2, 4}, {2, 1}, options);
              }),
              HasSubstr("expected an ici_shape whose product is the number of devices of slice 0, "
                        "4, got (2, 4)"));
  EXPECT_THAT(error_of([&] {
                create_hybrid_device_mesh({2, 2}, {2, -1}, options);
              }),
              HasSubstr("at least 1"));
}

}  // namespace
}  // namespace tessera::device_mesh_test
