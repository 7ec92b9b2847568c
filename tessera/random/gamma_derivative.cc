// P(a, x) = x^a e^-x / Gamma(a + 1) * sum_n x^n / ((a + 1) ... (a + n)) converges fast for x <= a
// or x <= 1. Elsewhere Q = 1 - P is a continued fraction (Cephes igam.c and igamc.c; DLMF 8.7.1,
// 8.9.2). Both are differentiated by a, term by term. With f the series or the fraction, and p =
// x^a e^-x / Gamma(a) / x the density of x, (dP/da) / p does not contain p. So it does not
// underflow.
#include "tessera/random/gamma_derivative.h"

#include <cmath>
#include <limits>

#include "tessera/compile/control_flow.h"
#include "tessera/numpy/dtype_info.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"

namespace tessera::random::internal {

namespace {

using namespace ops::array_math;

Array any(const Array& x) { return lax::reduce_or(x, iota_dims(x.ndim())); }

// Returns the new value for elements that are `running`, otherwise the old one.
Array update_running(const Array& running, const Array& next, const Array& before) {
  return lax::select(running, next, before);
}

// Returns -(sum' + sum * (log x - digamma(a + 1))) * x / a, with sum and sum' as above.
Array by_series(const Array& a, const Array& x, const Array& enabled) {
  struct State {
    Array running, n, term, sum, term_by_a, sum_by_a;
  };
  const double eps = finfo(a.dtype()).eps;
  const Array one = lax::full_like(a, 1), zero = lax::full_like(a, 0);
  const State last = while_loop([](const State& s) { return any(s.running); },
                                [&](const State& s) {
                                  const Array n = s.n + one;
                                  const Array term_by_a =
                                      s.term_by_a * (x / n) - (s.term * x) / (n * n);
                                  const Array sum_by_a = s.sum_by_a + term_by_a;
                                  const Array term = s.term * (x / n);
                                  const Array sum = s.sum + term;
                                  const Array more = lax::abs(term_by_a / sum_by_a) > eps;
                                  return State{lax::bitwise_and(s.running, more),
                                               update_running(s.running, n, s.n),
                                               update_running(s.running, term, s.term),
                                               update_running(s.running, sum, s.sum),
                                               update_running(s.running, term_by_a, s.term_by_a),
                                               update_running(s.running, sum_by_a, s.sum_by_a)};
                                },
                                State{enabled, a, one, one, zero, zero});
  const Array by_factor = lax::log(x) - lax::digamma(a + one);
  return -(last.sum_by_a + last.sum * by_factor) * x / a;
}

// One column of the fraction's recurrence: numerator, denominator, and their derivatives with
// respect to a.
struct Convergent {
  Array p, q, p_by_a, q_by_a;
};

// Returns (fraction' + fraction * (log x - digamma(a))) * x.
Array by_fraction(const Array& a, const Array& x, const Array& enabled) {
  struct State {
    Array running, value, y, z, count;
    Convergent last, before;
    Array value_by_a;
  };
  const double eps = finfo(a.dtype()).eps;
  const Array one = lax::full_like(a, 1), zero = lax::full_like(a, 0);
  const Array y = one - a, z = x + y + one;
  const Convergent before{one, x, zero, zero}, first{x + one, z * x, zero, -x};
  const Array value = first.p / first.q;
  const State start{enabled,
                    value,
                    y,
                    z,
                    lax::full({}, 0, a.dtype()),
                    first,
                    before,
                    (first.p_by_a - value * first.q_by_a) / first.q};
  const State end = while_loop(
      [](const State& s) { return lax::bitwise_and(s.count < 2000, any(s.running)); },
      [&](const State& s) {
        const Array count = s.count + 1;
        const Array c = lax::broadcast_in_dim(count, a.shape(), {});
        const Array y = s.y + one, z = s.z + lax::full_like(a, 2), yc = y * c;
        Convergent next{s.last.p * z - s.before.p * yc, s.last.q * z - s.before.q * yc,
                        s.last.p_by_a * z - s.last.p - s.before.p_by_a * yc + s.before.p * c,
                        s.last.q_by_a * z - s.last.q - s.before.q_by_a * yc + s.before.q * c};
        const Array usable = lax::ne(next.q, zero);
        const Array value = lax::select(usable, next.p / next.q, s.value);
        const Array value_by_a =
            lax::select(usable, (next.p_by_a - value * next.q_by_a) / next.q, s.value_by_a);
        const Array change = lax::select(usable, lax::abs(value_by_a - s.value_by_a), one);
        // Only quotients are used, so both columns are scaled down before they overflow.
        const Array large = lax::abs(next.p) > 1 / eps;
        const auto scaled = [&](const Convergent& v) {
          const auto part = [&](const Array& t) { return lax::select(large, t * eps, t); };
          return Convergent{part(v.p), part(v.q), part(v.p_by_a), part(v.q_by_a)};
        };
        const auto kept = [&](const Convergent& v, const Convergent& old) {
          return Convergent{update_running(s.running, v.p, old.p),
                            update_running(s.running, v.q, old.q),
                            update_running(s.running, v.p_by_a, old.p_by_a),
                            update_running(s.running, v.q_by_a, old.q_by_a)};
        };
        return State{lax::bitwise_and(s.running, change > eps),
                     update_running(s.running, value, s.value),
                     update_running(s.running, y, s.y),
                     update_running(s.running, z, s.z),
                     count,
                     kept(scaled(next), s.last),
                     kept(scaled(s.last), s.before),
                     update_running(s.running, value_by_a, s.value_by_a)};
      },
      start);
  return (end.value_by_a + end.value * (lax::log(x) - lax::digamma(a))) * x;
}

}  // namespace

Array gamma_sample_derivative(const Array& alpha, const Array& sample) {
  const DType dtype = alpha.dtype();
  if (is_half(dtype))
    return lax::convert_element_type(
        gamma_sample_derivative(lax::convert_element_type(alpha, float32),
                                lax::convert_element_type(sample, float32)),
        dtype);
  const Array &a = alpha, &x = sample;
  const Array nan = lax::bitwise_or(lax::ne(a, a), lax::ne(x, x));
  const Array outside = lax::bitwise_or(x < 0, lax::bitwise_not(a > 0));
  const Array at_zero = x == 0;
  const Array far = lax::bitwise_and(x > 1, x > a);
  // If even the density underflows, there is nothing to sum.
  const Array density = a * lax::log(x) - x - lax::lgamma(a);
  const Array tiny = density < -std::log(finfo(dtype).max);
  const Array enabled = lax::bitwise_not(
      lax::bitwise_or(lax::bitwise_or(at_zero, outside), lax::bitwise_or(tiny, nan)));
  const Array out = lax::select(far, by_fraction(a, x, lax::bitwise_and(enabled, far)),
                                by_series(a, x, lax::bitwise_and(enabled, lax::bitwise_not(far))));
  return lax::select(lax::bitwise_or(outside, nan),
                     lax::full_like(out, std::numeric_limits<double>::quiet_NaN()),
                     lax::select(at_zero, lax::full_like(out, 0), out));
}

}  // namespace tessera::random::internal
