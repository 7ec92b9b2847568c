#include "tessera/base/literal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tessera/base/error.h"

namespace tessera::literal_test {
namespace {

using testing::ElementsAre;

std::vector<float> values(const Literal& literal) {
  return {literal.data<float>(), literal.data<float>() + literal.elements()};
}

TEST(Literal, StartsAsZeros) {
  const Literal zeros(float32, {2, 2});
  EXPECT_THAT(values(zeros), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(zeros.elements(), 4);
  EXPECT_EQ(zeros.bytes(), 16);
  EXPECT_EQ(Literal().shape(), Shape{0});
  EXPECT_EQ(Literal(complex128, {0, 3}).bytes(), 0);
}

TEST(Literal, FromValues) {
  const float data[] = {1, 2, 3, 4, 5, 6};
  const Literal literal = Literal::from<float>(data, {2, 3});
  EXPECT_EQ(literal.dtype(), float32);
  EXPECT_EQ(literal.shape(), (Shape{2, 3}));
  EXPECT_THAT(values(literal), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(Literal::scalar(Bfloat16(2.0f)).dtype(), bfloat16);
  EXPECT_EQ(Literal::scalar(true).shape(), Shape{});
}

TEST(Literal, WrongCountIsAnError) {
  const float data[] = {1, 2, 3};
  try {
    Literal::from<float>(data, {2, 2});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kShape);
    EXPECT_STREQ(error.what(), "[array] expected 4 values for shape (2, 2), got 3");
  }
}

TEST(Literal, CopiesShareUntilOneIsWritten) {
  Literal a(float32, {3});
  Literal b = a;
  EXPECT_EQ(a.raw(), b.raw());
  b.mutable_data<float>()[1] = 5;
  EXPECT_NE(a.raw(), b.raw());
  EXPECT_THAT(values(a), ElementsAre(0, 0, 0));
  EXPECT_THAT(values(b), ElementsAre(0, 5, 0));
  const std::byte* own = b.raw();
  b.mutable_data<float>()[0] = 1;
  EXPECT_EQ(b.raw(), own);  // already its own
}

TEST(Literal, ReshapedSharesBytes) {
  const Literal a(int32, {2, 3});
  const Literal b = a.reshaped({6});
  EXPECT_EQ(b.shape(), Shape{6});
  EXPECT_EQ(b.raw(), a.raw());
  EXPECT_THROW(a.reshaped({5}), InternalError);
}

TEST(Literal, TheWrongTypeIsABrokenInvariant) {
  Literal a(int32, {2});
  EXPECT_THROW(a.data<float>(), InternalError);
  EXPECT_THROW(a.mutable_data<uint32_t>(), InternalError);
}

TEST(Literal, EqualityIsBitwise) {
  EXPECT_EQ(Literal::scalar(std::numeric_limits<float>::quiet_NaN()),
            Literal::scalar(std::numeric_limits<float>::quiet_NaN()));
  EXPECT_FALSE(Literal::scalar(0.0f) == Literal::scalar(-0.0f));
  EXPECT_FALSE(Literal::scalar<int32_t>(0) == Literal::scalar(0.0f));
  EXPECT_FALSE(Literal(float32, {2, 3}) == Literal(float32, {3, 2}));
  EXPECT_EQ(hash_value(Literal(float32, {2, 3})), hash_value(Literal(float32, {2, 3})));
  EXPECT_NE(hash_value(Literal(float32, {2, 3})), hash_value(Literal(float32, {3, 2})));
  EXPECT_NE(hash_value(Literal::scalar(1.0f)), hash_value(Literal::scalar(2.0f)));
}

}  // namespace
}  // namespace tessera::literal_test
