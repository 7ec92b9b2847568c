#include "tessera/ops/special/zeta.h"

#include <array>
#include <limits>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/identity.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/special/gamma.h"
#include "tessera/ops/special/series.h"

namespace tessera::ops::special {
namespace {

using namespace array_math;

// How many terms are summed; the Euler-Maclaurin formula replaces all later ones.
constexpr int kDirect = 11;
// B_2j / (2j)!.
constexpr std::array kBernoulli = {
    1.0 / 12,
    -1.0 / 720,
    1.0 / 30240,
    -1.0 / 1209600,
    1.0 / 47900160,
    -691.0 / 1307674368000,
    1.0 / 74724249600,
    -3617.0 / 10670622842880000,
    43867.0 / 5109094217170944000,
    -174611.0 / 802857662698291200000.0,
    77683.0 / 14101100039391805440000.0,
    -236364091.0 / 1693824136731743669452800000.0,
};

Array is_integer(const Array& x) { return lax::eq(lax::floor(x), x); }

// Returns zeta(s, q) for s > 1 and q > 0 (DLMF 25.11.28, with the integral left out). The sum of
// corrections ends before the first one that is not smaller than the one before it.
Array euler_maclaurin(const Array& s, const Array& q) {
  Array sum = lax::pow(q, -s);
  for (int k = 1; k < kDirect; ++k) sum = sum + lax::pow(q + k, -s);
  const Array w = q + kDirect, last = lax::pow(w, -s);
  // For s > 1e6, `last` is 0 compared with the first term, so the order does not matter.
  const Array order = lax::min(s, lax::full_like(s, 1e6)), inverse = 1 / w;
  sum = sum + last * w / (order - 1) + 0.5 * last;
  Array term = last * order * inverse * kBernoulli[0];
  Array decreasing = lax::eq(s, s);
  const Array nothing = lax::full_like(s, 0);
  for (size_t j = 1; j <= kBernoulli.size(); ++j) {
    sum = sum + lax::select(decreasing, term, nothing);
    if (j == kBernoulli.size()) break;
    const double step = static_cast<double>(2 * j);
    const Array next = term * ((order + (step - 1)) * inverse) * ((order + step) * inverse) *
                       (kBernoulli[j] / kBernoulli[j - 1]);
    decreasing = lax::bitwise_and(decreasing, lax::abs(next) < lax::abs(term));
    term = next;
  }
  return sum;
}

}  // namespace

Array zeta(const Array& s, const Array& q) {
  if (is_half(s.dtype()))
    return lax::convert_element_type(
        zeta(lax::convert_element_type(s, float32), lax::convert_element_type(q, float32)),
        s.dtype());
  const Array one = lax::full_like(s, 1);
  const Array nan = lax::full_like(s, std::numeric_limits<double>::quiet_NaN());
  const Array inf = lax::full_like(s, std::numeric_limits<double>::infinity());
  const Array usable_s = lax::select(s > 1, s, one + one);
  // Up to their sign, the terms with q + k < 0 are terms of another zeta function: with q = r - m,
  // 0 < r < 1, they are (1 - r + j)^-s for j = 0, ..., m - 1.
  const Array negative = q < 0, whole = is_integer(q);
  const Array pole = lax::bitwise_and(q <= 0, whole);
  const Array usable_q = lax::select(pole, one, q);
  const Array below = lax::bitwise_and(negative, lax::bitwise_not(whole));
  const Array r = lax::select(below, usable_q - lax::floor(usable_q), usable_q);
  const Array f = lax::select(below, 1 - r, one), far = lax::select(below, 1 - usable_q, one);
  const Array others = euler_maclaurin(usable_s, f) - euler_maclaurin(usable_s, far);
  const Array odd = lax::ne(2 * lax::floor(0.5 * s), s);
  const Array direct = euler_maclaurin(usable_s, r);
  const Array both = direct + lax::select(odd, -others, others);
  const Array value = lax::select(below, lax::select(is_integer(s), both, nan), direct);
  const Array beyond = lax::select(lax::eq(q, inf), lax::full_like(q, 0), value);
  const Array in_domain = lax::select(lax::eq(s, one), inf, lax::select(pole, inf, beyond));
  return lax::select(s >= 1, lax::select(lax::eq(q, q), in_domain, nan), nan);
}

Array polygamma(const Array& order, const Array& x) {
  if (is_half(x.dtype()))
    return lax::convert_element_type(
        polygamma(lax::convert_element_type(order, float32), lax::convert_element_type(x, float32)),
        x.dtype());
  const Array n = lax::stop_gradient(order), zero = lax::full_like(n, 0);
  const Array first = lax::eq(n, zero);
  // DLMF 5.15.1: (-1)^(n + 1) n! zeta(n + 1, x).
  const Array s = lax::select(first, lax::full_like(n, 2), n + 1);
  const Array size = gamma(s) * zeta(s, x);
  const Array even = lax::eq(2 * lax::floor(0.5 * n), n);
  const Array higher = lax::select(even, -size, size);
  const Array at_zero = lax::eq(x, lax::full_like(x, 0));
  const Array digamma =
      lax::select(at_zero, lax::full_like(x, -std::numeric_limits<double>::infinity()),
                  lax::digamma(lax::select(at_zero, lax::full_like(x, 1), x)));
  const Array valid = lax::bitwise_and(n >= zero, is_integer(n));
  return lax::select(valid, lax::select(first, digamma, higher),
                     lax::full_like(x, std::numeric_limits<double>::quiet_NaN()));
}

}  // namespace tessera::ops::special
