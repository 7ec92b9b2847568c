#include "tessera/privacy/clipping/clip_pytree.h"

#include "tessera/base/format.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/elementwise.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/trace/trace.h"

namespace tessera::privacy::internal {

using tracing::traced_type;

DType clip_dtype(DType dtype) {
  return real_dtype(is_half(dtype) ? accumulation_dtype(dtype) : dtype);
}

Array sum_of_all(const Array& x) { return lax::reduce_sum(x, iota_dims(x.ndim())); }

// Functions for users convert float64 to float32 unless x64 is enabled; lax functions do not.
Array exact(const Array& x) {
  return lax::convert_element_type(x, is_complex(x.dtype()) ? complex128 : float64);
}

Array exact_squares(const Array& x) {
  const auto squared = [](const Array& part) { return lax::mul(exact(part), exact(part)); };
  return is_complex(x.dtype()) ? lax::add(squared(lax::real(x)), squared(lax::imag(x)))
                               : squared(x);
}

Array clip_scales(const Array& norms, const ClipNorm& clip, bool rescale) {
  const auto number = [&](double value) { return lax::full_like(norms, value); };
  const Array one = number(1), zero = number(0);
  Array c = number(clip.number());
  if (clip.array())
    c = lax::max(lax::broadcast_in_dim(lax::convert_element_type(*clip.array(), norms.dtype()),
                                       norms.shape(), {}),
                 zero);
  Array scales = lax::min(one, lax::div(c, norms));
  if (rescale) scales = lax::select(lax::gt(c, zero), lax::div(scales, c), lax::div(one, norms));
  return lax::select(lax::is_finite(scales), scales, zero);
}

std::vector<Array> group_scales(const std::vector<ClipGroup>& groups,
                                const std::vector<Array>& squares, bool rescale, NanSafe nan_safe) {
  std::vector<Array> out;
  Array finite;
  for (size_t g = 0; g < groups.size(); ++g) {
    const Array norms = lax::sqrt(squares[g]), this_one = lax::is_finite(norms);
    out.push_back(clip_scales(norms, groups[g].norm, rescale));
    finite = finite.defined() ? lax::bitwise_and(finite, this_one) : this_one;
  }
  if (nan_safe == NanSafe::kExample && groups.size() > 1)
    for (Array& scales : out) scales = lax::select(finite, scales, lax::full_like(scales, 0));
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
    add_to(out, of_whole_examples(sum_of_all(exact_squares(g)), loss));
  }
  return out.defined() ? lax::convert_element_type(lax::sqrt(out), dtype) : Array(0.0f);
}

void expect_clippable(std::string_view op, const ir::Type& type) {
  if (!is_inexact(type.dtype))
    type_error(op, "expected floating-point or complex numbers to clip, got {}; use astype",
               describe(type));
}

void add_to(Array& sum, const Array& term) { sum = sum.defined() ? lax::add(sum, term) : term; }

Array finite_elements(const Array& x) {
  // For a complex number both parts have to be finite.
  const Array finite = is_complex(x.dtype()) ? lax::bitwise_and(lax::is_finite(lax::real(x)),
                                                                lax::is_finite(lax::imag(x)))
                                             : lax::is_finite(x);
  return lax::select(finite, x, lax::full_like(x, 0));
}

ClippedLeaves clip_leaves(const std::vector<Array>& leaves, const std::vector<ClipGroup>& groups,
                          bool rescale, NanSafe nan_safe) {
  ClippedLeaves out{std::vector<Array>(leaves.size()), Array()};
  std::vector<Array> wide(leaves.size()), squares;
  DType dtype = float32;  // the dtype of the norm
  for (const ClipGroup& group : groups) {
    Array& squares_of_group = squares.emplace_back();
    for (size_t i : group.leaves) {
      expect_clippable("clip_pytree", leaves[i].type());
      wide[i] = astype(leaves[i], is_half(leaves[i].dtype()) ? float32 : leaves[i].dtype());
      if (nan_safe == NanSafe::kElement) wide[i] = finite_elements(wide[i]);
      add_to(squares_of_group, sum_of_all(exact_squares(wide[i])));
      if (clip_dtype(leaves[i].dtype()) == float64) dtype = float64;
    }
    if (!squares_of_group.defined()) squares_of_group = lax::full({}, 0, float64);
    add_to(out.norm, squares_of_group);
  }
  out.norm = lax::convert_element_type(lax::sqrt(out.norm), dtype);
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
