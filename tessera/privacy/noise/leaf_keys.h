// Functions of all privatizers: they make keys for the leaves of a tree, different for every step,
// leaf and shard, and check options. Only source files include this header.
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
// axes if the leaf varies over them. Throws UserError kTrace naming `op` if types do not have the
// axes over which values vary.
std::vector<random::Key> leaf_keys(std::string_view op, const random::Key& key,
                                   const std::vector<Array>& leaves);
// Splits the key in two. Returns the key of the next step, and this step's leaf keys, made by
// leaf_keys() from the second key.
StepKeys step_keys(std::string_view op, const random::Key& key, const std::vector<Array>& leaves);

// Throws UserError naming `op` if a leaf is not of a real floating-point dtype.
void expect_real(std::string_view op, const std::vector<Array>& leaves);

// Returns a key from the operating system's entropy, for a privatizer that is given none. Throws
// UserError kTrace naming `op` inside a trace.
random::Key key_of_entropy(std::string_view op);
// Returns the key, or one from entropy if it is absent. For kSystem returns a key of zeros, which
// nothing reads. Throws UserError naming `op` if the key is an array of keys, and if a key is given
// together with kSystem.
random::Key checked_key(std::string_view op, const std::optional<random::Key>& key,
                        RandomSource source = RandomSource::kKey);

// Returns the dtype that arrays have for it (32 bits if x64 is off). Throws UserError naming `op`
// unless it is real floating-point.
OptionalDType checked_dtype(std::string_view op, OptionalDType dtype);

}  // namespace tessera::privacy::internal
