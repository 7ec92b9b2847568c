#include "tessera/mesh/mesh.h"

#include <gmock/gmock.h>

#include "../errors.h"
#include "tessera/mesh/format.h"

namespace tessera::mesh_test {
namespace {

using tessera::test::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Mesh two_by_four() { return Mesh(DeviceMesh{{2, 4}, parse_devices("cpu:8")}, {"x", "y"}); }

TEST(Mesh, HasNamedAxesAndDevicesInOrder) {
  Mesh mesh = two_by_four();
  EXPECT_THAT(mesh.axis_names(), ElementsAre("x", "y"));
  EXPECT_EQ(mesh.axis_sizes(), (Shape{2, 4}));
  EXPECT_EQ(mesh.axis_size("y"), 4);
  EXPECT_EQ(mesh.axis_index("y"), 1);
  EXPECT_EQ(mesh.find_axis("z"), std::nullopt);
  EXPECT_TRUE(mesh.has_axis("x"));
  EXPECT_EQ(mesh.rank(), 2);
  EXPECT_EQ(mesh.size(), 8);
  EXPECT_THAT(mesh.device_ids(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(mesh.devices(), parse_devices("cpu:8"));
  EXPECT_EQ(mesh.coordinates(6), (Dims{1, 2}));
  EXPECT_FALSE(mesh.is_abstract());
}

TEST(Mesh, OfALineOfDevices) {
  std::vector<Device> devices = parse_devices("cpu:3");
  std::swap(devices[0], devices[2]);
  Mesh mesh(devices, {"x"});
  EXPECT_EQ(mesh.axis_sizes(), Shape{3});
  EXPECT_THAT(mesh.device_ids(), ElementsAre(2, 1, 0));
}

TEST(Mesh, MakeMeshUsesTheTopology) {
  initialize({.devices = "tpu_v2:2x2"});
  Mesh mesh = make_mesh({2, 4}, {"x", "y"});
  EXPECT_THAT(mesh.device_ids(), ElementsAre(0, 1, 2, 3, 6, 7, 4, 5));
  EXPECT_EQ(mesh, Mesh(create_device_mesh({2, 4}), {"x", "y"}));
  EXPECT_THAT(make_mesh({2}, {"x"}, {.devices = parse_devices("cpu:2")}).device_ids(),
              ElementsAre(0, 1));
}

TEST(Mesh, AbstractOfAnySize) {
  Mesh mesh = Mesh::abstract({64, 64}, {"data", "model"});
  EXPECT_TRUE(mesh.is_abstract());
  EXPECT_EQ(mesh.size(), 4096);
  EXPECT_EQ(mesh.device_ids().back(), 4095);
  EXPECT_EQ(fmt::format("{}", mesh), "AbstractMesh('data': 64, 'model': 64)");
  EXPECT_THAT(
      error_of([&] { mesh.devices(); }),
      HasSubstr("[Mesh] expected a mesh with devices, got AbstractMesh('data': 64, 'model': 64)"));
}

TEST(Mesh, DefaultIsEmpty) {
  Mesh mesh;
  EXPECT_EQ(mesh.rank(), 0);
  EXPECT_EQ(mesh.size(), 1);
  EXPECT_EQ(mesh, Mesh());
}

TEST(Mesh, Prints) { EXPECT_EQ(fmt::format("{}", two_by_four()), "Mesh('x': 2, 'y': 4)"); }

TEST(Mesh, EqualityAndHash) {
  std::vector<Device> devices = parse_devices("cpu:8");
  EXPECT_EQ(two_by_four(), two_by_four());
  EXPECT_EQ(two_by_four().hash(), two_by_four().hash());
  EXPECT_NE(two_by_four(), Mesh(DeviceMesh{{2, 4}, devices}, {"x", "z"}));
  EXPECT_NE(two_by_four(), Mesh(DeviceMesh{{4, 2}, devices}, {"x", "y"}));
  EXPECT_NE(two_by_four(), Mesh::abstract({2, 4}, {"x", "y"}));
  EXPECT_EQ(Mesh::abstract({2, 4}, {"x", "y"}), Mesh::abstract({2, 4}, {"x", "y"}));
  std::swap(devices[0], devices[1]);
  EXPECT_NE(two_by_four(), Mesh(DeviceMesh{{2, 4}, devices}, {"x", "y"}));
  EXPECT_NE(two_by_four(), Mesh(DeviceMesh{{2, 4}, parse_devices("gpu:8")}, {"x", "y"}));
}

TEST(Mesh, Errors) {
  std::vector<Device> devices = parse_devices("cpu:8");
  EXPECT_THAT(error_of([&] {
                Mesh(DeviceMesh{{2, 3}, devices}, {"x", "y"});
              }),
              HasSubstr("[Mesh] expected 6 devices for shape (2, 3), got 8"));
  EXPECT_THAT(error_of([&] {
                Mesh(devices, {"x", "y"});
              }),
              HasSubstr("[Mesh] expected one axis name a dimension, got 2 names ('x', 'y') for "
                        "shape (8,); give 1 name"));
  EXPECT_THAT(error_of([&] {
                Mesh(DeviceMesh{{2, 4}, devices}, {"x"});
              }),
              HasSubstr("got 1 name ('x',) for shape (2, 4)"));
  EXPECT_THAT(error_of([&] {
                Mesh(DeviceMesh{{2, 4}, devices}, {"x", "x"});
              }),
              HasSubstr("[Mesh] expected distinct axis names, got 'x' twice in ('x', 'x')"));
  EXPECT_THAT(error_of([&] { Mesh(devices, {""}); }),
              HasSubstr("[Mesh] expected axis names that are not empty"));
  EXPECT_THAT(error_of([&] {
                Mesh(std::vector<Device>{devices[0], devices[0]}, {"x"});
              }),
              HasSubstr("[Mesh] expected distinct devices, got CpuDevice(id=0) twice"));
  EXPECT_THAT(error_of([&] {
                Mesh::abstract({4, 0}, {"x", "y"});
              }),
              HasSubstr("[Mesh] expected axis sizes of at least 1, got (4, 0)"));
  EXPECT_THAT(
      error_of([&] {
        Mesh::abstract({1 << 20, 1 << 20}, {"x", "y"});
      }),
      HasSubstr("[Mesh] expected fewer than 2^31 positions, got axis sizes (1048576, 1048576)"));
  EXPECT_THAT(
      error_of([&] { two_by_four().axis_size("model"); }),
      HasSubstr(
          "[Mesh] expected an axis of Mesh('x': 2, 'y': 4), got 'model'; use one of ('x', 'y')"));
}

}  // namespace
}  // namespace tessera::mesh_test
