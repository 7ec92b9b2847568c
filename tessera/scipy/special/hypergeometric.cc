// Kummer's and Gauss's hypergeometric functions of real numbers. The methods are compared by J.
// Pearson, S. Olver and M. Porter, Numer. Algorithms 74 (2017), 821-866.
//
//   hyp1f1   its series; for x < 0 after Kummer's transformation (DLMF 13.2.39), so that terms have
//            one sign; for large |x| the asymptotic series (DLMF 13.7.1)
//   hyp2f1   its series for |x| < 0.9; for other negative x after Pfaff's transformation (DLMF
//            15.8.1); near 1 functions of 1 - x (DLMF 15.8.4; 15.8.10 if c - a - b is an integer)
//
// Derivatives by the parameters are the derivatives of these sums.
#include "tessera/compile/grad.h"
#include "tessera/numpy/creation.h"
#include "tessera/ops/special/gamma.h"
#include "tessera/scipy/pointwise.h"
#include "tessera/scipy/special.h"
#include "tessera/scipy/special/iteration.h"

namespace tessera::scipy::special {

using namespace scipy::internal;
using namespace internal;

namespace hypergeometric {
namespace {

constexpr double kLimit = 200000;  // most terms, which x near 1 needs
constexpr double kNear1 = 0.9;

Array is_whole(const Array& x) { return floor(x) == x; }
Array is_pole(const Array& x) { return (x <= 0) & is_whole(x); }

Array gamma_of(const Array& x) {
  return with_slope(x, ops::special::gamma,
                    [](const Array& x, const Array& y) { return y * lax::digamma(x); });
}

// Returns 1 / gamma(x), which is 0 at the poles.
Array reciprocal_gamma(const Array& x) {
  const Array pole = is_pole(x);
  return where(pole, 0, 1 / gamma_of(where(pole, 1, x)));
}

// Returns the least number of terms of a series. The derivative by a parameter has terms even if
// the series itself is a polynomial and has ended.
Array least_terms(bool derivative, const Array& x, const Array& a) {
  if (!derivative) return zeros_like(x);
  return 40 + 2 * abs(x) + lax::stop_gradient(abs(a));
}

// --- Kummer's function ---

Array kummer_series(const Array& a, const Array& b, const Array& x, const Array& enabled,
                    const Array& least) {
  return sum_series(
      ones_like(x), enabled, 20000,
      [&](const Array& k) { return (a + k) / (b + k) * (x / (k + 1)); }, least);
}

// Returns exp(-x) times the function, for large x > 0.
Array kummer_asymptotic(const Array& a, const Array& b, const Array& x, const Array& enabled) {
  const Array series = sum_series(
      ones_like(x), enabled, 60,
      [&](const Array& k) { return (b - a + k) * (1 - a + k) / ((k + 1) * x); }, zeros_like(x));
  return gamma_of(b) * reciprocal_gamma(a) * lax::pow(x, a - b) * series;
}

template <bool kDerivative>
Array kummer(const Array& a, const Array& b, const Array& x) {
  const Array polynomial = is_pole(a), negative = (x < 0) & ~polynomial;
  const Array undefined = is_pole(b) & ~(polynomial & (a > b));
  const Array p = where(negative, b - a, a), y = where(negative, -x, x);
  const Array valid = ~(isnan(a) | isnan(b) | isnan(x));
  const Array regular = valid & ~undefined & isfinite(x);
  const Array size = (abs(p) + 1) * (abs(b - p) + 1);
  const Array far = regular & (y > 100) & (y > 4 * size) & ~is_pole(p);
  const Array near = regular & ~far;
  const Array sa = where(near, p, 1), sb = where(near, b, 1), sx = where(near, y, 0);
  const Array series = kummer_series(sa, sb, sx, near, least_terms(kDerivative, sx, sa));
  const Array fy = where(far, y, 200);
  const Array tail = kummer_asymptotic(where(far, p, 1), where(far, b, 2), fy, far);
  const Array growth = exp(where(far & negative, 0, where(far, fy, where(negative, x, 0))));
  const Array value = growth * where(far, tail, series);
  return where(valid, where(undefined, inf_like(x), where(isfinite(x), value, nan_like(x))),
               nan_like(x));
}

// --- Gauss's function ---

Array gauss_series(const Array& a, const Array& b, const Array& c, const Array& x,
                   const Array& enabled, const Array& least) {
  return sum_series(
      ones_like(x), enabled, kLimit,
      [&](const Array& k) { return (a + k) * (b + k) / (c + k) * (x / (k + 1)); }, least);
}

// Returns the function by two series in s = 1 - x. d = c - a - b is not an integer.
Array by_two_series(const Array& a, const Array& b, const Array& c, const Array& s,
                    const Array& enabled, bool derivative) {
  const Array d = c - a - b, least = least_terms(derivative, s, abs(a) + abs(b));
  const Array first = gauss_series(a, b, 1 - d, s, enabled, least);
  const Array second = gauss_series(c - a, c - b, 1 + d, s, enabled, least);
  const Array gamma_c = gamma_of(c);
  return gamma_c * gamma_of(d) * reciprocal_gamma(c - a) * reciprocal_gamma(c - b) * first +
         gamma_c * gamma_of(-d) * reciprocal_gamma(a) * reciprocal_gamma(b) * lax::pow(s, d) *
             second;
}

// Returns the function for c = a + b + m with an integer m >= 0.
Array by_digamma_series(const Array& a, const Array& b, const Array& m, const Array& s,
                        const Array& enabled) {
  struct State {
    Array running, k, term, bracket, sum;
  };
  const double eps = finfo(s.dtype()).eps;
  const Array am = a + m, bm = b + m, one = ones_like(s);
  const auto psi = [](const Array& x) { return lax::digamma(x); };
  const Array bracket = log(s) - psi(one) - psi(m + 1) + psi(am) + psi(bm);
  const Array first = 1 / ops::special::gamma(m + 1);
  const State last = while_loop(
      [](const State& v) { return any(v.running); },
      [&](const State& v) {
        const Array k = v.k;
        const Array term = v.term * ((am + k) * (bm + k) / ((k + 1) * (k + 1 + m)) * s);
        const Array next = v.bracket + 1 / (am + k) + 1 / (bm + k) - 1 / (k + 1) - 1 / (k + m + 1);
        const Array sum = v.sum + term * next;
        const Array more = (abs(term * next) > eps * abs(sum)) & (k < kLimit);
        return State{v.running & more, where(v.running, k + 1, k), where(v.running, term, v.term),
                     where(v.running, next, v.bracket), where(v.running, sum, v.sum)};
      },
      State{enabled, zeros_like(s), first, bracket, first * bracket});
  // This is the finite sum of m terms.
  const Array gamma_m = ops::special::gamma(where(m > 0, m, 1));
  struct Finite {
    Array k, term, sum;
  };
  const Finite finite = while_loop(
      [&](const Finite& v) { return any(enabled & (v.k < m)); },
      [&](const Finite& v) {
        const Array going = enabled & (v.k < m), left = where(v.k + 1 < m, m - v.k - 1, 1);
        const Array next = v.term * (a + v.k) * (b + v.k) / ((v.k + 1) * left) * (-s);
        return Finite{where(going, v.k + 1, v.k), where(going, next, v.term),
                      where(going, v.sum + v.term, v.sum)};
      },
      Finite{zeros_like(s), gamma_m, zeros_like(s)});
  const Array sign = where(2 * floor(0.5 * m) == m, 1, -1);
  const Array power = sign * lax::pow(s, m);
  return ops::special::gamma(a + b + m) *
         (reciprocal_gamma(am) * reciprocal_gamma(bm) * finite.sum -
          power * reciprocal_gamma(a) * reciprocal_gamma(b) * last.sum);
}

// Returns the function for 0 <= x < 1 if it is not a polynomial.
template <bool kDerivative>
Array gauss_on_unit(const Array& a, const Array& b, const Array& c, const Array& x,
                    const Array& enabled) {
  // Near 1, Euler's transformation (DLMF 15.8.1) makes c - a - b >= 0.
  const Array near1 = enabled & (x >= kNear1), turn = near1 & (c - a - b < 0);
  const Array p = where(turn, c - a, a), q = where(turn, c - b, b), d = c - p - q;
  const Array turned_polynomial = is_pole(p) | is_pole(q);
  const Array nearest = lax::round(d, lax::RoundingMethod::kToNearestEven),
              distance = abs(d - nearest);
  const Array smooth = near1 & ~turned_polynomial & (distance >= 0.02);
  const double eps = finfo(x.dtype()).eps;
  const Array whole = near1 & ~turned_polynomial & (distance <= 8 * eps * (1 + abs(c)));
  const Array special = kDerivative ? smooth : smooth | whole;
  const Array direct = enabled & ~special, s = 1 - x;
  const auto at = [](const Array& used, const Array& v, double other) {
    return where(used, v, other);
  };
  const Array dx = at(direct, x, 0);
  Array value = gauss_series(at(direct, p, 1), at(direct, q, 1), at(direct, c, 1), dx, direct,
                             least_terms(kDerivative, dx, abs(p) + abs(q)));
  value = where(smooth,
                by_two_series(at(smooth, p, 0.25), at(smooth, q, 0.25), at(smooth, c, 1),
                              at(smooth, s, 0.1), smooth, kDerivative),
                value);
  if (!kDerivative)
    value = where(whole,
                  by_digamma_series(at(whole, p, 1), at(whole, q, 1), at(whole, nearest, 0),
                                    at(whole, s, 0.1), whole),
                  value);
  return where(turn, lax::pow(at(turn, s, 1), at(turn, c - a - b, 0)), 1) * value;
}

template <bool kDerivative>
Array gauss(const Array& a, const Array& b, const Array& c, const Array& x) {
  const Array polynomial = is_pole(a) | is_pole(b);
  const Array valid = ~(isnan(a) | isnan(b) | isnan(c) | isnan(x));
  const Array trivial = (x == 0) | (((a == 0) | (b == 0)) & (c != 0));
  const Array undefined = is_pole(c) | ((x > 1) & ~polynomial);
  const Array at1 = (x == 1) & ~polynomial;
  const Array regular = valid & ~undefined & ~at1 & isfinite(x);
  const Array pfaff = regular & ~polynomial & (x < -0.5);
  const Array sum = regular & polynomial;
  // A polynomial is computed by its series, and so is the function near 0.
  const Array unit = regular & ~polynomial & (pfaff | (x >= 0));
  const Array direct = sum | (regular & ~unit);
  const auto at = [](const Array& used, const Array& v, double other) {
    return where(used, v, other);
  };
  const Array dx = at(direct, x, 0);
  const Array series = gauss_series(at(direct, a, 1), at(direct, b, 1), at(direct, c, 1), dx,
                                    direct, least_terms(kDerivative, dx, abs(a) + abs(b)));
  const Array ux = at(unit, where(pfaff, x / (at(pfaff, x, -1) - 1), x), 0);
  const Array other = where(pfaff, c - b, b);
  const Array inner =
      gauss_on_unit<kDerivative>(at(unit, a, 1), at(unit, other, 1), at(unit, c, 1), ux, unit);
  const Array factor = lax::pow(1 - at(pfaff, x, 0), at(pfaff, -a, 0));
  const Array d = c - a - b, positive = at1 & (d > 0) & ~is_pole(c);
  const Array gauss_sum = gamma_of(at(positive, c, 1)) * gamma_of(at(positive, d, 1)) *
                          reciprocal_gamma(at(positive, c - a, 1)) *
                          reciprocal_gamma(at(positive, c - b, 1));
  const Array value = where(direct, series, where(positive, gauss_sum, factor * inner));
  const Array infinite = undefined | (at1 & ~positive);
  const Array result = where(infinite, inf_like(x), where(regular | positive, value, nan_like(x)));
  if (kDerivative) return where(valid, where(x == 0, 1, result), nan_like(x));
  return where(valid, where(trivial, 1, result), nan_like(x));
}

// Returns the derivative of f at v.
template <class F>
Array slope_at(const F& f, const Array& v) {
  return jvp(f, std::tuple(v), std::tuple(ones_like(v))).second;
}

using Three = std::tuple<Array, Array, Array>;
using Four = std::tuple<Array, Array, Array, Array>;

}  // namespace
}  // namespace hypergeometric

using namespace hypergeometric;

Array hyp1f1(const Array& a, const Array& b, const Array& x) {
  return pointwise("hyp1f1", {a, b, x}, [](std::span<const Array> v) {
    const auto rule = [](const Three& at, const Three& tangents) {
      const auto& [a, b, x] = at;
      const auto& [ta, tb, tx] = tangents;
      const Array by_a = slope_at([&](const Array& v) { return kummer<true>(v, b, x); }, a);
      const Array by_b = slope_at([&](const Array& v) { return kummer<true>(a, v, x); }, b);
      const Array by_x = a / b * kummer<false>(a + 1, b + 1, x);  // DLMF 13.3.15
      return std::pair(kummer<false>(a, b, x), ta * by_a + tb * by_b + tx * by_x);
    };
    return custom_jvp(kummer<false>, rule)(v[0], v[1], v[2]);
  });
}

Array hyp2f1(const Array& a, const Array& b, const Array& c, const Array& x) {
  return pointwise("hyp2f1", {a, b, c, x}, [](std::span<const Array> v) {
    const auto rule = [](const Four& at, const Four& tangents) {
      const auto& [a, b, c, x] = at;
      const auto& [ta, tb, tc, tx] = tangents;
      const Array by_a = slope_at([&](const Array& v) { return gauss<true>(v, b, c, x); }, a);
      const Array by_b = slope_at([&](const Array& v) { return gauss<true>(a, v, c, x); }, b);
      const Array by_c = slope_at([&](const Array& v) { return gauss<true>(a, b, v, x); }, c);
      const Array by_x = a * b / c * gauss<false>(a + 1, b + 1, c + 1, x);  // DLMF 15.5.1
      return std::pair(gauss<false>(a, b, c, x), ta * by_a + tb * by_b + tc * by_c + tx * by_x);
    };
    return custom_jvp(gauss<false>, rule)(v[0], v[1], v[2], v[3]);
  });
}

}  // namespace tessera::scipy::special
