#include "tessera/privacy/batch_selection/partition.h"

namespace tessera::privacy::batch_selection::internal::partition_test {
namespace {

std::vector<int64_t> sizes(const Groups& groups, int64_t count) {
  std::vector<int64_t> out;
  for (int64_t g = 0; g < count; ++g) out.push_back(static_cast<int64_t>(groups[g].size()));
  return out;
}

TEST(Groups, HoldExamplesInOrder) {
  const Groups groups(1, 3, [](auto emit) {
    emit(2, 0);
    emit(0, 1);
    emit(1, 2);
    emit(2, 2);
    emit(3, 3);
  });
  EXPECT_THAT(groups[1], testing::ElementsAre(2));
  EXPECT_THAT(groups[2], testing::ElementsAre(0, 2));
  EXPECT_TRUE(groups.holds(1));
  EXPECT_FALSE(groups.holds(0));
  EXPECT_FALSE(groups.holds(3));
}

TEST(IndependentPartition, GroupsHaveBinomialSizes) {
  constexpr int64_t kExamples = 1000, kGroups = 4;
  constexpr int kKeys = 2000;
  double mean = 0, square = 0;
  for (uint64_t k = 0; k < kKeys; ++k) {
    const Groups groups = independent_partition(kExamples, kGroups, CounterStream(8, 9).child(k));
    const std::vector<int64_t> all = sizes(groups, kGroups);
    EXPECT_EQ(std::accumulate(all.begin(), all.end(), int64_t{0}), kExamples);
    mean += static_cast<double>(all[1]) / kKeys;
    square += static_cast<double>(all[1] * all[1]) / kKeys;
  }
  const double variance = kExamples * 0.25 * 0.75;
  EXPECT_NEAR(mean, kExamples / kGroups, 5 * std::sqrt(variance / kKeys));
  EXPECT_NEAR(square - mean * mean, variance, 5 * variance * std::sqrt(2.0 / kKeys));
}

TEST(EqualSplitPartition, DropsWhatIsLeftOver) {
  const Groups groups = equal_split_partition(11, 3, CounterStream(8, 9));
  EXPECT_THAT(sizes(groups, 3), testing::ElementsAre(3, 3, 3));
  std::set<int64_t> seen;
  for (int64_t g = 0; g < 3; ++g) {
    EXPECT_TRUE(std::is_sorted(groups[g].begin(), groups[g].end()));
    seen.insert(groups[g].begin(), groups[g].end());
  }
  EXPECT_EQ(seen.size(), 9u);
}

// Every example is left out equally often, and is equally often in a group with each other example.
TEST(EqualSplitPartition, IsUniform) {
  constexpr int kKeys = 20000;
  std::array<int, 5> left_out{};
  int together = 0;
  for (uint64_t k = 0; k < kKeys; ++k) {
    const Groups groups = equal_split_partition(5, 2, CounterStream(8, 9).child(k));
    std::array<int, 5> group{-1, -1, -1, -1, -1};
    for (int g = 0; g < 2; ++g)
      for (const int64_t i : groups[g]) group[static_cast<size_t>(i)] = g;
    for (size_t i = 0; i < 5; ++i) left_out[i] += group[i] < 0;
    together += group[1] >= 0 && group[1] == group[4];
  }
  for (const int count : left_out) EXPECT_NEAR(count, kKeys / 5, 5 * std::sqrt(kKeys * 0.16));
  EXPECT_NEAR(together, kKeys / 5, 5 * std::sqrt(kKeys * 0.16));  // (4/5) (1/4)
}

TEST(Allocate, EachExampleIsInKGroups) {
  for (const int64_t k : {1, 2, 5, 6, 7}) {
    const Groups groups =
        allocate({.examples = 50, .k = k, .groups = 7}, 0, 7, CounterStream(1, 1));
    std::map<int64_t, int64_t> counts;
    for (int64_t g = 0; g < 7; ++g) {
      EXPECT_TRUE(std::is_sorted(groups[g].begin(), groups[g].end()));
      for (const int64_t i : groups[g]) ++counts[i];
    }
    EXPECT_EQ(counts.size(), 50u);
    for (const auto& [example, count] : counts) EXPECT_EQ(count, k) << example;
  }
}

TEST(Allocate, AWindowIsAPartOfTheWhole) {
  const Allocation what{.examples = 200, .k = 3, .groups = 20};
  const Groups all = allocate(what, 0, 20, CounterStream(1, 1));
  const Groups window = allocate(what, 7, 12, CounterStream(1, 1));
  for (int64_t g = 7; g < 12; ++g) EXPECT_TRUE(std::ranges::equal(all[g], window[g])) << g;
  EXPECT_FALSE(window.holds(12));
}

}  // namespace
}  // namespace tessera::privacy::batch_selection::internal::partition_test
