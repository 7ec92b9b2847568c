// Clips a tree by its global norm: what each example's gradient is clipped with.
#pragma once

#include "tessera/base/tree.h"
#include "tessera/privacy/clipping/clip_options.h"

namespace tessera::privacy {

namespace internal {

// min(1, clip / norm), divided by clip (1 / norm where that is 0) with `rescale`; 0 where that is no
// number. Of norms of any shape.
Array clip_scales(const Array& norms, const ClipNorm& clip, bool rescale);
// The dtype that norms, scales and sums of arrays of this dtype are kept in.
DType clip_dtype(DType dtype);
// UserError unless numbers of this type can be scaled.
void expect_clippable(std::string_view op, const ir::Type& type);
// x, with 0 for what is NaN or infinite.
Array finite_elements(const Array& x);

struct ClippedLeaves {
  std::vector<Array> leaves;
  Array norm;
};
ClippedLeaves clip_leaves(const std::vector<Array>& leaves, const ClipNorm& clip, bool rescale,
                          NanSafe nan_safe);

}  // namespace internal

// (the tree clipped to a norm of at most `clip_norm`, its norm before), with the tree's dtypes and a
// norm of float32 or wider. With `rescale_to_unit_norm` divided by clip_norm: norm at most 1.
//
//   clip_norm   0         infinity     norm 0
//   plain       zeros     unchanged    unchanged
//   rescaled    tree/norm zeros        zeros
template <class T>
std::pair<T, Array> clip_pytree(const T& tree, const ClipNorm& clip_norm,
                                bool rescale_to_unit_norm = false,
                                NanSafe nan_safe = NanSafe::kElement) {
  internal::ClippedLeaves out =
      internal::clip_leaves(tree::leaves(tree), clip_norm, rescale_to_unit_norm, nan_safe);
  return {tree::unflatten(tree, out.leaves), std::move(out.norm)};
}

}  // namespace tessera::privacy
