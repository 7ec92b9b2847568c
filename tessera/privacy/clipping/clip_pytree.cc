#include "tessera/privacy/clipping/clip_pytree.h"

#include "tessera/base/format.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/elementwise.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/control/region_transforms.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"

namespace tessera::privacy::internal {

using ops::traced_type;

DType clip_dtype(DType dtype) {
  return real_dtype(is_half(dtype) ? accumulation_dtype(dtype) : dtype);
}

Array exact(const Array& x) { return astype(x, is_complex(x.dtype()) ? complex128 : float64); }

Array exact_squares(const Array& x) {
  const auto squared = [](const Array& part) { return square(astype(part, float64)); };
  return is_complex(x.dtype()) ? squared(real(x)) + squared(imag(x)) : squared(x);
}

Array clip_scales(const Array& norms, const ClipNorm& clip, bool rescale) {
  const Array c = clip.array() ? maximum(astype(*clip.array(), norms.dtype()), Array(0.0f))
                               : full({}, clip.number(), norms.dtype());
  const Array one = full({}, 1.0, norms.dtype());
  Array scales = minimum(one, c / norms);
  if (rescale) scales = where(c > Array(0.0f), scales / c, one / norms);
  return where(isfinite(scales), scales, zeros_like(scales));
}

std::vector<Array> group_scales(const std::vector<ClipGroup>& groups,
                                const std::vector<Array>& squares, bool rescale, NanSafe nan_safe) {
  std::vector<Array> out;
  Array finite;
  for (size_t g = 0; g < groups.size(); ++g) {
    const Array norms = sqrt(squares[g]);
    out.push_back(clip_scales(norms, groups[g].norm, rescale));
    finite = finite.defined() ? logical_and(finite, isfinite(norms)) : isfinite(norms);
  }
  if (nan_safe == NanSafe::kExample && groups.size() > 1)
    for (Array& scales : out) scales = where(finite, scales, zeros_like(scales));
  return out;
}

Array of_whole_examples(const Array& squares, const Array& loss) {
  const ir::AxisNames axes =
      ir::axis_difference(traced_type(squares).varying, traced_type(loss).varying);
  return axes.empty() ? squares : lax::psum(squares, axes);
}

Array norm_of_whole_example(const std::vector<Array>& gradients, const Array& loss) {
  Array out;
  DType dtype = float32;
  for (const Array& g : gradients) {
    if (!is_inexact(g.dtype())) continue;
    if (clip_dtype(g.dtype()) == float64) dtype = float64;
    add_to(out, of_whole_examples(sum(exact_squares(g)), loss));
  }
  return out.defined() ? astype(sqrt(out), dtype) : Array(0.0f);
}

void expect_clippable(std::string_view op, const ir::Type& type) {
  if (!is_inexact(type.dtype))
    type_error(op, "expected floating-point or complex numbers to clip, got {}; use astype",
               describe(type));
}

void add_to(Array& sum, const Array& term) { sum = sum.defined() ? sum + term : term; }

Array finite_elements(const Array& x) { return where(isfinite(x), x, zeros_like(x)); }

ClippedLeaves clip_leaves(const std::vector<Array>& leaves, const std::vector<ClipGroup>& groups,
                          bool rescale, NanSafe nan_safe) {
  ClippedLeaves out{std::vector<Array>(leaves.size()), Array()};
  std::vector<Array> wide(leaves.size()), squares;
  DType dtype = float32;  // of the norm
  for (const ClipGroup& group : groups) {
    Array& squares_of_group = squares.emplace_back();
    for (size_t i : group.leaves) {
      expect_clippable("clip_pytree", leaves[i].type());
      wide[i] = astype(leaves[i], is_half(leaves[i].dtype()) ? float32 : leaves[i].dtype());
      if (nan_safe == NanSafe::kElement) wide[i] = finite_elements(wide[i]);
      add_to(squares_of_group, sum(exact_squares(wide[i])));
      if (clip_dtype(leaves[i].dtype()) == float64) dtype = float64;
    }
    if (!squares_of_group.defined()) squares_of_group = full({}, 0.0, float64);
    add_to(out.norm, squares_of_group);
  }
  out.norm = astype(sqrt(out.norm), dtype);
  const std::vector<Array> scales = group_scales(groups, squares, rescale, nan_safe);
  for (size_t g = 0; g < groups.size(); ++g)
    for (size_t i : groups[g].leaves) {
      Array clipped = wide[i] * astype(scales[g], wide[i].dtype());
      if (nan_safe == NanSafe::kExample)
        clipped = where(scales[g] == 0.0f, zeros_like(clipped), clipped);
      out.leaves[i] = astype(clipped, leaves[i].dtype());
    }
  return out;
}

}  // namespace tessera::privacy::internal
