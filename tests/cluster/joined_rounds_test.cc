#include "tessera/cluster/joined_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>

namespace tessera::cluster::joined_rounds_test {
namespace {

using Bytes = std::vector<std::byte>;

// The bytes that one process sends, and those that it receives from the other one.
struct Side {
  Bytes mine, theirs;
};
Rounds rounds_of(Side& side, int other, int count) {
  return [&side, other, count]() mutable -> std::optional<Round> {
    if (count-- == 0) return std::nullopt;
    const auto bytes = static_cast<int64_t>(side.mine.size());
    return Round{.out = {{other, side.mine.data(), bytes}},
                 .in = {{other, side.theirs.data(), bytes}}};
  };
}

// Delivers the messages of both sides of a round, and returns the number of messages of one side.
int deliver(const Round& a, const Round& b) {
  EXPECT_EQ(a.out.size(), b.in.size());
  EXPECT_EQ(b.out.size(), a.in.size());
  for (const auto& [from, to] : {std::pair(&a, &b), std::pair(&b, &a)})
    for (size_t m = 0; m < from->out.size(); ++m) {
      EXPECT_EQ(from->out[m].bytes, to->in[m].bytes);
      std::memcpy(to->in[m].data, from->out[m].data, static_cast<size_t>(from->out[m].bytes));
    }
  return static_cast<int>(a.out.size());
}

TEST(JoinedRounds, SmallOnesAreOneMessageARound) {
  const std::vector<size_t> sizes{4, 1000, 0, 64};
  const std::vector<int> counts{1, 2, 1, 3};
  std::deque<Side> sides[2];
  Rounds joined[2];
  for (int p = 0; p < 2; ++p) {
    std::vector<Rounds> members;
    for (size_t k = 0; k < sizes.size(); ++k) {
      sides[p].push_back({Bytes(sizes[k], static_cast<std::byte>(10 * p + static_cast<int>(k) + 1)),
                          Bytes(sizes[k])});
      members.push_back(rounds_of(sides[p].back(), 1 - p, counts[k]));
    }
    joined[p] = joined_rounds(std::move(members));
  }
  std::vector<int64_t> bytes;
  while (true) {
    const std::optional<Round> a = joined[0](), b = joined[1]();
    ASSERT_EQ(a.has_value(), b.has_value());
    if (!a) break;
    EXPECT_EQ(deliver(*a, *b), 1);
    bytes.push_back(a->out[0].bytes);
  }
  EXPECT_THAT(bytes, testing::ElementsAre(1068, 1064, 64));
  for (int p = 0; p < 2; ++p)
    for (size_t k = 0; k < sizes.size(); ++k)
      EXPECT_EQ(sides[p][k].theirs, sides[1 - p][k].mine) << "member " << k;
}

TEST(JoinedRounds, LargeOnesGoFromWhereTheyLie) {
  std::deque<Side> sides[2];
  Rounds joined[2];
  for (int p = 0; p < 2; ++p) {
    std::vector<Rounds> members;
    for (const size_t size : {size_t{8}, size_t{1} << 20, size_t{8}}) {
      sides[p].push_back({Bytes(size, static_cast<std::byte>(p + 1)), Bytes(size)});
      members.push_back(rounds_of(sides[p].back(), 1 - p, 1));
    }
    joined[p] = joined_rounds(std::move(members));
  }
  const std::optional<Round> a = joined[0](), b = joined[1]();
  ASSERT_TRUE(a && b);
  EXPECT_EQ(deliver(*a, *b), 2);
  EXPECT_EQ(a->out[1].data, sides[0][1].mine.data());
  EXPECT_FALSE(joined[0]() || joined[1]());
  for (int p = 0; p < 2; ++p)
    for (size_t k = 0; k < 3; ++k) EXPECT_EQ(sides[p][k].theirs, sides[1 - p][k].mine);
}

TEST(JoinedRounds, WhoHasNothingToSayGetsNoMessage) {
  Side side{Bytes(4), Bytes(4)};
  Rounds joined = joined_rounds({rounds_of(side, 2, 1), [n = 1]() mutable {
                                   return n-- > 0 ? std::optional(Round{}) : std::nullopt;
                                 }});
  const std::optional<Round> round = joined();
  ASSERT_TRUE(round);
  ASSERT_EQ(round->out.size(), 1U);
  EXPECT_EQ(round->out[0].to, 2);
  EXPECT_FALSE(joined());
}

}  // namespace
}  // namespace tessera::cluster::joined_rounds_test
