// Faddeeva's function w(z) = exp(-z^2) erfc(-i z). In the upper half plane it is the rational
// approximation of J. A. C. Weideman, SIAM J. Numer. Anal. 31 (1994), 1497-1518; in the lower one
// w(z) = 2 exp(-z^2) - w(-z) (DLMF 7.4.3).
#include <numbers>

#include "tessera/numpy/creation.h"
#include "tessera/numpy/elementwise.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/scipy/pointwise.h"
#include "tessera/scipy/special.h"
#include "tessera/scipy/special/coefficients.h"
#include "tessera/scipy/special/scaled_erfc.h"

namespace tessera::scipy::special {

using namespace scipy::internal;

namespace faddeeva {
namespace {

Array times_i(const Array& z) { return lax::complex(-imag(z), real(z)); }

Array of_upper_half(const Array& z) {
  const Array iz = times_i(z), below = 1 / (internal::kFaddeevaScale - iz);
  const Array ratio = (internal::kFaddeevaScale + iz) * below;
  Array sum = full_like(z, internal::kFaddeeva[0]);
  for (size_t k = 1; k < internal::kFaddeeva.size(); ++k)
    sum = sum * ratio + internal::kFaddeeva[k];
  return (2 * sum * below + std::numbers::inv_sqrtpi) * below;
}

Array value(const Array& z) {
  const Array upper = imag(z) >= 0;
  const Array w = of_upper_half(where(upper, z, -z));
  const Array lower = where(upper, 0, z);
  return where(upper, w, 2 * exp(-(lower * lower)) - w);
}

Array with_derivative(const Array& z) {
  return with_slope(z, value, [](const Array& z, const Array& w) {
    const Array constant =
        lax::complex(zeros_like(real(z)), full_like(real(z), 2 * std::numbers::inv_sqrtpi));
    return constant - 2 * z * w;
  });
}

}  // namespace
}  // namespace faddeeva

Array wofz(const Array& z) {
  return composite("wofz", {}, {z}, [](const ir::NoParams&, std::span<const Array> a) {
    const DType inexact = to_inexact(a[0].dtype());
    const DType dtype = inexact == float64 || inexact == complex128 ? complex128 : complex64;
    return faddeeva::with_derivative(as_dtype(a[0], dtype));
  });
}

Array erfcx(const Array& x) {
  if (!is_complex(x.dtype())) return internal::real_erfcx(x);
  return composite("erfcx", {}, {x}, [](const ir::NoParams&, std::span<const Array> a) {
    return faddeeva::with_derivative(faddeeva::times_i(a[0]));
  });
}

}  // namespace tessera::scipy::special
