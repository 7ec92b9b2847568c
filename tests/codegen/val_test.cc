// Conversions to 16-bit floats: of integers near the middle between two of these, where rounding
// twice would go wrong, and of float32 of every kind to bfloat16. Conversions of floats to
// integers, which saturate.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "kernel_builder.h"
#include "tessera/base/namespaces.h"

namespace tessera::codegen::test::val_test {
namespace {

// Returns the magnitude rounded to `digits` binary digits, ties to even.
double rounded(uint64_t magnitude, int digits) {
  const int below = std::max(0, 64 - std::countl_zero(magnitude) - digits);
  if (below == 0) return static_cast<double>(magnitude);
  const uint64_t unit = uint64_t{1} << below, rest = magnitude & (unit - 1);
  uint64_t units = magnitude >> below;
  if (rest > unit / 2 || (rest == unit / 2 && units % 2 == 1)) ++units;
  return std::ldexp(static_cast<double>(units), below);
}

template <class T>
std::vector<T> integers(int digits) {
  std::vector<T> out{0, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
  for (int bits = 2; bits < std::numeric_limits<T>::digits; ++bits)
    for (int units : {(1 << (digits - 1)) + 1, (1 << (digits - 1)) + 2, (1 << digits) - 1}) {
      const double middle = std::ldexp(units + 0.5, bits - digits);
      if (middle >= std::ldexp(1.0, std::numeric_limits<T>::digits)) continue;
      for (int64_t near : {-257, -256, -255, -128, -3, -1, 0, 1, 2, 129, 255, 256, 511, 512}) {
        const auto value = static_cast<T>(static_cast<T>(middle) + static_cast<T>(near));
        out.push_back(value);
        if (std::is_signed_v<T>) out.push_back(static_cast<T>(-value));
      }
    }
  return out;
}

template <class T, class Half>
void check_conversions(DType from, DType to, int digits) {
  const std::vector<T> values = integers<T>(digits);
  const auto n = static_cast<int64_t>(values.size());
  KernelMaker m;
  const int x = m.buffer(from, n), y = m.buffer(to, n, BufferKind::kOutput);
  m.k.parallel = {n};
  m.loop({});
  m.store(y, {0, {1}, {}}, m.op(ScalarOp::kConvert, to, {m.load(x, {0, {1}, {}})}));
  for (KernelCompiler* compiler : compilers()) {
    Buffers b(m.k);
    std::copy(values.begin(), values.end(), b.data<T>(x));
    compiler->compile(m.k)(b.pointers().data(), 0, n);
    for (int64_t i = 0; i < n; ++i) {
      const bool negative = values[i] < 0;
      const auto bits = static_cast<uint64_t>(values[i]);
      double want = rounded(negative ? -bits : bits, digits);
      if (to == float16 && want > 65504) want = INFINITY;
      if (negative) want = -want;
      EXPECT_EQ(static_cast<float>(b.data<Half>(y)[i]), static_cast<float>(want)) << values[i];
    }
  }
}

TEST(Val, IntegersAreRoundedOnceToHalves) {
  check_conversions<int32_t, Bfloat16>(int32, bfloat16, 8);
  check_conversions<uint32_t, Bfloat16>(uint32, bfloat16, 8);
  check_conversions<int64_t, Bfloat16>(int64, bfloat16, 8);
  check_conversions<uint64_t, Bfloat16>(uint64, bfloat16, 8);
  check_conversions<int32_t, Float16>(int32, float16, 11);
  check_conversions<uint32_t, Float16>(uint32, float16, 11);
  check_conversions<int64_t, Float16>(int64, float16, 11);
  check_conversions<uint64_t, Float16>(uint64, float16, 11);
}

// Returns bit patterns of float32 around those of bfloat16: of zeros, denormal and normal numbers,
// infinities and NaN, with ties and their neighbours. Each stands among normal numbers, and in a
// vector with one that may be rounded in another way.
std::vector<uint32_t> bit_patterns() {
  std::vector<uint32_t> out;
  for (uint32_t upper : {0x0000U, 0x0001U, 0x0040U, 0x007fU, 0x0080U, 0x0081U, 0x3f80U, 0x3f81U,
                         0x4049U, 0x7f7eU, 0x7f7fU, 0x7f80U, 0x7f81U, 0x7fbfU, 0x7fc0U, 0x7fffU})
    for (uint32_t lower : {0x0000U, 0x0001U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU})
      for (uint32_t sign : {0U, 0x80000000U}) {
        out.push_back(sign | upper << 16 | lower);
        for (uint32_t k = 0; k < out.size() % 19; ++k) out.push_back(0x40490fdbU + 0x1234U * k);
      }
  return out;
}

// IEEE 754's rounding to nearest, ties to even, by integers. A NaN stays one.
uint16_t bfloat16_bits(uint32_t bits) {
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<uint16_t>(bits >> 16 | 0x40U);
  return static_cast<uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

// Rounds to bfloat16 in vectors of as many lanes as float32 has, or of half of them, and stores the
// rounded values, and their sums with 0 in float32.
void check_rounding(bool half_of_lanes) {
  const std::vector<uint32_t> values = bit_patterns();
  const auto n = static_cast<int64_t>(values.size());
  KernelMaker m;
  const int x = m.buffer(float32, n), y = m.buffer(bfloat16, n, BufferKind::kOutput),
            z = m.buffer(float32, n, BufferKind::kOutput),
            w = m.buffer(float64, n, BufferKind::kOutput);
  m.k.parallel = {n};
  m.loop({});
  const Affine at{0, {1}, {}};
  const int loaded = m.load(x, at), rounded = m.op(ScalarOp::kConvert, bfloat16, {loaded});
  m.store(y, at, rounded);
  m.store(z, at, m.op(ScalarOp::kConvert, float32, {rounded}));
  if (half_of_lanes) m.store(w, at, m.op(ScalarOp::kConvert, float64, {loaded}));
  for (KernelCompiler* compiler : compilers()) {
    Buffers b(m.k);
    std::memcpy(b.data<float>(x), values.data(), values.size() * sizeof(uint32_t));
    compiler->compile(m.k)(b.pointers().data(), 0, n);
    for (int64_t i = 0; i < n; ++i) {
      const uint16_t want = bfloat16_bits(values[i]);
      EXPECT_EQ(std::bit_cast<uint16_t>(b.data<Bfloat16>(y)[i]), want) << std::hex << values[i];
      EXPECT_EQ(std::bit_cast<uint32_t>(b.data<float>(z)[i]), uint32_t{want} << 16);
    }
  }
}

TEST(Val, FloatsAreRoundedToBfloat16AlikeOnAllLevels) {
  check_rounding(false);
  check_rounding(true);
}

// Returns floats around the limits of all integers, fractions, infinities and NaN.
template <class F>
std::vector<F> floats_around_limits() {
  constexpr F kInfinity = std::numeric_limits<F>::infinity();
  std::vector<F> out{0, F(0.25), F(0.99), F(1.5), 100, kInfinity};
  for (int bits : {7, 8, 15, 16, 31, 32, 52, 63, 64, 70}) {
    const F limit = std::ldexp(F(1), bits);
    F below = limit, above = limit;
    for (int k = 0; k < 3; ++k) {
      below = std::nextafter(below, F(0));
      above = std::nextafter(above, kInfinity);
      out.insert(out.end(), {below, above});
    }
    out.insert(out.end(), {limit, limit - 1, limit + 1, limit - F(0.5), limit / 2, limit / 3});
  }
  const size_t positive = out.size();
  for (size_t k = 0; k < positive; ++k) out.push_back(-out[k]);
  out.push_back(std::numeric_limits<F>::quiet_NaN());
  return out;
}

template <class F, class T>
T saturated(F x) {
  if (std::isnan(x)) return 0;
  if (x >= std::ldexp(F(1), std::numeric_limits<T>::digits)) return std::numeric_limits<T>::max();
  if (x <= static_cast<F>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return static_cast<T>(x);
}

template <class F, class T>
void check_truncation(DType from, DType to) {
  const std::vector<F> values = floats_around_limits<F>();
  const auto n = static_cast<int64_t>(values.size());
  KernelMaker m;
  const int x = m.buffer(from, n), y = m.buffer(to, n, BufferKind::kOutput);
  m.k.parallel = {n};
  m.loop({});
  m.store(y, {0, {1}, {}}, m.op(ScalarOp::kConvert, to, {m.load(x, {0, {1}, {}})}));
  for (KernelCompiler* compiler : compilers()) {
    Buffers b(m.k);
    std::copy(values.begin(), values.end(), b.data<F>(x));
    compiler->compile(m.k)(b.pointers().data(), 0, n);
    for (int64_t i = 0; i < n; ++i)
      EXPECT_EQ(b.data<T>(y)[i], (saturated<F, T>(values[i]))) << values[i] << " as " << to;
  }
}

template <class F>
void check_truncations(DType from) {
  check_truncation<F, int8_t>(from, int8);
  check_truncation<F, uint8_t>(from, uint8);
  check_truncation<F, int16_t>(from, int16);
  check_truncation<F, uint16_t>(from, uint16);
  check_truncation<F, int32_t>(from, int32);
  check_truncation<F, uint32_t>(from, uint32);
  check_truncation<F, int64_t>(from, int64);
  check_truncation<F, uint64_t>(from, uint64);
}

TEST(Val, FloatsBecomeTheNearestIntegersThatExist) {
  check_truncations<float>(float32);
  check_truncations<double>(float64);
}

}  // namespace
}  // namespace tessera::codegen::test::val_test
