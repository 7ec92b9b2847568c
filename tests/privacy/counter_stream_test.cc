#include "tessera/privacy/batch_selection/counter_stream.h"

namespace tessera::privacy::batch_selection::internal::counter_stream_test {
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

// Word i is bytes 8 i, ..., 8 i + 7 of ChaCha20's stream, wherever words start and however many are
// asked for.
TEST(CounterStream, OfASecretKeyGivesTheWordsOfItsStream) {
  const auto key = privacy::internal::SecretKey::of_system();
  const CounterStream stream(key);
  std::vector<uint64_t> expected(200);
  key.fill(0, 0, std::as_writable_bytes(std::span(expected)));
  for (uint64_t i = 0; i < expected.size(); ++i) EXPECT_EQ(stream.word(i), expected[i]) << i;
  for (const uint64_t first : {0, 1, 7, 8, 9, 63, 64, 100}) {
    for (const size_t count : {0, 1, 3, 7, 8, 9, 64, 100}) {
      std::vector<uint64_t> out(count);
      stream.words(first, out);
      EXPECT_TRUE(
          std::equal(out.begin(), out.end(), expected.begin() + static_cast<int64_t>(first)))
          << first << " " << count;
    }
  }
  const uint64_t far = (uint64_t{1} << 63) - 3;
  std::vector<uint64_t> last(3);
  stream.words(far, last);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(stream.word(far + i), last[i]);
}

TEST(CounterStream, OfASecretKeyHasChildren) {
  const CounterStream stream(privacy::internal::SecretKey::of_system());
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 100; ++i) {
    for (const uint64_t at : {i, i << 40}) {
      seen.insert(stream.word(at));
      seen.insert(stream.child(at).word(0));
      seen.insert(stream.child(at).child(0).word(0));
      EXPECT_EQ(stream.child(at).word(5), stream.child(at).word(5));
    }
  }
  EXPECT_EQ(seen.size(), 597u);  // i = 0 twice
}

// Counts the ones at each position, in words and in the first words of children.
TEST(CounterStream, OfASecretKeyIsUniform) {
  const CounterStream stream(privacy::internal::SecretKey::of_system());
  constexpr uint64_t kDraws = 20000;
  std::array<std::array<int, 64>, 2> ones{};
  for (uint64_t i = 0; i < kDraws; ++i) {
    const uint64_t words[] = {stream.word(i), stream.child(i).word(0)};
    for (size_t k = 0; k < 2; ++k)
      for (size_t bit = 0; bit < 64; ++bit) ones[k][bit] += static_cast<int>(words[k] >> bit & 1);
  }
  for (const auto& of_stream : ones)
    for (const int count : of_stream) EXPECT_NEAR(count, kDraws / 2, 6 * std::sqrt(kDraws / 4.0));
}

TEST(BufferedWords, OfASecretKeyHaveNoBias) {
  const uint64_t n = uint64_t{3} << 62;
  BufferedWords words{CounterStream(privacy::internal::SecretKey::of_system())};
  std::array<int, 3> thirds{};
  constexpr int kDraws = 30000;
  for (uint64_t i = 0; i < kDraws; ++i) ++thirds[words.below(n, i) >> 62];
  for (const int count : thirds) EXPECT_NEAR(count, kDraws / 3, 5 * std::sqrt(kDraws * 2 / 9.0));
}

TEST(CounterStream, KeysThatAreNoSingleKeyAreErrors) {
  EXPECT_THAT([] { stream_of("op", random::split(random::key(0), 2)); },
              testing::ThrowsMessage<UserError>(testing::HasSubstr(
                  "[op] expected a single key, got an array of keys of shape (2,)")));
}

TEST(BufferedWords, BelowHasNoBias) {
  // 3 * 2^62: a quarter of all words is drawn again. The plain product would give every third
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
}  // namespace tessera::privacy::batch_selection::internal::counter_stream_test
