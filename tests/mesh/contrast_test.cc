// Two meshes in one message.
#include "tessera/mesh/contrast.h"

#include <gtest/gtest.h>

namespace tessera::contrast_test {
namespace {

std::vector<Device> some_devices(const std::vector<int64_t>& ids) {
  std::vector<Device> out(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) out[i].id = ids[i];
  return out;
}

TEST(Contrast, MeshesThatPrintAlikeListTheirDevices) {
  const Mesh a(some_devices({0, 1, 2, 3}), {"x"}), b(some_devices({4, 5, 6, 7}), {"x"}),
      c(some_devices({0, 1, 3, 2}), {"x"});
  EXPECT_EQ(in_contrast(a, b), "Mesh('x': 4) of devices 0, 1, 2, 3");
  EXPECT_EQ(in_contrast(b, a), "Mesh('x': 4) of devices 4, 5, 6, 7");
  EXPECT_EQ(in_contrast(c, a), "Mesh('x': 4) of devices 0, 1, 3, 2");
}

TEST(Contrast, OtherMeshesArePrintedAsTheyAre) {
  const Mesh a(some_devices({0, 1, 2, 3}), {"x"}), b(some_devices({0, 1, 2, 3}), {"y"}),
      fewer(some_devices({0, 1}), {"x"});
  EXPECT_EQ(in_contrast(a, b), "Mesh('x': 4)");
  EXPECT_EQ(in_contrast(a, fewer), "Mesh('x': 4)");
  EXPECT_EQ(in_contrast(a, Mesh::abstract({4}, {"x"})), "Mesh('x': 4)");
}

TEST(Contrast, OfManyDevicesTheFirstThatDiffers) {
  std::vector<int64_t> ids(64), others(64);
  for (int64_t i = 0; i < 64; ++i) ids[i] = others[i] = i;
  std::swap(others[40], others[41]);
  const Mesh a(some_devices(ids), {"x"}), b(some_devices(others), {"x"});
  EXPECT_EQ(in_contrast(a, b), "Mesh('x': 64) with device 40 at position 40");
  EXPECT_EQ(in_contrast(b, a), "Mesh('x': 64) with device 41 at position 40");
}

}  // namespace
}  // namespace tessera::contrast_test
