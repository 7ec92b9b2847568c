// Groups of leaves that are clipped together. Each path of ClipOptions::subtree_norms has a group
// with the leaves below it, and all other leaves are one group.
#pragma once

#include <string>
#include <vector>

#include "tessera/privacy/clipping/clip_options.h"

namespace tessera::privacy::internal {

struct ClipGroup {
  ClipNorm norm;
  std::vector<size_t> leaves;  // ascending; only the group of all other leaves may be empty
};

// Returns the groups, the one of all other leaves included. `paths` are the paths of all leaves, in
// a tree (".encoder.w") or in arguments ("argument 1.encoder.w"). Throws the UserErrors of
// ClipOptions::subtree_norms.
std::vector<ClipGroup> clip_groups(std::string_view op, const ClipNorm& rest,
                                   const std::vector<SubtreeNorm>& subtrees,
                                   const std::vector<std::string>& paths);

}  // namespace tessera::privacy::internal
