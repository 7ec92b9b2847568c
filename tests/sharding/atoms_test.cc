#include "tessera/sharding/atoms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/ir/format.h"
#include "tests/errors.h"

namespace tessera::atoms_test {

using namespace sharding;

namespace {

using tessera::test::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Mesh& mesh86() {
  static const Mesh& mesh = *new Mesh(Mesh::abstract({8, 6}, {"x", "y"}));
  return mesh;
}

TEST(Atoms, AxesAreCutIntoPrimesMajorFirst) {
  const AtomMesh atoms(mesh86());
  ASSERT_EQ(atoms.num_atoms(), 5);
  std::vector<int64_t> sizes;
  std::vector<int> axes;
  for (Atom a = 0; a < 5; ++a) sizes.push_back(atoms.size(a)), axes.push_back(atoms.axis(a));
  EXPECT_THAT(sizes, ElementsAre(2, 2, 2, 2, 3));
  EXPECT_THAT(axes, ElementsAre(0, 0, 0, 1, 1));
}

TEST(Atoms, OrOneAnAxis) {
  const AtomMesh atoms(Mesh::abstract({8, 1, 6}, {"x", "one", "y"}), AtomMesh::Atoms::kAxes);
  ASSERT_EQ(atoms.num_atoms(), 2);
  EXPECT_EQ(atoms.size(Atom{0}), 8);
  EXPECT_EQ(atoms.size(Atom{1}), 6);
  EXPECT_EQ(atoms.axis(1), 2);
  EXPECT_THAT(atoms.atoms({"one"}), ElementsAre());
}

TEST(Atoms, PartsOfAnAxisAreRunsOfAtoms) {
  const AtomMesh atoms(mesh86());
  EXPECT_THAT(atoms.atoms({"x"}), ElementsAre(0, 1, 2));
  EXPECT_THAT(atoms.atoms({"x", 1, 4}), ElementsAre(0, 1));
  EXPECT_THAT(atoms.atoms({"x", 2, 4}), ElementsAre(1, 2));
  EXPECT_THAT(atoms.atoms({"y", 2, 3}), ElementsAre(4));
  EXPECT_THAT(atoms.atoms(std::vector<AxisRef>{{"y"}, {"x", 4, 2}}), ElementsAre(3, 4, 2));
}

TEST(Atoms, NamesComeBackWithAdjacentPartsJoined) {
  const AtomMesh atoms(mesh86());
  auto names = [&](const AtomList& list) {
    return fmt::format("{}", fmt::join(atoms.axis_names(list), " "));
  };
  EXPECT_EQ(names({0, 1, 2, 3, 4}), "x y");
  EXPECT_EQ(names({0, 1}), "x:(1)4");
  EXPECT_EQ(names({1, 2, 4}), "x:(2)4 y:(2)3");
  EXPECT_EQ(names({0, 2}), "x:(1)2 x:(4)2");  // the part between them is missing
  EXPECT_EQ(names({1, 0}), "x:(2)2 x:(1)2");  // minor before major is no run
  EXPECT_EQ(names({}), "");
}

TEST(Atoms, SizesOfListsAndSets) {
  const AtomMesh atoms(mesh86());
  EXPECT_EQ(atoms.size(AtomList{2, 3, 4}), 12);
  EXPECT_EQ(atoms.size(AtomList{}), 1);
  EXPECT_EQ(atoms.size(atom_bit(0) | atom_bit(4)), 6);
  EXPECT_EQ(atom_set({0, 4}), 0b10001u);
  EXPECT_EQ(used_atoms({{0}, {}, {3, 4}}), 0b11001u);
  EXPECT_THAT(atoms.ordered(0b11001), ElementsAre(0, 3, 4));
  EXPECT_TRUE(is_prefix({}, {1}));
  EXPECT_TRUE(is_prefix({1, 2}, {1, 2}));
  EXPECT_FALSE(is_prefix({1, 2}, {1}));
  EXPECT_FALSE(is_prefix({2}, {1, 2}));
}

TEST(Atoms, ShardingsThereAndBack) {
  const AtomMesh atoms(mesh86());
  const NamedSharding sharding(mesh86(), P("y", AxisRef{"x", 1, 2}));
  const DimAtoms dims = atoms.dims(sharding, 3);
  EXPECT_THAT(dims, ElementsAre(ElementsAre(3, 4), ElementsAre(0), ElementsAre()));
  EXPECT_TRUE(atoms.sharding(dims)->is_equivalent_to(sharding, 3));
  EXPECT_EQ(atoms.sharding(dims), atoms.sharding(DimAtoms(dims))) << "equal ones are one object";
}

// --- One device order, several names ---

std::string on_mesh(const NamedSharding& sharding, const Mesh& mesh) {
  return fmt::format("{}", translate("f", sharding, mesh).spec());
}

TEST(Translate, AnAxisIsTheRunOfPartsItCovers) {
  const Mesh one = Mesh::abstract({8}, {"x"}), two = Mesh::abstract({2, 4}, {"a", "b"});
  EXPECT_EQ(on_mesh(NamedSharding(one, P("x")), two), "PartitionSpec(('a:(1)2', 'b:(1)4'))");
  EXPECT_EQ(on_mesh(NamedSharding(two, P("b", "a")), one), "PartitionSpec('x:(2)4', 'x:(1)2')");
  const Mesh other = Mesh::abstract({4, 2}, {"a", "b"}), mine = Mesh::abstract({2, 4}, {"x", "y"});
  EXPECT_EQ(on_mesh(NamedSharding(other, P("a", "b")), mine),
            "PartitionSpec(('x:(1)2', 'y:(1)2'), 'y:(2)2')");
}

TEST(Translate, OpenDimensionsAndReplicationStay) {
  const Mesh one = Mesh::abstract({8}, {"x"}), two = Mesh::abstract({2, 4}, {"a", "b"});
  const NamedSharding open(
      two, PartitionSpec({DimSpec(std::vector<AxisRef>{{"a"}}, true), None}, {{"b"}}));
  const NamedSharding back = translate("f", open, one);
  EXPECT_TRUE(back.is_open(0));
  EXPECT_FALSE(back.is_open(1));
  EXPECT_THAT(back.spec().replicated(), ElementsAre(AxisRef{"x", 2, 4}));
}

TEST(Translate, Errors) {
  const Mesh six = Mesh::abstract({2, 3}, {"x", "y"}), turned = Mesh::abstract({3, 2}, {"a", "b"});
  EXPECT_THAT(
      error_of([&] { translate("f", NamedSharding(six, P("x")), turned); }),
      HasSubstr(
          "[f] expected axes that are parts of AbstractMesh('a': 3, 'b': 2), got 'x' of "
          "AbstractMesh('x': 2, 'y': 3); use one mesh, or axis sizes that divide each other"));
  std::vector<Device> devices(4);
  for (size_t i = 0; i < 4; ++i) devices[i].id = static_cast<int64_t>(i);
  const Mesh straight(devices, {"x"});
  std::swap(devices[2], devices[3]);
  const Mesh swapped(devices, {"x"});
  EXPECT_FALSE(same_device_order(straight, swapped));
  EXPECT_FALSE(same_device_order(straight, Mesh::abstract({4}, {"x"})));
  EXPECT_THAT(error_of([&] { translate("f", NamedSharding(straight, P("x")), swapped); }),
              HasSubstr("[f] expected meshes that list the same devices in the same order, got "
                        "Mesh('x': 4) of devices 0, 1, 2, 3 and Mesh('x': 4) of devices 0, 1, 3, "
                        "2; build both from one device list"));
}

}  // namespace
}  // namespace tessera::atoms_test
