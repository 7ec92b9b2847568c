// Combines the hashes of several values with Boost's functions, for hash tables.
#pragma once

#include <boost/container_hash/hash.hpp>
#include <cstddef>

namespace tessera {

inline size_t hash_combine(size_t seed, size_t value) {
  boost::hash_combine(seed, value);
  return seed;
}

}  // namespace tessera
