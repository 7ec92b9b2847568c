#include "tessera/base/dtype.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <sstream>

#include "tessera/base/format.h"
#include "tessera/base/visit_dtype.h"

namespace tessera::dtype_test {
namespace {

using testing::HasSubstr;

std::vector<DType> all_dtypes() {
  std::vector<DType> out;
  for (int i = 0; i < kNumDTypes; ++i) out.push_back(static_cast<DType>(i));
  return out;
}

TEST(DType, NamesRoundTripAndAreDistinct) {
  std::set<std::string_view> names, mlir;
  for (DType d : all_dtypes()) {
    EXPECT_EQ(dtype_from_name(dtype_name(d)), d);
    EXPECT_EQ(dtype_from_mlir_name(mlir_name(d)), d);
    names.insert(dtype_name(d));
    mlir.insert(mlir_name(d));
  }
  EXPECT_EQ(names.size(), kNumDTypes);
  EXPECT_EQ(mlir.size(), kNumDTypes);
  EXPECT_EQ(dtype_name(bfloat16), "bfloat16");
  EXPECT_EQ(mlir_name(complex64), "complex<f32>");
  EXPECT_EQ(mlir_name(bool_), "i1");
  EXPECT_EQ(mlir_name(uint8), "ui8");
}

TEST(DType, UnknownNamesAreErrors) {
  for (const char* name : {"float", "f32", "", "Float32"}) {
    try {
      dtype_from_name(name);
      FAIL() << name;
    } catch (const UserError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kType);
      EXPECT_THAT(error.what(), HasSubstr("got '" + std::string(name) + "'"));
    }
  }
  try {
    dtype_from_mlir_name("float32");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("got 'float32'"));
  }
}

TEST(DType, SizesAndKindsAreThoseOfTheCppTypes) {
  for (DType d : all_dtypes()) {
    SCOPED_TRACE(dtype_name(d));
    visit_dtype(d, [&](auto tag) {
      using T = typename decltype(tag)::type;
      EXPECT_EQ(dtype_of<T>, d);
      constexpr bool integral = std::is_integral_v<T> && !std::is_same_v<T, bool>;
      EXPECT_EQ(itemsize(d), static_cast<int64_t>(sizeof(T)));
      EXPECT_EQ(is_integer(d), integral);
      EXPECT_EQ(is_unsigned(d), integral && std::is_unsigned_v<T>);
      EXPECT_EQ(is_signed(d), integral && std::is_signed_v<T>);
    });
    EXPECT_EQ(is_inexact(d), is_floating(d) || is_complex(d));
  }
  EXPECT_EQ(kind(bool_), DTypeKind::kBool);
  EXPECT_TRUE(is_floating(bfloat16) && is_floating(float16) && is_floating(float64));
  EXPECT_TRUE(is_complex(complex64) && is_complex(complex128));
  EXPECT_EQ(real_dtype(complex64), float32);
  EXPECT_EQ(real_dtype(complex128), float64);
  EXPECT_EQ(real_dtype(bfloat16), bfloat16);
}

TEST(DType, Prints) {
  std::ostringstream out;
  out << float16;
  EXPECT_EQ(out.str(), "float16");
  EXPECT_EQ(fmt::format("{}", uint64), "uint64");
}

// ---- Half precision against plain arithmetic on the fields
// ---------------------------------------------------------

// Returns the value of the fields sign, exponent and fraction, as IEEE 754 defines it.
double decode(uint32_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction = bits & ((1u << fraction_bits) - 1),
               scale = std::ldexp(1.0, -fraction_bits);
  const double sign = bits >> (exponent_bits + fraction_bits) ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction * scale, 1 - bias);
  return sign * std::ldexp(1 + fraction * scale, exponent - bias);
}

template <class Half>
void check_every_pattern(int exponent_bits, int fraction_bits) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    Half half;
    half.bits = static_cast<uint16_t>(bits);
    const float wide = static_cast<float>(half);
    const double expected = decode(bits, exponent_bits, fraction_bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(wide)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(Half(wide)))) << bits;
      ASSERT_EQ(Half(wide).bits >> 15, bits >> 15) << bits;
    } else {
      ASSERT_EQ(wide, expected) << bits;
      ASSERT_EQ(std::signbit(wide), bits >> 15 != 0) << bits;
      ASSERT_EQ(Half(wide).bits, bits);
    }
  }
}
TEST(Float16, EveryPatternWidensAndReturns) { check_every_pattern<Float16>(5, 10); }
TEST(Bfloat16, EveryPatternWidensAndReturns) { check_every_pattern<Bfloat16>(8, 7); }

// Between each pair of neighbours, the midpoint rounds to the even one, and a float on either side
// of the midpoint rounds to that side.
template <class Half>
void check_rounding(uint32_t infinity) {
  for (uint32_t bits = 0; bits + 1 < infinity; ++bits) {
    Half low, high;
    low.bits = static_cast<uint16_t>(bits);
    high.bits = static_cast<uint16_t>(bits + 1);
    const float a = static_cast<float>(low), b = static_cast<float>(high);
    const float middle = static_cast<float>((static_cast<double>(a) + b) / 2);
    for (float sign : {1.0f, -1.0f}) {
      const uint32_t s = sign < 0 ? 0x8000 : 0;
      ASSERT_EQ(Half(sign * middle).bits, s | (bits % 2 == 0 ? bits : bits + 1)) << bits;
      ASSERT_EQ(Half(sign * std::nextafter(middle, 0.0f)).bits, s | bits) << bits;
      ASSERT_EQ(Half(sign * std::nextafter(middle, INFINITY)).bits, s | (bits + 1)) << bits;
    }
  }
}
TEST(Float16, RoundsToNearestEven) { check_rounding<Float16>(0x7c00); }
TEST(Bfloat16, RoundsToNearestEven) { check_rounding<Bfloat16>(0x7f80); }

TEST(Float16, Overflow) {
  EXPECT_EQ(Float16(65519.996f).bits, 0x7bff);
  EXPECT_EQ(Float16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Float16(-1e30f).bits, 0xfc00);
  EXPECT_EQ(Float16(1e-30f).bits, 0x0000);
  EXPECT_EQ(Float16(-1e-30f).bits, 0x8000);
}
TEST(Bfloat16, Overflow) {
  EXPECT_EQ(Bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(Bfloat16(std::bit_cast<float>(0x7f7f7fffu)).bits, 0x7f7f);
  EXPECT_EQ(Bfloat16(std::bit_cast<float>(0x7f800001u)).bits,
            0x7fc0);  // a NaN with its payload in the lost bits
}

#if defined(__aarch64__)
using CompilersHalf = __fp16;
#elif defined(__FLT16_MANT_DIG__)
using CompilersHalf = _Float16;
#endif
#if defined(__aarch64__) || defined(__FLT16_MANT_DIG__)
// Compares with the compiler's own binary16, on random floats of every exponent.
TEST(Float16, EqualsTheCompilers) {
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i) {
    const float f = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(f)) continue;
    ASSERT_EQ(Float16(f).bits, std::bit_cast<uint16_t>(static_cast<CompilersHalf>(f))) << f;
  }
}
#endif

}  // namespace
}  // namespace tessera::dtype_test
