// Conversions of integers to 16-bit floats near the middle between two of these, where rounding
// twice would go wrong.
#include <gtest/gtest.h>

#include <bit>

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

}  // namespace
}  // namespace tessera::codegen::test::val_test
