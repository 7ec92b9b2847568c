#include "tessera/ops/special/gamma.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/special/series.h"

namespace tessera::ops::special {
namespace {

using namespace array_math;

constexpr int kShift = 10;  // where Stirling's formula begins

// Returns gamma(y) for y >= 0: the recurrence (DLMF 5.5.1) leads to at least 10, where Stirling's
// formula is used. The power is the product of two halves, which overflow only if the result does.
Array gamma_of_positive(const Array& y) {
  const Array one = lax::full_like(y, 1);
  Array product = one, w = y;
  for (int k = 0; k < kShift; ++k) {
    const Array below = w < kShift;
    product = product * lax::select(below, w, one);
    w = lax::select(below, w + one, w);
  }
  const double largest = y.dtype() == float64 ? 172 : 36;
  const Array v = lax::min(w, lax::full_like(w, largest));
  const Array half_power = lax::pow(v, 0.5 * v);
  const Array correction = lax::exp(stirling_rest(v)) * std::sqrt(2 * std::numbers::pi);
  const Array stirling = half_power * lax::exp(-v) * half_power * (correction * lax::rsqrt(v));
  return lax::select(w >= largest, lax::full_like(y, std::numeric_limits<double>::infinity()),
                     stirling / product);
}

}  // namespace

Array stirling_rest(const Array& x) {
  // B_2k / (2k (2k - 1)).
  constexpr std::array kTerms = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                 1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400};
  const Array inverse = 1 / x;
  return inverse * polynomial(kTerms, inverse * inverse);
}

Array sin_pi(const Array& x) {
  const Array whole = lax::round(x, lax::RoundingMethod::kToNearestEven);
  const Array sine = lax::sin(std::numbers::pi * (x - whole));
  const Array even = lax::eq(2 * lax::floor(0.5 * whole), whole);
  return lax::select(even, sine, -sine);
}

Array gamma(const Array& x) {
  const Array size = gamma_of_positive(lax::abs(x));
  // The reflection formula (DLMF 5.5.3) at -x, because negation is exact.
  const Array reflected = -std::numbers::pi / (x * sin_pi(x)) / size;
  const Array pole = lax::eq(lax::floor(x), x);
  const Array left =
      lax::select(pole, lax::full_like(x, std::numeric_limits<double>::quiet_NaN()), reflected);
  return lax::select(lax::eq(x, lax::full_like(x, 0)), 1 / x, lax::select(x < 0, left, size));
}

}  // namespace tessera::ops::special
