#include "tessera/ops/special/bessel.h"

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/special/bessel_coefficients.h"
#include "tessera/ops/special/series.h"

namespace tessera::ops::special {
namespace {

using namespace array_math;

Array sum_of(std::span<const double> series, const Array& t) {
  // In float32, smaller terms would be less than a tenth of a rounding, and add roundings.
  const double least = t.dtype() == float32 ? 1e-10 : 0;
  return polynomial(powers_of_chebyshev(series, least), t);
}

// Returns the Chebyshev series for |x| <= 8 or that for |x| > 8, which is divided by sqrt(|x|).
Array scaled(const Array& size, std::span<const double> small_series,
             std::span<const double> large_series) {
  const Array is_small = size <= 8;
  // Both series are computed for every element. Where one does not hold, it is computed at 8.
  const Array some = lax::full_like(size, 8);
  const Array small = lax::select(is_small, size, some), large = lax::select(is_small, some, size);
  const Array near = sum_of(small_series, small * 0.25 - 1);
  const Array far = sum_of(large_series, 16 / large - 1) * lax::rsqrt(large);
  return lax::select(is_small, near, far);
}

}  // namespace

Array bessel_i0e(const Array& x) {
  if (is_half(x.dtype()))
    return lax::convert_element_type(bessel_i0e(lax::convert_element_type(x, float32)), x.dtype());
  return scaled(lax::abs(x), kI0Small, kI0Large);
}

Array bessel_i1e(const Array& x) {
  if (is_half(x.dtype()))
    return lax::convert_element_type(bessel_i1e(lax::convert_element_type(x, float32)), x.dtype());
  // The small series is that of I1(x) / x.
  const Array size = lax::abs(x);
  const Array factor = lax::select(size <= 8, x, lax::sign(x));
  return factor * scaled(size, kI1Small, kI1Large);
}

}  // namespace tessera::ops::special
