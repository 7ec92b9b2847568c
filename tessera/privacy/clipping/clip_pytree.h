// Clips a tree by its global norm, as each example's gradient is clipped.
#pragma once

#include "tessera/base/tree.h"
#include "tessera/privacy/clipping/clip_groups.h"

namespace tessera::privacy {

namespace internal {

// Returns min(1, clip / norm) for norms of any shape; with `rescale` it is divided by clip (1 /
// norm if clip is 0). Returns 0 in place of NaN.
Array clip_scales(const Array& norms, const ClipNorm& clip, bool rescale);
// Returns the clip scales of each group, from its squared norms. All groups' norms have the same
// shape. Under NanSafe::kExample an example's scales are all 0 if one of its norms is not finite.
std::vector<Array> group_scales(const std::vector<ClipGroup>& groups,
                                const std::vector<Array>& squares, bool rescale, NanSafe nan_safe);
// Returns the squared norms of whole examples, from the squared norms of the parts that a device of
// a surrounding shard_map has. They are summed over the axes that they vary over and the loss does
// not, because the loss was reduced over these axes.
Array of_whole_examples(const Array& squares, const Array& loss);
// Returns the norm of all gradients of a loss, summed over devices in the same sense.
Array norm_of_whole_example(const std::vector<Array>& gradients, const Array& loss);
// Returns the dtype in which users get the norm of arrays of this dtype. (Norms and scales are
// computed in float64, in which squares of float32 neither overflow nor vanish.)
DType clip_dtype(DType dtype);
// Returns x in float64 or complex128.
Array exact(const Array& x);
// Returns |x|^2 of each element, in float64.
Array exact_squares(const Array& x);
// Throws UserError unless numbers of this type can be scaled.
void expect_clippable(std::string_view op, const ir::Type& type);
// Adds the term to a sum that may still be undefined.
void add_to(Array& sum, const Array& term);
// Returns x with 0 in place of elements that are NaN or infinite.
Array finite_elements(const Array& x);

struct ClippedLeaves {
  std::vector<Array> leaves;
  Array norm;
};
ClippedLeaves clip_leaves(const std::vector<Array>& leaves, const std::vector<ClipGroup>& groups,
                          bool rescale, NanSafe nan_safe);

}  // namespace internal

// Returns the tree, clipped to a norm of at most `clip_norm` in its own dtypes, and its norm
// before, in float32 or wider. With `rescale_to_unit_norm` the tree is divided by clip_norm, so
// that its norm is at most 1.
//
//   clip_norm   0         infinity     norm 0
//   plain       zeros     unchanged    unchanged
//   rescaled    tree/norm zeros        zeros
//
// Separate norms of parts of the tree are given as in ClipOptions::subtree_norms.
template <class T>
std::pair<T, Array> clip_pytree(const T& tree, const ClipNorm& clip_norm,
                                bool rescale_to_unit_norm = false,
                                NanSafe nan_safe = NanSafe::kExample,
                                const std::vector<SubtreeNorm>& subtree_norms = {}) {
  std::vector<std::string> paths;
  tree::append_leaf_paths(tree::outline(tree), "", paths);
  internal::ClippedLeaves out = internal::clip_leaves(
      tree::leaves(tree), internal::clip_groups("clip_pytree", clip_norm, subtree_norms, paths),
      rescale_to_unit_norm, nan_safe);
  return {tree::unflatten(tree, out.leaves), std::move(out.norm)};
}

}  // namespace tessera::privacy
