// Threefry2x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), 20 rounds,
// written in ordinary elementwise ops: a stream is a function of the key and of each element's
// index alone, so it fuses with its uses and shards like any op. For source files of random/.
#pragma once

#include <utility>

#include "tessera/random/key.h"

namespace tessera::random::internal {

struct Words {
  Array high, low;
};
// The two words of a single key, scalars. UserError naming `op` for an array of keys.
Words key_words(std::string_view op, const Key& key);

// The hash of (x.high, x.low) under the key; scalars broadcast to the other word's shape.
Words threefry2x32(const Words& key, const Words& x);
// The hash of 0, 1, 2, ... as 64-bit counters, row-major over `shape`.
Words hash_of_index(const Words& key, const Shape& shape);
// Bits of a uint8, 16, 32 or 64 dtype.
Array random_bits(const Words& key, const Shape& shape, DType dtype);
// The i-th of the keys that split(key, num) makes, for all i < num.
std::vector<Words> split_words(const Words& key, int64_t num);

}  // namespace tessera::random::internal
