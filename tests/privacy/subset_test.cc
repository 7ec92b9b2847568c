#include "tessera/privacy/batch_selection/subset.h"

namespace tessera::privacy::batch_selection::internal::subset_test {
namespace {

constexpr int kDraws = 24000;

// Expects equal frequencies: Pearson's statistic is this far from its mean only once in 10^6.
void expect_uniform(const std::map<std::vector<int64_t>, int>& counts, size_t outcomes) {
  ASSERT_EQ(counts.size(), outcomes);
  const double expected = static_cast<double>(kDraws) / static_cast<double>(outcomes);
  double statistic = 0;
  for (const auto& [outcome, count] : counts)
    statistic += (count - expected) * (count - expected) / expected;
  const auto freedom = static_cast<double>(outcomes - 1);
  EXPECT_LT(statistic, freedom + 5 * std::sqrt(2 * freedom) + 10);
}

template <class Draw>
std::map<std::vector<int64_t>, int> frequencies(Draw draw) {
  std::map<std::vector<int64_t>, int> out;
  for (uint64_t i = 0; i < kDraws; ++i) ++out[draw(CounterStream(1, 2).child(i))];
  return out;
}

TEST(UniformSubset, EverySubsetIsAsLikely) {
  expect_uniform(frequencies([](auto stream) { return uniform_subset(6, 2, stream); }), 15);
  expect_uniform(frequencies([](auto stream) { return uniform_subset(6, 3, stream); }), 20);
  expect_uniform(frequencies([](auto stream) { return uniform_subset(6, 5, stream); }), 6);
}

TEST(UniformSubset, HoldsNothingAndEverything) {
  EXPECT_TRUE(uniform_subset(5, 0, CounterStream(1, 2)).empty());
  EXPECT_EQ(uniform_subset(3, 3, CounterStream(1, 2)), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_TRUE(uniform_subset(0, 0, CounterStream(1, 2)).empty());
}

TEST(UniformDraws, DrawWithReplacement) {
  const auto counts = frequencies([](auto stream) { return uniform_draws(2, 2, stream); });
  ASSERT_EQ(counts.size(), 3u);  // 00, 01, 11
  EXPECT_NEAR(counts.at({0, 1}), kDraws / 2, 5 * std::sqrt(kDraws / 4));
}

TEST(Permutation, EveryOrderIsAsLikely) {
  expect_uniform(frequencies([](auto stream) { return permutation(4, stream); }), 24);
  EXPECT_TRUE(permutation(0, CounterStream(1, 2)).empty());
}

}  // namespace
}  // namespace tessera::privacy::batch_selection::internal::subset_test
