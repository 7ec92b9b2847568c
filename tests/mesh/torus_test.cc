#include "tessera/mesh/torus.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "../errors.h"

namespace tessera::torus_test {
namespace {

using tessera::test::error_of;
using ::testing::HasSubstr;

TEST(PhysicalMesh, IsIndexedByCoordinates) {
  std::vector<Device> devices = parse_devices("tpu_v4:2x3x2");
  std::reverse(devices.begin(), devices.end());
  DeviceMesh mesh = physical_mesh(devices);
  EXPECT_EQ(mesh.shape, (Shape{2, 3, 2}));
  for (int64_t i = 0; i < 12; ++i)
    EXPECT_EQ(mesh.devices[i].coords, (std::array<int64_t, 3>{i / 6, i / 2 % 3, i % 2}));
}

TEST(PhysicalMesh, MayBeginAnywhere) {
  std::vector<Device> devices = parse_devices("tpu_v4:1x2x2");
  for (Device& device : devices) device.coords[0] = 1;
  EXPECT_EQ(physical_mesh(devices).shape, (Shape{1, 2, 2}));
}

TEST(PhysicalMesh, Errors) {
  std::vector<Device> devices = parse_devices("tpu_v4:2x2x1");
  devices.pop_back();
  EXPECT_THAT(error_of([&] { physical_mesh(devices); }),
              HasSubstr("expected devices that fill a cuboid, got 3 in a box of 2x2x1 chips"));
  devices[0].coords[2] = int64_t{1} << 62;
  EXPECT_THAT(error_of([&] { physical_mesh(devices); }), HasSubstr("fill a cuboid"));
  EXPECT_THAT(error_of([&] { physical_mesh(parse_devices("tpu_v4:2x2x1*2")); }),
              HasSubstr("expected devices of one slice, got TpuDevice(id=0"));
  EXPECT_THAT(error_of([&] { physical_mesh(parse_devices("tpu_v2:2x2")); }),
              HasSubstr("expected one device a chip"));
}

TEST(AssignToTorus, PrefersMoreAxesForTheLastLogicalAxis) {
  DeviceMesh physical = physical_mesh(parse_devices("tpu_v4:2x2x4"));
  // The last axis of size 4 uses x and y, so z does not change along it.
  std::vector<Device> devices = assign_to_torus(physical, {4, 4}, false);
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(devices[i].coords[2], i / 4);
}

TEST(AssignToTorus, SplittingKeepsEveryDeviceOnce) {
  DeviceMesh physical = physical_mesh(parse_devices("tpu_v4:4x6x2"));
  for (const Shape& shape :
       {Shape{8, 6}, Shape{3, 16}, Shape{2, 2, 12}, Shape{2, 2, 2, 2, 3}, Shape{48, 1}}) {
    std::vector<int64_t> ids;
    for (const Device& device : assign_to_torus(physical, shape, true)) ids.push_back(device.id);
    std::sort(ids.begin(), ids.end());
    for (int64_t i = 0; i < 48; ++i) ASSERT_EQ(ids[i], i) << shape;
  }
}

TEST(AssignToTorus, ErrorNamesTheAxis) {
  DeviceMesh physical = physical_mesh(parse_devices("tpu_v4:4x4x4"));
  EXPECT_THAT(
      error_of([&] {
        assign_to_torus(physical, {2, 32}, false);
      }),
      HasSubstr(
          "of the torus (4, 4, 4), got shape (2, 32), whose axis 1 of size 32 finds none free"));
}

}  // namespace
}  // namespace tessera::torus_test
