// Owen's T function. For |a| <= 1 it is the Gauss-Legendre quadrature of its integral (D. Owen,
// Ann. Math. Stat. 27 (1956), 1075-1090); other a use the relation between T(h, a) and T(a h, 1 /
// a).
#include <numbers>

#include "tessera/numpy/creation.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/scipy/pointwise.h"
#include "tessera/scipy/special.h"
#include "tessera/scipy/special/coefficients.h"

namespace tessera::scipy::special {

using namespace scipy::internal;

namespace owen {
namespace {

constexpr double kRootHalf = std::numbers::sqrt2 / 2;

// Returns T(h, a) for h >= 0 and 0 <= a <= 1. The integrand vanishes for h t > 9.
Array quadrature(const Array& h, const Array& a) {
  const Array end = minimum(a, 9 / maximum(h, 1)), square = -0.5 * h * h;
  Array sum = zeros_like(h);
  for (size_t i = 0; i < internal::kGaussPoints.size(); ++i) {
    const Array t = end * internal::kGaussPoints[i], factor = 1 + t * t;
    sum = sum + internal::kGaussWeights[i] * exp(square * factor) / factor;
  }
  return end * sum * (0.5 * std::numbers::inv_pi);
}

Array value(const Array& h, const Array& a) {
  const Array p = abs(h), q = abs(a), flat = q > 1;
  const Array product = where(p == 0, 0, p * q);
  const Array part = quadrature(where(flat, product, p), where(flat, 1 / where(flat, q, 1), q));
  const Array tail_p = lax::erfc(kRootHalf * p), tail_product = lax::erfc(kRootHalf * product);
  const Array near = 0.25 - 0.25 * lax::erf(kRootHalf * p) * lax::erf(kRootHalf * product);
  const Array far = 0.25 * (tail_p + tail_product - tail_p * tail_product);
  const Array size = where(flat, where(product < 0.7, near, far) - part, part);
  return where(isnan(h) | isnan(a), nan_like(h), where(a < 0, -size, size));
}

}  // namespace
}  // namespace owen

Array owens_t(const Array& h, const Array& a) {
  return pointwise("owens_t", {h, a}, [](std::span<const Array> v) {
    return with_slopes(
        v[0], v[1], owen::value,
        [](const Array& h, const Array& a, const Array&) {
          return exp(-0.5 * h * h) * lax::erf(owen::kRootHalf * a * h) *
                 (-0.5 * std::numbers::inv_sqrtpi * owen::kRootHalf);
        },
        [](const Array& h, const Array& a, const Array&) {
          const Array factor = 1 + a * a;
          return exp(-0.5 * factor * h * h) / factor * (0.5 * std::numbers::inv_pi);
        });
  });
}

}  // namespace tessera::scipy::special
