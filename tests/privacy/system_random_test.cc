#include "tessera/privacy/noise/system_random.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tessera::privacy::internal::system_random_test {
namespace {

// Counts of bits, and of pairs of neighbouring bytes, in a megabyte are within five standard
// deviations.
TEST(SystemRandom, BytesAreUniform) {
  std::vector<std::byte> bytes(1 << 20);
  fill_from_system(bytes);
  int64_t ones = 0;
  std::vector<int64_t> counts(256);
  for (const std::byte b : bytes) {
    ones += std::popcount(std::to_integer<unsigned>(b));
    ++counts[std::to_integer<size_t>(b)];
  }
  EXPECT_NEAR(static_cast<double>(ones), 4.0 * (1 << 20), 5 * std::sqrt(2.0 * (1 << 20)));
  for (const int64_t count : counts)
    EXPECT_NEAR(static_cast<double>(count), 4096, 6 * std::sqrt(4096.0));
}

TEST(SystemRandom, CallsAndSizesShareNothing) {
  std::vector<std::byte> a(64), b(64), none;
  fill_from_system(a);
  fill_from_system(b);
  EXPECT_NE(a, b);
  fill_from_system(none);
  std::byte one[3] = {};
  for (int t = 0; t < 64 && one[2] == std::byte{}; ++t) fill_from_system(one);
  EXPECT_NE(one[2], std::byte{});  // the last byte is filled too
}

}  // namespace
}  // namespace tessera::privacy::internal::system_random_test
