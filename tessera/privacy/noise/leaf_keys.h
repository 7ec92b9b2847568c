// What privatizers share: keys of the leaves of a tree, which no two steps, leaves or shards share,
// and the checks of what they are given. For source files.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tessera/numpy/creation.h"
#include "tessera/privacy/noise/random_source.h"
#include "tessera/random/key.h"

namespace tessera::privacy::internal {

struct StepKeys {
  random::Key next;                 // of the next step
  std::vector<random::Key> leaves;  // of this one
};

// A key for each leaf: split(key, the number of leaves), and for a leaf that varies over manual axes
// folded with the index along them. UserError kTrace naming `op` where it is not typed what varies.
std::vector<random::Key> leaf_keys(std::string_view op, const random::Key& key,
                                   const std::vector<Array>& leaves);
// split(key): the next step's, and the one that leaf_keys are of.
StepKeys step_keys(std::string_view op, const random::Key& key, const std::vector<Array>& leaves);

// UserError naming `op` for leaves that are not real floating-point numbers.
void expect_real(std::string_view op, const std::vector<Array>& leaves);

// Of the operating system's entropy, for a privatizer that is given none. UserError kTrace naming
// `op` inside a trace.
random::Key key_of_entropy(std::string_view op);
// The key, or that of entropy; for kSystem one of zeros, which nothing reads. UserError naming `op` for
// an array of keys, and for a key together with kSystem.
random::Key checked_key(std::string_view op, const std::optional<random::Key>& key,
                        RandomSource source = RandomSource::kKey);

// The dtype as arrays have it (without x64: 32 bits). UserError naming `op` unless it is real
// floating-point.
OptionalDType checked_dtype(std::string_view op, OptionalDType dtype);

}  // namespace tessera::privacy::internal
