// Distributions on the circle.
#include <cmath>
#include <numbers>

#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/scipy/pointwise.h"
#include "tessera/scipy/special.h"
#include "tessera/scipy/stats.h"

namespace tessera::scipy::stats {

using namespace scipy::internal;

namespace {
using CircularValues = std::span<const Array>;
constexpr double kLogCircle = 1.8378770664093454836;  // log(2 pi)
}  // namespace

namespace vonmises {
Array logpdf(const Array& x, const Array& kappa) {
  return pointwise("vonmises.logpdf", {x, kappa}, [](CircularValues v) {
    // The value is cos(x) - 1 = -2 sin(x / 2)^2, without cancellation.
    const Array half = sin(0.5 * v[0]);
    const Array value = -2 * v[1] * half * half - kLogCircle - log(special::i0e(v[1]));
    return where(v[1] >= 0, value, nan_like(v[0]));
  });
}
Array pdf(const Array& x, const Array& kappa) {
  return pointwise("vonmises.pdf", {x, kappa},
                   [](CircularValues v) { return exp(logpdf(v[0], v[1])); });
}
}  // namespace vonmises

namespace wrapcauchy {
Array logpdf(const Array& x, const Array& c) {
  return pointwise("wrapcauchy.logpdf", {x, c}, [](CircularValues v) {
    const Array valid = (v[1] > 0) & (v[1] < 1), c = where(valid, v[1], 0.5);
    const Array inside = (v[0] >= 0) & (v[0] <= 2 * std::numbers::pi);
    // 1 + c^2 - 2 c cos(x) = (1 - c)^2 + 4 c sin(x / 2)^2.
    const Array half = sin(0.5 * v[0]);
    const Array distance = (1 - c) * (1 - c) + 4 * c * half * half;
    const Array value = log1p(-c * c) - kLogCircle - log(distance);
    return where(valid, where(inside, value, -inf_like(c)), nan_like(c));
  });
}
Array pdf(const Array& x, const Array& c) {
  return pointwise("wrapcauchy.pdf", {x, c},
                   [](CircularValues v) { return exp(logpdf(v[0], v[1])); });
}
}  // namespace wrapcauchy

}  // namespace tessera::scipy::stats
