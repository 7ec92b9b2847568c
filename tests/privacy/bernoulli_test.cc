#include "tessera/privacy/batch_selection/bernoulli.h"

namespace tessera::privacy::batch_selection::internal::bernoulli_test {
namespace {

std::vector<int64_t> successes(double p, int64_t first, int64_t last) {
  std::vector<int64_t> out;
  Bernoulli(CounterStream(5, 6), p).successes(first, last, out);
  return out;
}

TEST(Bernoulli, CertaintiesAreCertain) {
  EXPECT_TRUE(successes(0, 0, 100000).empty());
  EXPECT_EQ(successes(1, 0, 1000).size(), 1000u);
  EXPECT_TRUE(successes(1, 5, 5).empty());
  EXPECT_TRUE(successes(std::numeric_limits<double>::denorm_min(), 0, 1000000).empty());
  EXPECT_EQ(successes(std::nextafter(1.0, 0.0), 0, 1000000).size(), 1000000u);
}

// Compares U in binary with every bit of p. Numbers that tie with p in the first 16 bits are those
// that a coarser comparison gets wrong.
TEST(Bernoulli, SucceedsWhereAUniformNumberOfManyBitsIsBelow) {
  const CounterStream stream(5, 6);
  for (const double p : {0.1, 1.0 / 3, 0x1p-16, 0x1.8p-17, 0.999999, 1e-7}) {
    std::vector<int64_t> expected;
    for (int64_t i = 0; i < 1000000; ++i) {
      const uint64_t word = stream.word(static_cast<uint64_t>(i) / 4);
      const double head = static_cast<double>(word >> (16 * (i % 4)) & 0xffff) * 0x1p-16;
      double u = head;
      if (p >= head && p < head + 0x1p-16)
        u += static_cast<double>(stream.child(static_cast<uint64_t>(i)).word(0) >> 27) * 0x1p-53;
      if (u < p) expected.push_back(i);
    }
    EXPECT_EQ(successes(p, 0, 1000000), expected) << p;
  }
}

TEST(Bernoulli, ATrialDoesNotDependOnTheRangeAskedFor) {
  const std::vector<int64_t> all = successes(0.3, 0, 3000);
  for (const auto& [first, last] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 1}, {1, 2}, {3, 700}, {255, 257}, {256, 2999}}) {
    std::vector<int64_t> expected;
    for (const int64_t i : all)
      if (i >= first && i < last) expected.push_back(i);
    EXPECT_EQ(successes(0.3, first, last), expected) << first << " " << last;
  }
}

// p = 2^-16 (1 + 1/2): all numbers whose first 16 bits are 0 succeed, and half of those that tie.
TEST(Bernoulli, TinyProbabilitiesHaveTheRightFrequency) {
  const double p = 0x1.8p-16, n = 2e7;
  const auto count = static_cast<double>(successes(p, 0, static_cast<int64_t>(n)).size());
  EXPECT_NEAR(count, n * p, 5 * std::sqrt(n * p));
}

}  // namespace
}  // namespace tessera::privacy::batch_selection::internal::bernoulli_test
