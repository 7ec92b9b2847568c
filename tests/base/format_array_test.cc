#include "tessera/base/format_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <limits>
#include <numeric>

#include "tests/golden/golden.h"

namespace tessera::format_array_test {
namespace {

using testing::HasSubstr;

template <class T>
Literal vector_of(std::initializer_list<T> values) {
  return Literal::from<T>({values.begin(), values.size()}, {static_cast<int64_t>(values.size())});
}

TEST(FormatArray, EqualsJaxDigitForDigit) {
  const golden::Topic topic("printing");
  int cases = 0;
  for (const golden::Json& c : topic["cases"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const Literal value = topic.array(c["value"]);
    EXPECT_EQ(str(value), c["str"].get<std::string>());
    EXPECT_EQ(repr(value, c["weak_type"].get<bool>()), c["repr"].get<std::string>());
    if (value.shape().rank() > 0) {
      EXPECT_EQ(to_string(value), c["str"].get<std::string>());
    }
    ++cases;
  }
  EXPECT_GE(cases, 300);
}

// An array of rank 0 prints as in Python's f"{jax_array}": with the digits of the number after it
// is widened to a Python number.
TEST(FormatArray, RankZeroPrintsAsItsItem) {
  EXPECT_EQ(to_string(Literal::scalar(4.004354476928711f)), "4.004354476928711");
  EXPECT_EQ(to_string(Literal::scalar(1.0f)), "1.0");
  EXPECT_EQ(to_string(Literal::scalar(0.1f)), "0.10000000149011612");
  EXPECT_EQ(to_string(Literal::scalar(0.1)), "0.1");
  EXPECT_EQ(to_string(Literal::scalar(1e15f)), "999999986991104.0");
  EXPECT_EQ(to_string(Literal::scalar(1e16)), "1e+16");
  EXPECT_EQ(to_string(Literal::scalar(1e-5)), "1e-05");
  EXPECT_EQ(to_string(Literal::scalar(-0.0)), "-0.0");
  EXPECT_EQ(to_string(Literal::scalar(std::numeric_limits<float>::infinity())), "inf");
  EXPECT_EQ(to_string(Literal::scalar(std::numeric_limits<double>::quiet_NaN())), "nan");
  EXPECT_EQ(to_string(Literal::scalar(Float16(0.1f))), "0.0999755859375");
  EXPECT_EQ(to_string(Literal::scalar(Bfloat16(0.1f))), "0.10009765625");
  EXPECT_EQ(to_string(Literal::scalar<int32_t>(-7)), "-7");
  EXPECT_EQ(to_string(Literal::scalar<uint64_t>(18446744073709551615u)), "18446744073709551615");
  EXPECT_EQ(to_string(Literal::scalar(true)), "True");
  EXPECT_EQ(to_string(Literal::scalar(std::complex<float>(1, 0.1f))), "(1+0.10000000149011612j)");
  EXPECT_EQ(to_string(Literal::scalar(std::complex<double>(0, -2))), "-2j");
}

TEST(FormatArray, StrOfAScalarKeepsItsOwnDigits) {
  EXPECT_EQ(str(Literal::scalar(4.004354476928711f)), "4.0043545");
  EXPECT_EQ(repr(Literal::scalar(4.004354476928711f)), "Array(4.0043545, dtype=float32)");
}

TEST(FormatArray, HalfPrecisionNeighbours) {
  // 0.01562 is as close to 2^-6 as 0.01563, but reads back as the binary16 below.
  EXPECT_EQ(str(Literal::scalar(Float16(0x1p-6f))), "0.01563");
  EXPECT_EQ(str(vector_of<Float16>({Float16(65504.0f), Float16(1.0f)})), "[6.55e+04 1.00e+00]");
  // 60000 / 0.001 overflows binary16; the notation is still scientific.
  EXPECT_EQ(str(vector_of<Float16>({Float16(60000.0f), Float16(0.001f)})), "[6.e+04 1.e-03]");
}

TEST(FormatArray, SpecialValuesWidenTheColumn) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(str(vector_of<float>({nan, 1.0f})), "[nan  1.]");
  EXPECT_EQ(str(vector_of<float>({-inf, 1.0f})), "[-inf   1.]");
  EXPECT_EQ(str(vector_of<float>({-nan, 1e-10f, 1e10f})), "[   nan 1.e-10 1.e+10]");
  EXPECT_EQ(str(vector_of<std::complex<float>>({{1, nan}, {0, -inf}})), "[1.+nanj 0.-infj]");
}

TEST(FormatArray, ManyAxes) {
  EXPECT_EQ(str(Literal(int32, Shape(20, 1))), std::string(20, '[') + "0" + std::string(20, ']'));
  EXPECT_EQ(str(Literal(int32, Shape(90, 1))), std::string(90, '[') + "0" + std::string(90, ']'));
}

TEST(FormatArray, ItemOutOfRange) {
  const Literal three(float32, {3});
  EXPECT_EQ(item_to_string(three, 2), "0.0");
  for (int64_t index : {int64_t{-1}, int64_t{3}}) {
    try {
      item_to_string(three, index);
      FAIL() << index;
    } catch (const UserError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kValue);
      EXPECT_THAT(error.what(), HasSubstr("[item] expected an index in [0, 3)"));
    }
  }
  EXPECT_THROW(item_to_string(Literal(float32, {0})), UserError);
}

}  // namespace
}  // namespace tessera::format_array_test
