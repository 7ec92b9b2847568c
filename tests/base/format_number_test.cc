#include "tessera/base/format_number.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>

namespace tessera::format_number_test {
namespace {

double read(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  EXPECT_TRUE(error == std::errc() && end == text.data() + text.size()) << text;
  return value;
}

TEST(FormatNumber, DecimalNotations) {
  EXPECT_EQ(positional_text({false, "1", 0}), "1");
  EXPECT_EQ(positional_text({true, "125", 0}), "-1.25");
  EXPECT_EQ(positional_text({false, "125", 1}), "12.5");
  EXPECT_EQ(positional_text({false, "125", 2}), "125");
  EXPECT_EQ(positional_text({false, "125", 4}), "12500");
  EXPECT_EQ(positional_text({false, "125", -1}), "0.125");
  EXPECT_EQ(positional_text({false, "125", -3}), "0.00125");
  EXPECT_EQ(positional_text({true, "0", 0}), "-0");
  EXPECT_EQ(scientific_text({false, "1", 16}), "1e+16");
  EXPECT_EQ(scientific_text({true, "125", -5}), "-1.25e-05");
  EXPECT_EQ(scientific_text({false, "5", -324}), "5e-324");
}

TEST(FormatNumber, EveryBinary16ReadsBackAndNoShorterTextDoes) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    Float16 value;
    value.bits = static_cast<uint16_t>(bits);
    if (!std::isfinite(static_cast<float>(value))) continue;
    const Decimal decimal = shortest_decimal(value);
    ASSERT_EQ(Float16(static_cast<float>(read(scientific_text(decimal)))), value) << bits;
    ASSERT_EQ(Float16(static_cast<float>(read(positional_text(decimal)))), value) << bits;
    if (decimal.digits.size() == 1) continue;
    // With one digit fewer, rounded down or up, the text is another number.
    Decimal shorter = decimal;
    shorter.digits.pop_back();
    ASSERT_NE(Float16(static_cast<float>(read(scientific_text(shorter)))), value) << bits;
    const std::string up = std::to_string(std::stoi(shorter.digits) + 1);
    const int exponent = decimal.exponent + static_cast<int>(up.size() - shorter.digits.size());
    ASSERT_NE(Float16(static_cast<float>(read(scientific_text({decimal.negative, up, exponent})))),
              value)
        << bits;
  }
}

TEST(FormatNumber, FloatsReadBack) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const float f = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isfinite(f)) {
      ASSERT_EQ(static_cast<float>(read(scientific_text(shortest_decimal(f)))), f);
    }
    const double d = std::bit_cast<double>(random());
    if (std::isfinite(d)) {
      ASSERT_EQ(read(python_float(d)), d);
    }
  }
}

TEST(FormatNumber, ScalarsSwitchNotationByDtype) {
  EXPECT_EQ(numpy_scalar(999999.0f), "999999.0");
  EXPECT_EQ(numpy_scalar(1e6f), "1e+06");
  EXPECT_EQ(numpy_scalar(9999999999999998.0), "9999999999999998.0");
  EXPECT_EQ(numpy_scalar(1e16), "1e+16");
  EXPECT_EQ(numpy_scalar(Float16(999.5f)), "999.5");
  EXPECT_EQ(numpy_scalar(Float16(1000.0f)), "1e+03");
  EXPECT_EQ(numpy_scalar(0.0001), "0.0001");
  EXPECT_EQ(numpy_scalar(0.00009), "9e-05");
  EXPECT_EQ(numpy_scalar(Bfloat16(0.1f)), "0.100098");
  EXPECT_EQ(numpy_scalar(-std::numeric_limits<float>::infinity()), "-inf");
  Bfloat16 negative_nan;
  negative_nan.bits = 0xffc0;
  EXPECT_EQ(numpy_scalar(negative_nan), "nan");
}

TEST(FormatNumber, Complex) {
  EXPECT_EQ(python_complex({1, 2}), "(1+2j)");
  EXPECT_EQ(python_complex({0, 2}), "2j");
  EXPECT_EQ(python_complex({0, -0.0}), "-0j");
  EXPECT_EQ(python_complex({-0.0, 1}), "(-0+1j)");
  EXPECT_EQ(python_complex({std::nan(""), -INFINITY}), "(nan-infj)");
  EXPECT_EQ(numpy_scalar(std::complex<float>(1e6f, 0.1f)), "(1e+06+0.1j)");
  EXPECT_EQ(numpy_scalar(std::complex<double>(1e6, 0.1)), "(1000000+0.1j)");
}

}  // namespace
}  // namespace tessera::format_number_test
