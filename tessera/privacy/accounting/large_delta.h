// A warning about deltas that promise little. Code that makes plans calls it.
#pragma once

#include <cstdint>

namespace tessera::privacy::accounting {

// Warns (base/warning.h) if delta is at least 1 / num_examples: a mechanism that publishes an
// example chosen at random has this delta. `op` names the caller.
void warn_of_large_delta(const char* op, double delta, int64_t num_examples);

}  // namespace tessera::privacy::accounting
