// Compares conversions of many bfloat16 numbers, which use vectors, with those of single ones.
#include "tessera/runtime/halves.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

namespace tessera::halves_test {

using namespace runtime;

namespace {

TEST(Halves, EveryBfloat16IsWidened) {
  std::vector<Bfloat16> in(1 << 16);
  for (size_t i = 0; i < in.size(); ++i) in[i].bits = static_cast<uint16_t>(i);
  std::vector<float> out(in.size());
  widen(in.data(), out.data(), static_cast<int64_t>(in.size()));
  for (size_t i = 0; i < in.size(); ++i)
    EXPECT_EQ(std::bit_cast<uint32_t>(out[i]), static_cast<uint32_t>(i) << 16);
}

// For every high half, low halves around the ties: of zeros, subnormal numbers, infinities and NaN.
TEST(Halves, FloatsAreRoundedToBfloat16) {
  std::vector<float> in;
  for (uint32_t high = 0; high < 1 << 16; ++high)
    for (uint32_t low : {0x0000, 0x0001, 0x7fff, 0x8000, 0x8001, 0xffff})
      in.push_back(std::bit_cast<float>(high << 16 | low));
  std::vector<Bfloat16> out(in.size());
  narrow(in.data(), out.data(), static_cast<int64_t>(in.size()));
  for (size_t i = 0; i < in.size(); ++i)
    ASSERT_EQ(out[i].bits, Bfloat16(in[i]).bits) << std::hex << std::bit_cast<uint32_t>(in[i]);
}

// Numbers after the last whole vector, and none after the last one.
TEST(Halves, AnyLength) {
  for (int64_t n = 0; n < 70; ++n) {
    std::vector<float> in(static_cast<size_t>(n)), wide(static_cast<size_t>(n) + 1, 7.f);
    for (int64_t i = 0; i < n; ++i) in[static_cast<size_t>(i)] = 1.25f * static_cast<float>(i);
    std::vector<Bfloat16> out(static_cast<size_t>(n) + 1, Bfloat16(7.f));
    narrow(in.data(), out.data(), n);
    widen(out.data(), wide.data(), n);
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<size_t>(i);
      EXPECT_EQ(out[at], Bfloat16(in[at]));
      EXPECT_EQ(wide[at], static_cast<float>(out[at]));
    }
    EXPECT_EQ(out.back(), Bfloat16(7.f));
    EXPECT_EQ(wide.back(), 7.f);
  }
}

}  // namespace
}  // namespace tessera::halves_test
