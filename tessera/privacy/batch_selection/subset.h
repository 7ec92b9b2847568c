// Random subsets and permutations, each of which is exactly equally likely. Internal to privacy/.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/privacy/batch_selection/counter_stream.h"

namespace tessera::privacy::batch_selection::internal {

// Returns k different numbers of 0, ..., n - 1, in increasing order; 0 <= k <= n. It is Floyd's
// algorithm (Bentley and Floyd, "A sample of brilliance", CACM 1987).
std::vector<int64_t> uniform_subset(int64_t n, int64_t k, const CounterStream& stream);

// Returns k numbers of 0, ..., n - 1, drawn with replacement, in increasing order.
std::vector<int64_t> uniform_draws(int64_t n, int64_t k, const CounterStream& stream);

// Returns 0, ..., n - 1 in a random order (Fisher and Yates).
std::vector<int64_t> permutation(int64_t n, const CounterStream& stream);

}  // namespace tessera::privacy::batch_selection::internal
