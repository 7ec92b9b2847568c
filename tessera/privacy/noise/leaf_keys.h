// What privatizers share: keys for the leaves of a tree, which no two steps, leaves or shards
// share, and the checks of their options. For source files.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tessera/numpy/creation.h"
#include "tessera/privacy/noise/random_source.h"
#include "tessera/random/key.h"

namespace tessera::privacy::internal {

struct StepKeys {
  random::Key next;                 // the key of the next step
  std::vector<random::Key> leaves;  // the keys of this step
};

// Returns a key for each leaf: split(key, the number of leaves), folded with the index along manual
// axes for a leaf that varies over them. Throws UserError kTrace naming `op` where the types do not
// say what varies.
std::vector<random::Key> leaf_keys(std::string_view op, const random::Key& key,
                                   const std::vector<Array>& leaves);
// Returns split(key): the next step's key, and the one from which leaf_keys makes this step's.
StepKeys step_keys(std::string_view op, const random::Key& key, const std::vector<Array>& leaves);

// Throws UserError naming `op` for leaves that are not real floating-point numbers.
void expect_real(std::string_view op, const std::vector<Array>& leaves);

// Returns a key from the operating system's entropy, for a privatizer that is given none. Throws
// UserError kTrace naming `op` inside a trace.
random::Key key_of_entropy(std::string_view op);
// Returns the key, or one from entropy if it is absent; for kSystem it is a key of zeros, which
// nothing reads. Throws UserError naming `op` for an array of keys, and for a key together with
// kSystem.
random::Key checked_key(std::string_view op, const std::optional<random::Key>& key,
                        RandomSource source = RandomSource::kKey);

// Returns the dtype as arrays have it (without x64: 32 bits). Throws UserError naming `op` unless
// it is real floating-point.
OptionalDType checked_dtype(std::string_view op, OptionalDType dtype);

}  // namespace tessera::privacy::internal
