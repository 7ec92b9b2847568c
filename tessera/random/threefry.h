// Threefry2x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), 20 rounds,
// written in ordinary elementwise ops. A stream is a function of the key and of each element's
// index alone, so it fuses with its uses and is sharded like any op. Only source files of random/
// include this header.
#pragma once

#include <utility>

#include "tessera/random/key.h"

namespace tessera::random::internal {

struct Words {
  Array high, low;
};
// Returns the two words of a single key as scalars. Throws UserError naming `op` for an array of
// keys.
Words key_words(std::string_view op, const Key& key);

// Returns the hash of (x.high, x.low) under the key. Scalars broadcast to the other word's shape.
Words threefry2x32(const Words& key, const Words& x);
// Returns the hash of 0, 1, 2, ... as 64-bit counters, in row-major order over `shape`.
Words hash_of_index(const Words& key, const Shape& shape);
// Returns bits of a uint8, uint16, uint32 or uint64 dtype.
Array random_bits(const Words& key, const Shape& shape, DType dtype);
// Returns the keys of split(key, num), in order.
std::vector<Words> split_words(const Words& key, int64_t num);

}  // namespace tessera::random::internal
