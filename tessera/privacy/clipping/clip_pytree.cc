#include "tessera/privacy/clipping/clip_pytree.h"

#include "tessera/base/format.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/elementwise.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"

namespace tessera::privacy::internal {

DType clip_dtype(DType dtype) {
  return real_dtype(is_half(dtype) ? accumulation_dtype(dtype) : dtype);
}

Array clip_scales(const Array& norms, const ClipNorm& clip, bool rescale) {
  const Array c = clip.array() ? maximum(astype(*clip.array(), norms.dtype()), Array(0.0f))
                               : full({}, clip.number(), norms.dtype());
  const Array one = full({}, 1.0, norms.dtype());
  Array scales = minimum(one, c / norms);
  if (rescale) scales = where(c > Array(0.0f), scales / c, one / norms);
  return where(isfinite(scales), scales, zeros_like(scales));
}

void expect_clippable(std::string_view op, const ir::Type& type) {
  if (!is_inexact(type.dtype))
    type_error(op, "expected floating-point or complex numbers to clip, got {}; use astype",
               describe(type));
}

Array finite_elements(const Array& x) { return where(isfinite(x), x, zeros_like(x)); }

ClippedLeaves clip_leaves(const std::vector<Array>& leaves, const ClipNorm& clip, bool rescale,
                          NanSafe nan_safe) {
  ClippedLeaves out;
  std::vector<Array> wide;
  for (const Array& leaf : leaves) {
    expect_clippable("clip_pytree", leaf.type());
    const DType dtype = is_half(leaf.dtype()) ? float32 : leaf.dtype();
    Array x = astype(leaf, dtype);
    if (nan_safe == NanSafe::kElement) x = finite_elements(x);
    const Array size = abs(x), squares = sum(square(size));
    out.norm = out.norm.defined() ? out.norm + squares : squares;
    wide.push_back(x);
  }
  out.norm = out.norm.defined() ? sqrt(out.norm) : Array(0.0f);
  const Array scale = clip_scales(out.norm, clip, rescale);
  for (size_t i = 0; i < wide.size(); ++i) {
    Array clipped = wide[i] * astype(scale, wide[i].dtype());
    if (nan_safe == NanSafe::kExample)
      clipped = where(isfinite(out.norm), clipped, zeros_like(clipped));
    out.leaves.push_back(astype(clipped, leaves[i].dtype()));
  }
  return out;
}

}  // namespace tessera::privacy::internal
