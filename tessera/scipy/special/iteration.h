// Series and continued fractions that are summed until every element has converged. An element that
// has converged does not change any more, so its value does not depend on the others. Each element
// depends only on the same element of the arguments, so the loop has derivatives in both directions
// (control/pointwise_while.h). Only source files of special/ include this header.
#pragma once

#include <utility>

#include "tessera/compile/control_flow.h"
#include "tessera/numpy/dtype_info.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/identity.h"

namespace tessera::scipy::special::internal {

// Returns t_0 + t_1 + ... with t_0 = first and t_{n+1} = t_n ratio(n), where n is an array;
// elements that are not `enabled` get t_0. The sum of an element ends with the first term below the
// rounding of the sum, but not before `least` terms, and always after `limit` terms.
template <class Ratio>
Array sum_series(const Array& first, const Array& enabled, double limit, const Ratio& ratio,
                 const Array& least) {
  struct State {
    Array running, n, term, sum;
  };
  const double eps = finfo(first.dtype()).eps;
  const State start{enabled, lax::full_like(first, 0), first, first};
  return while_loop([](const State& s) { return any(s.running); },
                    [&](const State& s) {
                      const Array term = s.term * ratio(s.n), sum = s.sum + term;
                      const Array open = (abs(term) > eps * abs(sum)) | (s.n < least);
                      const Array more = open & (s.n < limit);
                      return State{s.running & more, where(s.running, s.n + 1, s.n),
                                   where(s.running, term, s.term), where(s.running, sum, s.sum)};
                    },
                    start)
      .sum;
}

// Returns b_0 + a_1 / (b_1 + a_2 / (b_2 + ...)) by the modified Lentz algorithm (DLMF 3.10;
// Thompson and Barnett, J. Comput. Phys. 64 (1986), 490-509); elements that are not `enabled` get
// b_0. partial(n) returns the pair (a_n, b_n), where n is an array that starts at 1. If an a_n can
// be 0 or nearly 0, the value ends there, but its derivatives need the terms behind it: then these
// are taken into account up to `least`.
template <class Partial>
Array continued_fraction(const Array& b0, const Array& enabled, double limit,
                         const Partial& partial, const Array& least = 0) {
  struct State {
    Array running, n, c, d, value;
  };
  const FloatInfo info = finfo(b0.dtype());
  const double eps = 2 * info.eps, tiny = info.tiny / info.eps;
  const auto nonzero = [&](const Array& x) { return where(x == 0, tiny, x); };
  const Array first = nonzero(b0);
  const State start{enabled, lax::full_like(b0, 1), first, lax::full_like(b0, 0), first};
  return while_loop([](const State& s) { return any(s.running); },
                    [&](const State& s) {
                      const auto [a, b] = partial(s.n);
                      const Array d = 1 / nonzero(b + a * s.d), c = nonzero(b + a / s.c);
                      const Array factor = c * d, settled = abs(factor - 1) <= eps;
                      // A settled value goes on for its derivatives only.
                      const Array change = where(settled & (s.n < least),
                                                 1 + (factor - lax::stop_gradient(factor)), factor);
                      const Array more = (~settled | (s.n < least)) & (s.n < limit);
                      return State{s.running & more, where(s.running, s.n + 1, s.n),
                                   where(s.running, c, s.c), where(s.running, d, s.d),
                                   where(s.running, s.value * change, s.value)};
                    },
                    start)
      .value;
}

// Returns log(1 + u) - u for u > -1, precise for small u too. With s = u / (2 + u), the logarithm
// is 2 artanh(s), and 2 s - u = -s u.
Array log1p_minus(const Array& u);
// Returns sqrt(-2 (log(1 + u) - u)) with the sign of u, which is smooth at u = 0, for |u| < 1/2.
Array root_of_log1p_minus(const Array& u);

}  // namespace tessera::scipy::special::internal
