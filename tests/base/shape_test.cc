#include "tessera/base/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tessera/base/error.h"
#include "tessera/base/format.h"

namespace tessera::shape_test {
namespace {

TEST(Shape, PrintsAsAPythonTuple) {
  EXPECT_EQ(fmt::format("{}", Shape{}), "()");
  EXPECT_EQ(fmt::format("{}", Shape{4}), "(4,)");
  EXPECT_EQ(fmt::format("{}", Shape{4, 8}), "(4, 8)");
  std::ostringstream out;
  out << Shape{1, 2, 3};
  EXPECT_EQ(out.str(), "(1, 2, 3)");
}

TEST(Shape, Elements) {
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ((Shape{3, 4}.elements()), 12);
  EXPECT_EQ((Shape{3, 0, 4}.elements()), 0);
  EXPECT_EQ((Shape{1 << 20, 1 << 20}.elements()), int64_t{1} << 40);
}

TEST(Shape, Strides) {
  EXPECT_EQ(row_major_strides({}), Dims{});
  EXPECT_EQ(row_major_strides({4, 8}), (Dims{8, 1}));
  EXPECT_EQ(row_major_strides({2, 3, 4, 5, 6, 7, 8}), (Dims{20160, 6720, 1680, 336, 56, 8, 1}));
  EXPECT_EQ(iota_dims(3), (Dims{0, 1, 2}));
  EXPECT_EQ(iota_dims(0), Dims{});
}

TEST(Shape, NormalizeAxis) {
  EXPECT_EQ(normalize_axis("sum", 0, 3), 0);
  EXPECT_EQ(normalize_axis("sum", -1, 3), 2);
  EXPECT_EQ(normalize_axis("sum", -3, 3), 0);
  for (int64_t axis : {int64_t{3}, int64_t{-4}}) {
    try {
      normalize_axis("sum", axis, 3);
      FAIL() << axis;
    } catch (const UserError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kShape);
      EXPECT_EQ(
          error.what(),
          fmt::format("[sum] expected an axis in [-3, 3), got {}; the array has rank 3", axis));
    }
  }
  EXPECT_THROW(normalize_axis("sum", 0, 0), UserError);
}

TEST(Shape, HashTellsShapesApart) {
  EXPECT_EQ(hash_value(Shape{2, 3}), hash_value(Shape{2, 3}));
  EXPECT_NE(hash_value(Shape{2, 3}), hash_value(Shape{3, 2}));
  EXPECT_NE(hash_value(Shape{}), hash_value(Shape{0}));
  EXPECT_NE(hash_value(Shape{1}), hash_value(Shape{1, 1}));
}

TEST(Shape, CeilDiv) {
  EXPECT_EQ(ceil_div(0, 4), 0);
  EXPECT_EQ(ceil_div(8, 4), 2);
  EXPECT_EQ(ceil_div(9, 4), 3);
}

}  // namespace
}  // namespace tessera::shape_test
