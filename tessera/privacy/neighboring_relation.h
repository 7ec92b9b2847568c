// Neighbouring relations: which two datasets differential privacy compares. The unit of privacy is
// one example, or one user if examples are grouped by users. The names are dp-accounting's.
#pragma once

#include <cstdint>

namespace tessera::privacy {

enum class NeighboringRelation : uint8_t {
  kAddOrRemoveOne,  // one has an additional example
  kReplaceOne,      // one example is replaced by another one
  kReplaceSpecial,  // one example is replaced by one that contributes nothing (zero-out)
};

// Returns "add_or_remove_one", ...
const char* name(NeighboringRelation relation);

}  // namespace tessera::privacy
