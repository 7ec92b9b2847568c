#include "tessera/privacy/batch_selection/counter_stream.h"

namespace tessera::privacy::batch_selection::internal {
namespace {

// Random123's known answers (threefry2x32, 20 rounds).
TEST(CounterStream, GivesTheWordsOfThreefry) {
  EXPECT_EQ(CounterStream(0, 0).word(0), 0x6b20015999ba4efe);
  EXPECT_EQ(CounterStream(0x13198a2e, 0x03707344).word(0x243f6a8885a308d3), 0xc4923a9c483df7a0);
}

TEST(CounterStream, EqualsTheBitsOfAnArray) {
  const random::Key key = random::key(7);
  const Literal words = key.data.to_host();
  const CounterStream stream(words.data<uint32_t>()[0], words.data<uint32_t>()[1]);
  enable_x64(true);
  const Literal bits = random::bits(key, {100}, uint64).to_host();
  enable_x64(false);
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(stream.word(i), bits.data<uint64_t>()[i]);
}

TEST(CounterStream, ManyWordsAreThoseOneByOne) {
  const CounterStream stream(1, 2);
  std::vector<uint64_t> out(45);
  stream.words((uint64_t{1} << 32) - 20, out);
  for (size_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(out[i], stream.word((uint64_t{1} << 32) - 20 + i)) << i;
}

TEST(CounterStream, ChildrenDifferFromEachOtherAndFromTheirParent) {
  const CounterStream stream(1, 2);
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 100; ++i) {
    seen.insert(stream.word(i));
    seen.insert(stream.child(i).word(0));
    seen.insert(stream.child(i).child(0).word(0));
  }
  EXPECT_EQ(seen.size(), 300u);
}

TEST(CounterStream, KeysThatAreNoSingleKeyAreErrors) {
  EXPECT_THAT([] { stream_of("op", random::split(random::key(0), 2)); },
              testing::ThrowsMessage<UserError>(testing::HasSubstr(
                  "[op] expected a single key, got an array of keys of shape (2,)")));
}

TEST(BufferedWords, BelowHasNoBias) {
  // 3 * 2^62: a quarter of all words is drawn again, where the plain product would give every third
  // number twice as often.
  const uint64_t n = uint64_t{3} << 62;
  BufferedWords words(CounterStream(3, 4));
  std::array<int, 3> thirds{};
  constexpr int kDraws = 30000;
  for (uint64_t i = 0; i < kDraws; ++i) {
    const uint64_t x = words.below(n, i);
    ASSERT_LT(x, n);
    ++thirds[x >> 62];
    EXPECT_EQ(words.below(1, i), 0u);
  }
  for (const int count : thirds) EXPECT_NEAR(count, kDraws / 3, 5 * std::sqrt(kDraws * 2 / 9.0));
}

TEST(BufferedWords, AnOrderOfCountersChangesNothing) {
  BufferedWords up(CounterStream(3, 4)), down(CounterStream(3, 4));
  std::vector<uint64_t> a, b;
  for (uint64_t i = 0; i < 200; ++i) a.push_back(up.below(1000, i));
  for (uint64_t i = 200; i-- > 0;) b.push_back(down.below(1000, i));
  std::reverse(b.begin(), b.end());
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace tessera::privacy::batch_selection::internal
