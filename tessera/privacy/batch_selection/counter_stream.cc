#include "tessera/privacy/batch_selection/counter_stream.h"

#include <algorithm>

#include "tessera/base/overloaded.h"
#include "tessera/ir/format.h"

namespace tessera::privacy::batch_selection::internal {
namespace {

__extension__ typedef unsigned __int128 Wide;

constexpr uint64_t kChild = uint64_t{1} << 63;
// The bytes of the text "batches" and a zero.
constexpr uint64_t kDomain = 0x6261746368657300;

// Four vectors of four words at a time hide each other's latency.
constexpr size_t kLanes = 4, kVectors = 4, kBlock = kLanes * kVectors;
typedef uint32_t Vector __attribute__((vector_size(4 * kLanes)));

// Replaces the counters (a, b) by their hashes. T is a word, or a vector of them.
template <class T, size_t kCount>
void threefry(const std::array<uint32_t, 2>& key, T (&a)[kCount], T (&b)[kCount]) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t schedule[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA};
  const auto inject = [&](uint32_t group) {
    for (size_t i = 0; i < kCount; ++i) {
      a[i] += schedule[group % 3];
      b[i] += schedule[(group + 1) % 3] + group;
    }
  };
  inject(0);
#pragma GCC unroll 5
  for (uint32_t group = 1; group <= 5; ++group) {
#pragma GCC unroll 4
    for (size_t round = 0; round < 4; ++round) {
      const int bits = kRotations[(group - 1) % 2][round];
#pragma GCC unroll 4
      for (size_t i = 0; i < kCount; ++i) {
        a[i] += b[i];
        b[i] = ((b[i] << bits) | (b[i] >> (32 - bits))) ^ a[i];
      }
    }
    inject(group);
  }
}

uint64_t join_words(uint32_t high, uint32_t low) { return uint64_t{high} << 32 | low; }

void block_of_words(const std::array<uint32_t, 2>& key, uint64_t first, uint64_t* out) {
  Vector high[kVectors], low[kVectors];
  for (size_t i = 0; i < kBlock; ++i) {
    high[i / kLanes][i % kLanes] = static_cast<uint32_t>((first + i) >> 32);
    low[i / kLanes][i % kLanes] = static_cast<uint32_t>(first + i);
  }
  threefry(key, high, low);
  for (size_t i = 0; i < kBlock; ++i)
    out[i] = join_words(high[i / kLanes][i % kLanes], low[i / kLanes][i % kLanes]);
}

uint64_t one_word(const std::array<uint32_t, 2>& key, uint64_t counter) {
  uint32_t high[] = {static_cast<uint32_t>(counter >> 32)};
  uint32_t low[] = {static_cast<uint32_t>(counter)};
  threefry(key, high, low);
  return join_words(high[0], low[0]);
}

void fill_words(const std::array<uint32_t, 2>& key, uint64_t first, std::span<uint64_t> out) {
  size_t done = 0;
  for (; done + kBlock <= out.size(); done += kBlock)
    block_of_words(key, first + done, out.data() + done);
  for (; done < out.size(); ++done) out[done] = one_word(key, first + done);
}

using privacy::internal::SecretKey;

enum Nonce : uint64_t { kWordsNonce, kChildrenNonce };
constexpr size_t kCipherWords = SecretKey::kBlock / sizeof(uint64_t);  // in a block of ChaCha20

void fill_words(const SecretKey& key, uint64_t first, std::span<uint64_t> out) {
  const size_t skipped = first % kCipherWords;
  if (skipped > 0) {
    std::array<uint64_t, kCipherWords> block;
    key.fill(kWordsNonce, first / kCipherWords, std::as_writable_bytes(std::span(block)));
    const size_t count = std::min(block.size() - skipped, out.size());
    std::copy_n(block.begin() + skipped, count, out.begin());
    out = out.subspan(count);
    first += count;
  }
  key.fill(kWordsNonce, first / kCipherWords, std::as_writable_bytes(out));
}

CounterStream child_of(const SecretKey& key, uint64_t index) {
  std::array<std::byte, SecretKey::kBytes> bytes;
  key.fill(kChildrenNonce, index, bytes);
  const CounterStream out{SecretKey(bytes)};
  privacy::internal::wipe(bytes);
  return out;
}

}  // namespace

uint64_t CounterStream::word(uint64_t counter) const {
  if (const auto* key = std::get_if<Threefry>(&key_)) return one_word(*key, counter);
  uint64_t out;
  words(counter, {&out, 1});
  return out;
}

void CounterStream::words(uint64_t first, std::span<uint64_t> out) const {
  std::visit([&](const auto& key) { fill_words(key, first, out); }, key_);
}

CounterStream CounterStream::child(uint64_t index) const {
  return std::visit(Overloaded{[&](const Threefry& key) {
                                 const uint64_t words = one_word(key, index | kChild);
                                 return CounterStream(static_cast<uint32_t>(words >> 32),
                                                      static_cast<uint32_t>(words));
                               },
                               [&](const Secret& key) { return child_of(key, index); }},
                    key_);
}

CounterStream stream_of(std::string_view op, const SamplingKey& key) {
  if (const SecretKey* secret = key.secret())
    return CounterStream(*secret).child(kDomain & ~kChild);
  const random::Key& own = *key.key();
  if (own.ndim() != 0)
    shape_error(op, "expected a single key, got an array of keys of shape {}; index it",
                own.shape());
  const Literal words = own.data.to_host();
  const uint32_t* w = words.data<uint32_t>();
  return CounterStream(w[0], w[1]).child(kDomain & ~kChild);
}

uint64_t BufferedWords::word(uint64_t counter) {
  const uint64_t block = counter / kWords;
  if (block != block_) {
    stream_.words(block * kWords, buffer_);
    block_ = block;
  }
  return buffer_[counter % kWords];
}

uint64_t BufferedWords::below(uint64_t n, uint64_t counter) {
  Wide product = Wide{word(counter)} * n;
  if (static_cast<uint64_t>(product) < n) {
    const uint64_t excess = -n % n;  // 2^64 mod n
    for (uint64_t retry = 0; static_cast<uint64_t>(product) < excess; ++retry)
      product = Wide{stream_.child(counter).word(retry)} * n;
  }
  return static_cast<uint64_t>(product >> 64);
}

}  // namespace tessera::privacy::batch_selection::internal
