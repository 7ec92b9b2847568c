// The candidates that are kept, and their order, among equal keys too.
#include "tessera/ops/structural/select_first.h"

#include <gtest/gtest.h>

#include <random>

namespace tessera::testing_ops::select_first_test {

using namespace ops;

namespace {

template <class Candidates>
void check(Candidates found, int64_t count, int64_t added, uint32_t keys) {
  std::mt19937 rng(static_cast<uint32_t>(count + added));
  std::vector<Candidate<uint32_t>> all;
  for (int64_t place = 0; place < added; ++place) {
    all.push_back({static_cast<uint32_t>(rng()) % keys, place});
    found.add(all.back().key, place);
  }
  std::sort(all.begin(), all.end());
  all.resize(static_cast<size_t>(std::min(count, added)));
  const auto first = found.first();
  ASSERT_EQ(first.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(first[i].key, all[i].key);
    EXPECT_EQ(first[i].place, all[i].place);
  }
}

}  // namespace

TEST(Candidates, AreTheFirstInTheirOrder) {
  for (uint32_t keys : {3U, 1000U})
    for (int64_t added : {0, 1, 7, 8, 9, 500})
      for (int64_t count : {1, 2, 8, 9, 100}) {
        check(FirstCandidates<uint32_t>(count), count, added, keys);
        if (count <= FewCandidates<uint32_t>::kMostFew)
          check(FewCandidates<uint32_t>(count), count, added, keys);
      }
}

TEST(Candidates, FewAreFullAsSoonAsTheyCanBe) {
  FewCandidates<uint32_t> found(2);
  found.add(5, 0);
  EXPECT_FALSE(found.is_full());
  found.add(9, 1);
  ASSERT_TRUE(found.is_full());
  EXPECT_EQ(found.last(), 9U);
  found.add(7, 2);
  EXPECT_EQ(found.last(), 7U);
}

}  // namespace tessera::testing_ops::select_first_test
