// A delta that promises little, for whoever makes a plan.
#pragma once

#include <cstdint>

namespace tessera::privacy::accounting {

// Warns (base/warning.h) if delta is at least 1 / num_examples: a mechanism that publishes an
// example chosen at random has this delta. `op` names who asks.
void warn_of_large_delta(const char* op, double delta, int64_t num_examples);

}  // namespace tessera::privacy::accounting
