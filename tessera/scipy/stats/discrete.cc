// Discrete distributions.
#include <cmath>
#include <numbers>

#include "tessera/base/format.h"
#include "tessera/compile/control_flow.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/elementwise.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/scipy/pointwise.h"
#include "tessera/scipy/special.h"
#include "tessera/scipy/stats.h"

namespace tessera::scipy::stats {

using namespace scipy::internal;

namespace {
using DiscreteValues = std::span<const Array>;

// Returns log(n! / (k! (n - k)!)), by the beta function, in which large factorials cancel.
Array log_choose(const Array& n, const Array& k) {
  return -special::betaln(n - k + 1, k + 1) - log1p(n);
}
}  // namespace

namespace bernoulli {
namespace {
Array invalid(const Array& x, const Array& p) { return isnan(x) | isnan(p) | (p < 0) | (p > 1); }
}  // namespace
Array logpmf(const Array& k, const Array& p, const Array& loc) {
  return pointwise("bernoulli.logpmf", {k, p, loc}, [](DiscreteValues v) {
    const Array x = v[0] - v[2], outside = (x < 0) | (x > 1), y = where(outside, 0, x);
    const Array value = special::xlogy(y, v[1]) + special::xlog1py(1 - y, -v[1]);
    return where(outside, -inf_like(x), value);
  });
}
Array pmf(const Array& k, const Array& p, const Array& loc) {
  return pointwise("bernoulli.pmf", {k, p, loc},
                   [](DiscreteValues v) { return exp(logpmf(v[0], v[1], v[2])); });
}
Array cdf(const Array& k, const Array& p) {
  return pointwise("bernoulli.cdf", {k, p}, [](DiscreteValues v) {
    const Array value = where(v[0] < 0, 0, where(v[0] < 1, 1 - v[1], 1));
    return where(invalid(v[0], v[1]), nan_like(v[0]), value);
  });
}
Array ppf(const Array& q, const Array& p) {
  return pointwise("bernoulli.ppf", {q, p}, [](DiscreteValues v) {
    const Array outside = invalid(v[0], v[1]) | (v[0] < 0) | (v[0] > 1);
    return where(outside, nan_like(v[0]), where(v[0] <= 1 - v[1], 0, 1));
  });
}
}  // namespace bernoulli

namespace betabinom {
Array logpmf(const Array& k, const Array& n, const Array& a, const Array& b, const Array& loc) {
  return pointwise("betabinom.logpmf", {k, n, a, b, loc}, [](DiscreteValues v) {
    const auto [k, n, a, b, loc] = std::tuple(v[0], v[1], v[2], v[3], v[4]);
    const Array y = floor(k) - loc;
    const Array outside = (y < 0) | (y > n), invalid = (n < 0) | (a <= 0) | (b <= 0);
    const Array usable = ~(outside | invalid);
    const Array uy = where(usable, y, 0), un = where(usable, n, 1), ua = where(usable, a, 1),
                ub = where(usable, b, 1);
    const Array value =
        log_choose(un, uy) + special::betaln(uy + ua, un - uy + ub) - special::betaln(ua, ub);
    const Array defined = where((y == 0) & (n == 0), 0, value);
    return where(invalid, nan_like(y), where(outside, -inf_like(y), defined));
  });
}
Array pmf(const Array& k, const Array& n, const Array& a, const Array& b, const Array& loc) {
  return pointwise("betabinom.pmf", {k, n, a, b, loc},
                   [](DiscreteValues v) { return exp(logpmf(v[0], v[1], v[2], v[3], v[4])); });
}
}  // namespace betabinom

namespace binom {
Array logpmf(const Array& k, const Array& n, const Array& p, const Array& loc) {
  return pointwise("binom.logpmf", {k, n, p, loc}, [](DiscreteValues v) {
    const Array y = v[0] - v[3], inside = (y >= 0) & (y < v[1] + 1);
    const Array uy = where(inside, y, 0), un = where(inside, v[1], 1);
    const Array powers = special::xlogy(uy, v[2]) + special::xlog1py(un - uy, -v[2]);
    const Array choices = where((uy == 0) | (uy == un), 0, log_choose(un, uy));
    return where(inside, choices + powers, -inf_like(y));
  });
}
Array pmf(const Array& k, const Array& n, const Array& p, const Array& loc) {
  return pointwise("binom.pmf", {k, n, p, loc},
                   [](DiscreteValues v) { return exp(logpmf(v[0], v[1], v[2], v[3])); });
}
}  // namespace binom

namespace geom {
Array logpmf(const Array& k, const Array& p, const Array& loc) {
  return pointwise("geom.logpmf", {k, p, loc}, [](DiscreteValues v) {
    const Array x = v[0] - v[2], outside = x <= 0;
    const Array value = special::xlog1py(where(outside, 0, x - 1), -v[1]) + log(v[1]);
    return where(outside, -inf_like(x), value);
  });
}
Array pmf(const Array& k, const Array& p, const Array& loc) {
  return pointwise("geom.pmf", {k, p, loc},
                   [](DiscreteValues v) { return exp(logpmf(v[0], v[1], v[2])); });
}
}  // namespace geom

namespace nbinom {
Array logpmf(const Array& k, const Array& n, const Array& p, const Array& loc) {
  return pointwise("nbinom.logpmf", {k, n, p, loc}, [](DiscreteValues v) {
    const Array y = v[0] - v[3], below = y < 0, uy = where(below, 0, y);
    const Array powers = special::xlogy(v[1], v[2]) + special::xlog1py(uy, -v[2]);
    // gamma(y + n) / (gamma(n) y!) = 1 / (y beta(n, y)).
    const Array first = uy == 0, some = where(first, 1, uy);
    const Array choices = where(first, 0, -special::betaln(v[1], some) - log(some));
    return where(below, -inf_like(y), choices + powers);
  });
}
Array pmf(const Array& k, const Array& n, const Array& p, const Array& loc) {
  return pointwise("nbinom.pmf", {k, n, p, loc},
                   [](DiscreteValues v) { return exp(logpmf(v[0], v[1], v[2], v[3])); });
}
}  // namespace nbinom

namespace multinomial {
namespace {

Array log_mass(DiscreteValues a) {
  for (const Array* x : {&a[0], &a[1]})
    if (!is_integer(x->dtype()))
      type_error("multinomial.logpmf",
                 "expected counts x and n of integers, got {} and {}; convert them with astype",
                 describe(a[0].type()), describe(a[1].type()));
  const Array p = promote(a[2], Promotion::kInexact);
  elementwise::expect_real("multinomial.logpmf", p);
  const Array in_support = sum(a[0], {.axis = -1}) == a[1];
  const Array x = as_dtype(a[0], p.dtype()), n = as_dtype(a[1], p.dtype());
  const Array value =
      special::gammaln(n + 1) + sum(special::xlogy(x, p) - special::gammaln(x + 1), {.axis = -1});
  return where(in_support, value, -inf_like(value));
}

}  // namespace
Array logpmf(const Array& x, const Array& n, const Array& p) {
  return composite("multinomial.logpmf", {}, {x, n, p},
                   [](const ir::NoParams&, DiscreteValues a) { return log_mass(a); });
}
Array pmf(const Array& x, const Array& n, const Array& p) {
  return composite("multinomial.pmf", {}, {x, n, p},
                   [](const ir::NoParams&, DiscreteValues a) { return exp(log_mass(a)); });
}
}  // namespace multinomial

namespace poisson {
namespace {

// The sum -sum p log p over 0, ..., kTerms - 1, for mu up to kLarge; further terms are below
// rounding.
constexpr double kLarge = 200;
constexpr int kTerms = 400;

Array entropy_by_sum(const Array& mu) {
  const auto add = [&](const Array& index, const Array& total) {
    const Array k = as_dtype(index, mu.dtype());
    const Array log_mass = special::xlogy(k, mu) - special::gammaln(k + 1) - mu;
    return total - exp(log_mass) * log_mass;
  };
  return fori_loop(0, kTerms, add, zeros_like(mu));
}

// Returns the entropy by R. Evans and J. Boersma, SIAM Review 30 (1988), 314-317.
Array entropy_by_series(const Array& mu) {
  const Array r = 1 / mu;
  const Array rest =
      r * (1.0 / 12 + r * (1.0 / 24 + r * (19.0 / 360 + r * (9.0 / 80 + r * (863.0 / 2520)))));
  return 0.5 * log(2 * std::numbers::pi * std::numbers::e * mu) - rest;
}

}  // namespace
Array logpmf(const Array& k, const Array& mu, const Array& loc) {
  return pointwise("poisson.logpmf", {k, mu, loc}, [](DiscreteValues v) {
    const Array x = v[0] - v[2], outside = (x < 0) | (rint(x) != x), y = where(outside, 0, x);
    const Array value = special::xlogy(y, v[1]) - special::gammaln(y + 1) - v[1];
    return where(outside, -inf_like(x), value);
  });
}
Array pmf(const Array& k, const Array& mu, const Array& loc) {
  return pointwise("poisson.pmf", {k, mu, loc},
                   [](DiscreteValues v) { return exp(logpmf(v[0], v[1], v[2])); });
}
Array cdf(const Array& k, const Array& mu, const Array& loc) {
  return pointwise("poisson.cdf", {k, mu, loc}, [](DiscreteValues v) {
    const Array x = v[0] - v[2], below = x < 0;
    return where(below, 0, special::gammaincc(floor(where(below, 0, x) + 1), v[1]));
  });
}
Array entropy(const Array& mu, const Array& loc) {
  return pointwise("poisson.entropy", {mu, loc}, [](DiscreteValues v) {
    const Array inside = (v[0] > 0) & (v[0] < kLarge), large = v[0] >= kLarge;
    const Array sum = entropy_by_sum(where(inside, v[0], 1));
    const Array series = entropy_by_series(where(large, v[0], kLarge));
    const Array end = where(v[0] == 0, 0, nan_like(v[0]));
    return where(inside, sum, where(large, series, end));
  });
}
}  // namespace poisson

}  // namespace tessera::scipy::stats
