// Which leaves are clipped together: those below each path of ClipOptions::subtree_norms, and all
// others.
#pragma once

#include <string>
#include <vector>

#include "tessera/privacy/clipping/clip_options.h"

namespace tessera::privacy::internal {

struct ClipGroup {
  ClipNorm norm;
  std::vector<size_t> leaves;  // ascending; not empty, but of the only group
};

// `paths` of all leaves: of a tree (".encoder.w"), or of arguments ("argument 1.encoder.w").
// UserErrors as of ClipOptions::subtree_norms.
std::vector<ClipGroup> clip_groups(std::string_view op, const ClipNorm& rest,
                                   const std::vector<SubtreeNorm>& subtrees,
                                   const std::vector<std::string>& paths);

}  // namespace tessera::privacy::internal
