#include "tessera/privacy/neighboring_relation.h"

namespace tessera::privacy {

const char* name(NeighboringRelation relation) {
  switch (relation) {
    case NeighboringRelation::kAddOrRemoveOne:
      return "add_or_remove_one";
    case NeighboringRelation::kReplaceOne:
      return "replace_one";
    case NeighboringRelation::kReplaceSpecial:
      return "replace_special";
  }
  return "?";
}

}  // namespace tessera::privacy
