#include "tessera/mesh/partition_spec.h"

#include <gtest/gtest.h>

#include "tessera/mesh/format.h"

namespace tessera::partition_spec_test {
namespace {

std::string text(const P& spec) { return fmt::format("{}", spec); }

TEST(PartitionSpec, IsWrittenAsInJaxAndPrintsSo) {
  EXPECT_EQ(text(P()), "PartitionSpec()");
  EXPECT_EQ(text(P("x")), "PartitionSpec('x')");
  EXPECT_EQ(text(P("x", "y")), "PartitionSpec('x', 'y')");
  EXPECT_EQ(text(P(None)), "PartitionSpec(None)");
  EXPECT_EQ(text(P(None, "model")), "PartitionSpec(None, 'model')");
  EXPECT_EQ(text(P("data", None)), "PartitionSpec('data', None)");
  EXPECT_EQ(text(P(joint("x", "y"), None)), "PartitionSpec(('x', 'y'), None)");
  EXPECT_EQ(text(P(UNCONSTRAINED, "x")), "PartitionSpec(UNCONSTRAINED, 'x')");
  std::string name = "z";
  std::string_view view = name;
  EXPECT_EQ(text(P(name, view)), "PartitionSpec('z', 'z')");
}

TEST(PartitionSpec, FromLists) {
  std::vector<DimSpec> dims = {"x", None, joint("y", "z")};
  EXPECT_EQ(text(P(dims)), "PartitionSpec('x', None, ('y', 'z'))");
  std::vector<std::string> names = {"x", "y"};
  EXPECT_EQ(text(P(names)), "PartitionSpec('x', 'y')");
  EXPECT_EQ(text(P(joint(names))), "PartitionSpec(('x', 'y'))");
}

TEST(PartitionSpec, SubAxes) {
  AxisRef half{"x", 1, 2};
  EXPECT_EQ(text(P(half, None)), "PartitionSpec('x:(1)2', None)");
  EXPECT_EQ(text(P(joint("y", half))), "PartitionSpec(('y', 'x:(1)2'))");
  EXPECT_TRUE(AxisRef{"x"}.is_whole());
  EXPECT_FALSE(half.is_whole());
}

TEST(PartitionSpec, OpenDimensionsAndReplicatedAxes) {
  EXPECT_EQ(text(P(DimSpec({{"x"}}, true), None)), "PartitionSpec(('x', ?), None)");
  EXPECT_EQ(text(P(std::vector<DimSpec>{"x"}, {{"y"}, {"z", 2, 2}})),
            "PartitionSpec('x', replicated={'y', 'z:(2)2'})");
  EXPECT_EQ(text(P(std::vector<DimSpec>{}, {{"y"}})), "PartitionSpec(replicated={'y'})");
}

TEST(PartitionSpec, DimsBeyondTheLastAreNone) {
  P spec("x");
  EXPECT_EQ(spec.rank(), 1);
  EXPECT_EQ(spec.dim(0), DimSpec("x"));
  EXPECT_TRUE(spec.dim(1).is_none());
  EXPECT_TRUE(P(UNCONSTRAINED).dim(0).is_unconstrained());
  EXPECT_FALSE(P(UNCONSTRAINED).dim(0).is_none());
}

TEST(PartitionSpec, EqualityIgnoresTrailingNones) {
  EXPECT_EQ(P("x"), P("x", None));
  EXPECT_EQ(hash_value(P("x")), hash_value(P("x", None, None)));
  EXPECT_EQ(P(), P(None, None));
  EXPECT_EQ(P("x"), P(joint("x")));
  EXPECT_NE(P("x"), P(None, "x"));
  EXPECT_NE(P("x"), P("x", UNCONSTRAINED));
  EXPECT_NE(P(joint("x", "y")), P(joint("y", "x")));
  EXPECT_NE(P("x"), P(AxisRef{"x", 1, 2}));
  EXPECT_NE(P("x"), P(std::vector<DimSpec>{"x"}, {{"y"}}));
  EXPECT_EQ(P("x", None, None).trimmed().rank(), 1);
}

TEST(PartitionSpec, Copies) {
  P spec("x", None);
  P copy(spec);
  P const_copy = static_cast<const P&>(spec);
  EXPECT_EQ(copy, spec);
  EXPECT_EQ(const_copy.rank(), 2);
  std::vector<P> list = {P("x"), P(), P("x", None)};
  EXPECT_EQ(list.size(), 3u);
}

}  // namespace
}  // namespace tessera::partition_spec_test
