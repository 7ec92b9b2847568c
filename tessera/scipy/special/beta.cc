// The beta function, its logarithm and combinations.
#include <cmath>
#include <numbers>

#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/ops/special/gamma.h"
#include "tessera/scipy/pointwise.h"
#include "tessera/scipy/special.h"
#include "tessera/scipy/special/log_beta.h"

namespace tessera::scipy::special {

using namespace scipy::internal;

namespace internal {

Array log_beta(const Array& a, const Array& b) {
  constexpr double kStirling = 10;
  const double half_log_two_pi = 0.5 * std::log(2 * std::numbers::pi);
  const auto rest = ops::special::stirling_rest;
  const Array small = minimum(a, b), large = maximum(a, b);
  const Array is_large = large >= kStirling, both = small >= kStirling;
  const Array l = where(is_large & isfinite(large), large, kStirling);
  const Array big = where(both & isfinite(large), small, kStirling);
  const Array s = where(is_large & (small > 0) & ~both, small, 1);
  // With lgamma(x) = (x - 1/2) log x - x + log(2 pi) / 2 + rest(x), large terms cancel.
  const Array of_both = half_log_two_pi - 0.5 * log(l) + rest(big) + rest(l) - rest(big + l) +
                        (big - 0.5) * log(big / (big + l)) - l * log1p(big / l);
  const Array of_large =
      lax::lgamma(s) + rest(l) - rest(s + l) - (l - 0.5) * log1p(s / l) - s * log(s + l) + s;
  const Array plain = lax::lgamma(a) + lax::lgamma(b) - lax::lgamma(a + b);
  const Array value = where(both, of_both, where(is_large & (small > 0), of_large, plain));
  return where((large == inf_like(large)) & (small > 0), -inf_like(large), value);
}

}  // namespace internal

Array betaln(const Array& a, const Array& b) {
  return pointwise("betaln", {a, b},
                   [](std::span<const Array> x) { return internal::log_beta(x[0], x[1]); });
}

Array beta(const Array& a, const Array& b) {
  return pointwise("beta", {a, b}, [](std::span<const Array> x) {
    const Array sign = gammasgn(x[0]) * gammasgn(x[1]) * gammasgn(x[0] + x[1]);
    return sign * exp(internal::log_beta(x[0], x[1]));
  });
}

Array comb(const Array& n, const Array& k, const CombOptions& options) {
  const Body choose = [](std::span<const Array> x) {
    const Array inside = (x[1] <= x[0]) & (x[0] >= 0) & (x[1] >= 0);
    const Array n = where(inside, x[0], 0), k = where(inside, x[1], 0);
    return where(inside, exp(-internal::log_beta(n - k + 1, k + 1) - log1p(n)), 0);
  };
  if (!options.repetition) return pointwise("comb", {n, k}, choose);
  return pointwise("comb_with_repetition", {n, k}, [](std::span<const Array> x) {
    return where((x[1] == 0) & (x[0] >= 0), 1, comb(x[0] + x[1] - 1, x[1]));
  });
}

}  // namespace tessera::scipy::special
