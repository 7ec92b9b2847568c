#include "tessera/fusion/locality.h"

#include <gmock/gmock.h>

#include "tessera/base/literal.h"

namespace tessera::locality_test {

using namespace fusion;

namespace {

using ::testing::ElementsAre;
using Map = std::vector<int32_t>;

Mesh mesh22() { return Mesh::abstract({2, 2}, {"x", "y"}); }

// Process 0 has the first row of the mesh, process 1 the second one.
std::shared_ptr<const Locality> rows(int process) {
  return std::make_shared<Locality>(mesh22(), std::vector<int>{0, 0, 1, 1}, process);
}

TEST(Locality, InstancesThatAProcessHolds) {
  EXPECT_THAT(rows(0)->instances({}), ElementsAre(0));
  EXPECT_THAT(rows(0)->instances({0}), ElementsAre(0));
  EXPECT_THAT(rows(1)->instances({0}), ElementsAre(1));
  EXPECT_THAT(rows(1)->instances({1}), ElementsAre(0, 1));
  EXPECT_THAT(rows(1)->instances({0, 1}), ElementsAre(2, 3));
  EXPECT_THAT(rows(1)->instances({1, 0}), ElementsAre(1, 3));  // y is the major axis
}

TEST(Locality, LocalInstancesOfOneSlotAsThoseOfAnother) {
  // (1, 0) and (1, 1) are instances 1 and 3 over {y, x}, and local instances 0 and 1.
  EXPECT_EQ(rows(1)->map({0, 1}, {1, 0}), (Map{0, 1}));
  EXPECT_EQ(rows(1)->map({0, 1}, {0}), (Map{0, 0}));
  EXPECT_EQ(rows(1)->map({0}, {0, 1}), (Map{0}));  // from the first device that holds it
  EXPECT_EQ(rows(1)->map({1}, {}), (Map{0, 0}));
}

TEST(Locality, ProcessesThatHoldNoBox) {
  const Locality diagonal(mesh22(), {1, 0, 0, 1}, 1);  // process 1 has (0, 0) and (1, 1)
  EXPECT_THAT(diagonal.instances({0, 1}), ElementsAre(0, 3));
  EXPECT_THAT(diagonal.instances({0}), ElementsAre(0, 1));
  EXPECT_EQ(diagonal.map({0, 1}, {1}), (Map{0, 1}));
  EXPECT_THAT(diagonal.holders({0}), ElementsAre(ElementsAre(0, 1), ElementsAre(0, 1)));
  EXPECT_THAT(diagonal.holders({0, 1}),
              ElementsAre(ElementsAre(1), ElementsAre(0), ElementsAre(0), ElementsAre(1)));
}

TEST(Locality, AHolderOfSeveralDevicesIsNamedOnce) {
  const Locality rows(mesh22(), {0, 0, 1, 1}, 0);
  EXPECT_THAT(rows.holders({}), ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(rows.holders({0}), ElementsAre(ElementsAre(0), ElementsAre(1)));
}

TEST(Locality, AProcessWithoutADevice) {
  const Locality none(mesh22(), {0, 0, 1, 1}, 2);
  EXPECT_THAT(none.instances({}), ElementsAre());
  EXPECT_THAT(none.processes(), ElementsAre(0, 1));
}

TEST(Locality, AScheduleOfOneProcess) {
  Schedule s;
  s.mesh = mesh22();
  s.slots.push_back({.dtype = int32, .shape = {}, .axes = {0, 1}, .instances = 4});
  s.slots.push_back({.dtype = int32, .shape = {}, .axes = {1}, .instances = 2});
  InstanceTableStep table{.out = 0};
  for (int32_t i = 0; i < 4; ++i) table.values.push_back(Literal::scalar(i));
  s.steps.emplace_back(table);
  s.slots[0].kind = Slot::Kind::kOutput;
  s.outputs = {0};
  verify(s);
  const Schedule mine = localize(s, rows(1));
  verify(mine);
  EXPECT_EQ(mine.slots[0].instances, 2);
  EXPECT_EQ(mine.slots[1].instances, 2);
  const auto& values = std::get<InstanceTableStep>(mine.steps[0]).values;
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(*reinterpret_cast<const int32_t*>(values[0].raw()), 2);
  EXPECT_EQ(*reinterpret_cast<const int32_t*>(values[1].raw()), 3);
}

}  // namespace
}  // namespace tessera::locality_test
