// Keys of the random number generator. They are values; there is no global state. A key is used
// once; split() and fold_in() make more keys from it. Streams equal JAX's (threefry2x32,
// partitionable) bit for bit, under every sharding.
//
//   random::Key key = random::key(0);
//   auto [k1, k2] = random::split<2>(key);
//   Array x = random::normal(k1, {3}), y = random::uniform(k2, {3});
#pragma once

#include <array>
#include <concepts>
#include <iosfwd>

#include "tessera/ir/array.h"

namespace tessera::random {

// A key, or an array of keys: a tree whose only leaf is the words. JAX calls it an array of dtype
// key<fry>.
struct Key {
  Array data;  // uint32, of the keys' shape and a last dimension of 2

  Shape shape() const;
  int64_t ndim() const { return data.ndim() - 1; }
  // Returns the i-th key along the first dimension. Throws UserError for a single key or an index
  // outside.
  Key operator[](int64_t i) const;
};
// Prints the key as JAX does: `Array((), dtype=key<fry>) overlaying:` and the words.
std::ostream& operator<<(std::ostream& out, const Key& key);

namespace internal {
Key key_of_words(uint32_t high, uint32_t low);
Key key_of_seed(uint64_t bits, bool beyond_int64);
Key fold_in_word(const Key& key, uint64_t word, bool negative);
}  // namespace internal

// Returns the key of a seed. All 64 bits of the seed count. Its words are JAX's, except without x64
// for seeds outside [-2^31, 2^32): there JAX drops the high word, so that several seeds have one
// key, while here the words are those of JAX with x64. Throws UserError from 2^63 on.
template <std::integral T>
Key key(T seed) {
  return internal::key_of_seed(static_cast<uint64_t>(seed), std::is_unsigned_v<T> &&
                                                                sizeof(T) == 8 &&
                                                                (seed >> (8 * sizeof(T) - 1)) != 0);
}
// Returns the key of a seed that may be traced: an integer scalar.
Key key(const Array& seed);

// Returns `num` new keys, or an array of this shape of them. Throws UserError unless `key` is a
// single one.
Key split(const Key& key, const Shape& shape);
template <std::integral I>
Key split(const Key& key, I num) {
  return split(key, Shape{static_cast<int64_t>(num)});
}
inline Key split(const Key& key) { return split(key, Shape{2}); }
// Returns the new keys as single ones: auto [a, b] = split<2>(key).
template <size_t N>
std::array<Key, N> split(const Key& key) {
  const Key keys = split(key, Shape{static_cast<int64_t>(N)});
  std::array<Key, N> out;
  for (size_t i = 0; i < N; ++i) out[i] = keys[static_cast<int64_t>(i)];
  return out;
}

// Returns a new key from a key and a number in [0, 2^32), such as a step or a device's rank.
Key fold_in(const Key& key, const Array& data);
template <std::integral T>
Key fold_in(const Key& key, T data) {
  return internal::fold_in_word(key, static_cast<uint64_t>(data),
                                std::is_signed_v<T> && data < T{0});
}

inline Array key_data(const Key& key) { return key.data; }
// Returns the keys with these words. Throws UserError unless they are uint32 with a last dimension
// of 2.
Key wrap_key_data(const Array& data);

}  // namespace tessera::random
