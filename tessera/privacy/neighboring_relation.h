// Which two datasets differential privacy compares: the unit of privacy is one example, or one user
// where examples are grouped by users. dp-accounting's names.
#pragma once

#include <cstdint>

namespace tessera::privacy {

enum class NeighboringRelation : uint8_t {
  kAddOrRemoveOne,  // one has an example more
  kReplaceOne,      // one example is another one
  kReplaceSpecial,  // one example is one that contributes nothing (zero-out)
};

// "add_or_remove_one", ...
const char* name(NeighboringRelation relation);

}  // namespace tessera::privacy
