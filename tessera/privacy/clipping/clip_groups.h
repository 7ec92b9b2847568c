// Groups of leaves that are clipped together: one for each path of ClipOptions::subtree_norms, with
// the leaves below it, and one of all other leaves.
#pragma once

#include <string>
#include <vector>

#include "tessera/privacy/clipping/clip_options.h"

namespace tessera::privacy::internal {

struct ClipGroup {
  ClipNorm norm;
  std::vector<size_t> leaves;  // ascending; only the group of other leaves may be empty
};

// Returns the groups. `paths` are those of all leaves: of a tree (".encoder.w"), or of arguments
// ("argument 1.encoder.w"). Throws the UserErrors of ClipOptions::subtree_norms.
std::vector<ClipGroup> clip_groups(std::string_view op, const ClipNorm& rest,
                                   const std::vector<SubtreeNorm>& subtrees,
                                   const std::vector<std::string>& paths);

}  // namespace tessera::privacy::internal
