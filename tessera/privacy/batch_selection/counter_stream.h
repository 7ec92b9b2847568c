// Random words that are a function of a key and a counter, on the host. Internal to privacy/.
//
// For a key of 64 bits they are those of threefry2x32 with 20 rounds (Salmon et al., "Parallel
// random numbers: as easy as 1, 2, 3", SC 2011): word i of a key's stream is element i of
// random::bits(key, {n}, uint64). This is integer arithmetic only, the same on every machine. For a
// secret key of 256 bits (secret_key.h) they are ChaCha20's: word i is bytes 8 i, ..., 8 i + 7 of
// the stream of nonce 0.
//
// A stream's children have keys of their own, so that the word of (key, purpose, step, example) can
// be computed without those before it. The keys of Threefry's children are made from counters that
// no word has (those with the highest bit). Those of a secret key come from the stream of nonce 1:
// the key of child i is the first half of block i.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "tessera/privacy/batch_selection/sampling_key.h"
#include "tessera/privacy/secret_key.h"

namespace tessera::privacy::batch_selection::internal {

class CounterStream {
 public:
  CounterStream(uint32_t high, uint32_t low) : key_(Threefry{high, low}) {}
  explicit CounterStream(const privacy::internal::SecretKey& key) : key_(key) {}

  uint64_t word(uint64_t counter) const;  // counter < 2^63
  // Fills `out` with the words first, first + 1, ... It is several times as fast as word().
  void words(uint64_t first, std::span<uint64_t> out) const;
  CounterStream child(uint64_t index) const;  // index < 2^63

 private:
  using Threefry = std::array<uint32_t, 2>;
  using Secret = privacy::internal::SecretKey;
  std::variant<Threefry, Secret> key_;
};

// Returns the stream from which batches are drawn with a user's key. It is separate from every
// other use of that key: the draws of Arrays and split() count from 0. Throws UserError naming `op`
// for an array of keys or a traced one.
CounterStream stream_of(std::string_view op, const SamplingKey& key);

// Words of one stream whose counters mostly increase; many are made at a time.
class BufferedWords {
 public:
  explicit BufferedWords(const CounterStream& stream) : stream_(stream) {}

  // Returns a uniform number in [0, n), n > 0, without bias: a product in 128 bits, drawn again in
  // the few cases that would bias it (Lemire, "Fast random integer generation in an interval",
  // 2019).
  uint64_t below(uint64_t n, uint64_t counter);

 private:
  static constexpr uint64_t kWords = 64;
  uint64_t word(uint64_t counter);

  CounterStream stream_;
  uint64_t block_ = ~uint64_t{0};
  std::array<uint64_t, kWords> buffer_;
};

}  // namespace tessera::privacy::batch_selection::internal
