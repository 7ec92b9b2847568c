// Distributions whose densities contain powers and gamma functions.
#include <cmath>
#include <numbers>

#include "tessera/base/format.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/elementwise.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/scipy/pointwise.h"
#include "tessera/scipy/special.h"
#include "tessera/scipy/stats.h"
#include "tessera/scipy/stats/densities.h"

namespace tessera::scipy::stats {

using namespace scipy::internal;
using special::gammaln;
using special::xlog1py;
using special::xlogy;

namespace {
using internal::log1p_square;
using internal::log_probability;
using GammaValues = std::span<const Array>;
}  // namespace

namespace beta {
namespace {
// Returns the standard point of (x, a, b, loc, scale), clipped to [0, 1].
Array clipped(GammaValues v) { return clip((v[0] - v[3]) / v[4], 0, 1); }
Array lower(GammaValues v) { return special::betainc(v[1], v[2], clipped(v)); }
Array upper(GammaValues v) { return special::betainc(v[2], v[1], 1 - clipped(v)); }
}  // namespace
Array logpdf(const Array& x, const Array& a, const Array& b, const Array& loc, const Array& scale) {
  return pointwise("beta.logpdf", {x, a, b, loc, scale}, [](GammaValues v) {
    const auto [x, a, b, loc, scale] = std::tuple(v[0], v[1], v[2], v[3], v[4]);
    const Array outside = (x > loc + scale) | (x < loc);
    const Array y = where(outside, 0.5, (x - loc) / scale);
    const Array value = xlogy(a - 1, y) + xlog1py(b - 1, -y) - special::betaln(a, b) - log(scale);
    const Array invalid = (a <= 0) | (b <= 0) | (scale <= 0);
    return where(invalid, nan_like(x), where(outside, -inf_like(x), value));
  });
}
Array cdf(const Array& x, const Array& a, const Array& b, const Array& loc, const Array& scale) {
  return pointwise("beta.cdf", {x, a, b, loc, scale}, lower);
}
Array logcdf(const Array& x, const Array& a, const Array& b, const Array& loc, const Array& scale) {
  return pointwise("beta.logcdf", {x, a, b, loc, scale},
                   [](GammaValues v) { return log_probability(lower(v), upper(v)); });
}
Array sf(const Array& x, const Array& a, const Array& b, const Array& loc, const Array& scale) {
  return pointwise("beta.sf", {x, a, b, loc, scale}, upper);
}
Array logsf(const Array& x, const Array& a, const Array& b, const Array& loc, const Array& scale) {
  return pointwise("beta.logsf", {x, a, b, loc, scale},
                   [](GammaValues v) { return log_probability(upper(v), lower(v)); });
}
Array pdf(const Array& x, const Array& a, const Array& b, const Array& loc, const Array& scale) {
  return pointwise("beta.pdf", {x, a, b, loc, scale},
                   [](GammaValues v) { return exp(logpdf(v[0], v[1], v[2], v[3], v[4])); });
}
}  // namespace beta

namespace gamma {
namespace {
Array standard(GammaValues v) { return maximum((v[0] - v[2]) / v[3], 0); }
Array lower(GammaValues v) { return special::gammainc(v[1], standard(v)); }
Array upper(GammaValues v) { return special::gammaincc(v[1], standard(v)); }
}  // namespace
Array logpdf(const Array& x, const Array& a, const Array& loc, const Array& scale) {
  return pointwise("gamma.logpdf", {x, a, loc, scale}, [](GammaValues v) {
    const Array inside = v[0] >= v[2];
    const Array y = where(inside, (v[0] - v[2]) / v[3], 1);
    const Array value = xlogy(v[1] - 1, y) - y - gammaln(v[1]) - log(v[3]);
    return where(inside, value, where(isnan(v[0] + v[2]), nan_like(y), -inf_like(y)));
  });
}
Array cdf(const Array& x, const Array& a, const Array& loc, const Array& scale) {
  return pointwise("gamma.cdf", {x, a, loc, scale}, lower);
}
Array logcdf(const Array& x, const Array& a, const Array& loc, const Array& scale) {
  return pointwise("gamma.logcdf", {x, a, loc, scale},
                   [](GammaValues v) { return log_probability(lower(v), upper(v)); });
}
Array sf(const Array& x, const Array& a, const Array& loc, const Array& scale) {
  return pointwise("gamma.sf", {x, a, loc, scale}, upper);
}
Array logsf(const Array& x, const Array& a, const Array& loc, const Array& scale) {
  return pointwise("gamma.logsf", {x, a, loc, scale},
                   [](GammaValues v) { return log_probability(upper(v), lower(v)); });
}
Array pdf(const Array& x, const Array& a, const Array& loc, const Array& scale) {
  return pointwise("gamma.pdf", {x, a, loc, scale},
                   [](GammaValues v) { return exp(logpdf(v[0], v[1], v[2], v[3])); });
}
}  // namespace gamma

namespace chi2 {
namespace {
Array half_point(GammaValues v) { return maximum((v[0] - v[2]) / (2 * v[3]), 0); }
Array lower(GammaValues v) { return special::gammainc(0.5 * v[1], half_point(v)); }
Array upper(GammaValues v) { return special::gammaincc(0.5 * v[1], half_point(v)); }
}  // namespace
Array logpdf(const Array& x, const Array& df, const Array& loc, const Array& scale) {
  return pointwise("chi2.logpdf", {x, df, loc, scale}, [](GammaValues v) {
    const Array below = v[0] < v[2], half = 0.5 * v[1];
    const Array y = where(below, 1, (v[0] - v[2]) / v[3]);
    const Array value =
        xlogy(half - 1, y) - 0.5 * y - gammaln(half) - std::numbers::ln2 * half - log(v[3]);
    return where(below, -inf_like(y), value);
  });
}
Array cdf(const Array& x, const Array& df, const Array& loc, const Array& scale) {
  return pointwise("chi2.cdf", {x, df, loc, scale}, lower);
}
Array logcdf(const Array& x, const Array& df, const Array& loc, const Array& scale) {
  return pointwise("chi2.logcdf", {x, df, loc, scale},
                   [](GammaValues v) { return log_probability(lower(v), upper(v)); });
}
Array sf(const Array& x, const Array& df, const Array& loc, const Array& scale) {
  return pointwise("chi2.sf", {x, df, loc, scale}, upper);
}
Array logsf(const Array& x, const Array& df, const Array& loc, const Array& scale) {
  return pointwise("chi2.logsf", {x, df, loc, scale},
                   [](GammaValues v) { return log_probability(upper(v), lower(v)); });
}
Array pdf(const Array& x, const Array& df, const Array& loc, const Array& scale) {
  return pointwise("chi2.pdf", {x, df, loc, scale},
                   [](GammaValues v) { return exp(logpdf(v[0], v[1], v[2], v[3])); });
}
}  // namespace chi2

namespace gennorm {
namespace {
// Returns |x|^beta, whose derivative at x = 0 is 0.
Array size_to_power(const Array& x, const Array& beta) {
  const Array zero = x == 0;
  return where(zero, 0, lax::pow(where(zero, 1, abs(x)), beta));
}
}  // namespace
Array logpdf(const Array& x, const Array& beta) {
  return pointwise("gennorm.logpdf", {x, beta}, [](GammaValues v) {
    return log(0.5 * v[1]) - gammaln(1 / v[1]) - size_to_power(v[0], v[1]);
  });
}
Array cdf(const Array& x, const Array& beta) {
  return pointwise("gennorm.cdf", {x, beta}, [](GammaValues v) {
    const Array inner = special::gammainc(1 / v[1], size_to_power(v[0], v[1]));
    const Array outer = special::gammaincc(1 / v[1], size_to_power(v[0], v[1]));
    return where(v[0] < 0, 0.5 * outer, 0.5 + 0.5 * inner);
  });
}
Array pdf(const Array& x, const Array& beta) {
  return pointwise("gennorm.pdf", {x, beta}, [](GammaValues v) { return exp(logpdf(v[0], v[1])); });
}
}  // namespace gennorm

namespace pareto {
namespace {
// The logarithm of the survival function of (x, b, loc, scale), and whether the point is below the
// support.
struct Tail {
  Array below, log_survival;
};
Tail tail(GammaValues v) {
  const Array z = (v[0] - v[2]) / v[3], below = z < 1;
  return {below, -(v[1] * log(where(below, 1, z)))};
}
}  // namespace
Array logpdf(const Array& x, const Array& b, const Array& loc, const Array& scale) {
  return pointwise("pareto.logpdf", {x, b, loc, scale}, [](GammaValues v) {
    const Array z = (v[0] - v[2]) / v[3], below = z < 1;
    const Array value = log(v[1] / v[3]) - (v[1] + 1) * log(where(below, 1, z));
    return where(below, -inf_like(z), value);
  });
}
Array cdf(const Array& x, const Array& b, const Array& loc, const Array& scale) {
  return pointwise("pareto.cdf", {x, b, loc, scale}, [](GammaValues v) {
    const Tail at = tail(v);
    return where(at.below, 0, -expm1(at.log_survival));
  });
}
Array logcdf(const Array& x, const Array& b, const Array& loc, const Array& scale) {
  return pointwise("pareto.logcdf", {x, b, loc, scale}, [](GammaValues v) {
    const Tail at = tail(v);
    return where(at.below, -inf_like(v[0]),
                 internal::log1m_exp(where(at.below, 1, -at.log_survival)));
  });
}
Array logsf(const Array& x, const Array& b, const Array& loc, const Array& scale) {
  return pointwise("pareto.logsf", {x, b, loc, scale}, [](GammaValues v) {
    const Tail at = tail(v);
    return where(at.below, 0, at.log_survival);
  });
}
Array ppf(const Array& q, const Array& b, const Array& loc, const Array& scale) {
  return pointwise("pareto.ppf", {q, b, loc, scale}, [](GammaValues v) {
    const Array outside = isnan(v[0]) | (v[0] < 0) | (v[0] > 1);
    return where(outside, nan_like(v[0]), v[2] + v[3] * exp(-log1p(-v[0]) / v[1]));
  });
}
Array pdf(const Array& x, const Array& b, const Array& loc, const Array& scale) {
  return pointwise("pareto.pdf", {x, b, loc, scale},
                   [](GammaValues v) { return exp(logpdf(v[0], v[1], v[2], v[3])); });
}
Array sf(const Array& x, const Array& b, const Array& loc, const Array& scale) {
  return pointwise("pareto.sf", {x, b, loc, scale},
                   [](GammaValues v) { return exp(logsf(v[0], v[1], v[2], v[3])); });
}
}  // namespace pareto

namespace t {
Array logpdf(const Array& x, const Array& df, const Array& loc, const Array& scale) {
  return pointwise("t.logpdf", {x, df, loc, scale}, [](GammaValues v) {
    const Array z = (v[0] - v[2]) / v[3], half = 0.5 * v[1];
    // The gamma functions are computed as a beta function, in which large ones cancel: with
    // gamma(1/2) = sqrt(pi), gamma(half + 1/2) / gamma(half) = sqrt(pi) / beta(half, 1/2).
    const Array norm = special::betaln(half, 0.5) + 0.5 * log(v[1]) + log(abs(v[3]));
    return -(norm + (half + 0.5) * log1p_square(z / sqrt(v[1])));
  });
}
Array pdf(const Array& x, const Array& df, const Array& loc, const Array& scale) {
  return pointwise("t.pdf", {x, df, loc, scale},
                   [](GammaValues v) { return exp(logpdf(v[0], v[1], v[2], v[3])); });
}
}  // namespace t

namespace dirichlet {
namespace {

Array log_density(GammaValues arguments) {
  const std::vector<Array> a = promote_dtypes(arguments, Promotion::kInexact);
  Array x = a[0], alpha = a[1];
  elementwise::expect_real("dirichlet.logpdf", x);
  if (alpha.ndim() != 1)
    shape_error("dirichlet.logpdf",
                "expected a vector alpha, got {}; pass one parameter a component",
                describe(alpha.type()));
  const int64_t n = alpha.shape()[0];
  if (x.ndim() == 0 || (x.shape()[0] != n && x.shape()[0] != n - 1))
    shape_error("dirichlet.logpdf",
                "expected {} or {} components along the first axis, got {}; pass as many as alpha "
                "has, or all but the last",
                n, n - 1, describe(x.type()));
  if (x.shape()[0] != n) x = concatenate({x, 1 - sum(x, {.axis = 0, .keepdims = true})}, 0);
  const Array norm = sum(gammaln(alpha)) - gammaln(sum(alpha));
  const Array inside = all(x > 0, {.axis = 0}) & (abs(sum(x, {.axis = 0}) - 1) < 1e-6);
  Shape column(static_cast<size_t>(x.ndim()), 1);
  column[0] = n;
  const Array powers = reshape(alpha, column) - 1;
  const Array value = sum(xlogy(powers, x), {.axis = 0}) - norm;
  return where(inside, value, -inf_like(value));
}

}  // namespace
Array logpdf(const Array& x, const Array& alpha) {
  return composite("dirichlet.logpdf", {}, {x, alpha},
                   [](const ir::NoParams&, GammaValues a) { return log_density(a); });
}
Array pdf(const Array& x, const Array& alpha) {
  return composite("dirichlet.pdf", {}, {x, alpha},
                   [](const ir::NoParams&, GammaValues a) { return exp(log_density(a)); });
}
}  // namespace dirichlet

}  // namespace tessera::scipy::stats
