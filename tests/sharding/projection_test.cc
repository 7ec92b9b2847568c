#include "tessera/sharding/projection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::projection_test {

using namespace sharding;

namespace {

using ::testing::ElementsAre;

// A dimension of factors a (2) and b (6), and one of factor c (5).
class ProjectionTest : public ::testing::Test {
 protected:
  Projection project(const DimAtoms& dims, std::vector<char> open = {true, true}) const {
    return {factors_, {{a_, b_}, {c_}}, dims, open, mesh_};
  }

  // Atoms: x/0:2 x/1:2, y:3, z:2.
  const AtomMesh mesh_{Mesh::abstract({4, 3, 2}, {"x", "y", "z"})};
  Factors factors_;
  const int a_ = factors_.add(2), b_ = factors_.add(6), c_ = factors_.add(5);
};

TEST_F(ProjectionTest, AxesGoToTheFactorsMajorFirst) {
  const Projection p = project({{0, 2}, {3}});
  EXPECT_THAT(p.atoms(a_), ElementsAre(0));
  EXPECT_THAT(p.atoms(b_), ElementsAre(2));
  EXPECT_THAT(p.atoms(c_), ElementsAre(3));
}

// Three does not divide a = 2, so the dimension's axes cut no factor at all.
TEST_F(ProjectionTest, AFactorInsideADimensionTakesOnlyWhatDividesIt) {
  const Projection p = project({{2}, {}});
  EXPECT_THAT(p.atoms(a_), ElementsAre());
  EXPECT_THAT(p.atoms(b_), ElementsAre());
  EXPECT_FALSE(p.usable(a_));
  EXPECT_FALSE(p.usable(b_));
  EXPECT_TRUE(p.usable(c_));
}

TEST_F(ProjectionTest, TheMinorMostTakesTheRestHoweverUneven) {
  const Projection p = project({{0, 1, 3}, {0, 1, 2}});
  EXPECT_THAT(p.atoms(a_), ElementsAre(0));
  EXPECT_THAT(p.atoms(b_), ElementsAre(1, 3));     // 4 shards of 6 elements
  EXPECT_THAT(p.atoms(c_), ElementsAre(0, 1, 2));  // 12 shards of 5 elements
}

TEST_F(ProjectionTest, OnlyTheFactorAtTheEndOfTheCutIsUsable) {
  const Projection whole = project({{}, {}});
  EXPECT_TRUE(whole.usable(a_));
  EXPECT_FALSE(whole.usable(b_)) << "a is not cut to single elements";
  const Projection major = project({{0}, {}});
  EXPECT_TRUE(major.usable(a_));
  EXPECT_TRUE(major.usable(b_));
  const Projection both = project({{0, 2}, {}});
  EXPECT_FALSE(both.usable(a_)) << "b is cut";
  EXPECT_TRUE(both.usable(b_));
}

TEST_F(ProjectionTest, ClosedDimensionsTakeNoMore) {
  const Projection p = project({{0}, {}}, {false, true});
  EXPECT_THAT(p.atoms(a_), ElementsAre(0));
  EXPECT_FALSE(p.usable(a_));
  EXPECT_FALSE(p.usable(b_));
  EXPECT_TRUE(p.usable(c_));
}

TEST_F(ProjectionTest, FactorsOfOtherTensorsHaveNothing) {
  Factors factors = factors_;
  const int other = factors.add(7);
  const Projection p(factors, {{c_}}, {{3}}, {true}, mesh_);
  EXPECT_THAT(p.atoms(other), ElementsAre());
  EXPECT_FALSE(p.usable(other));
}

}  // namespace
}  // namespace tessera::projection_test
