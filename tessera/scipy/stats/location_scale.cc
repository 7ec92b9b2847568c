// Distributions with a location and a scale that have closed formulas.
#include <cmath>
#include <numbers>

#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/nn.h"
#include "tessera/numpy/operators.h"
#include "tessera/scipy/pointwise.h"
#include "tessera/scipy/special.h"
#include "tessera/scipy/stats.h"
#include "tessera/scipy/stats/densities.h"

namespace tessera::scipy::stats {

using namespace scipy::internal;

namespace internal {

// The bound between both formulas is that of M. Maechler, "Accurately computing log(1 -
// exp(-|a|))", 2012.
Array log1m_exp(const Array& x) {
  const Array small = x < std::numbers::ln2;
  return where(small, log(-expm1(-where(small, x, 1))), log1p(-exp(-where(small, 1, x))));
}

Array log_probability(const Array& p, const Array& q) {
  const Array large = p > 0.5;
  return where(large, log1p(-where(large, q, 0)), log(where(large, 1, p)));
}

Array log1p_square(const Array& x) {
  // From here on, 1 is less than half of the last digit of the square.
  const Array large = abs(x) > 1e9;
  return where(large, 2 * log(where(large, abs(x), 1)), log1p(square(where(large, 0, x))));
}

}  // namespace internal

namespace {

using internal::log1p_square;
using internal::log_probability;
using Values = std::span<const Array>;

// Returns (x - loc) / scale for a body's arguments (x, loc, scale).
Array standard(Values a) { return (a[0] - a[1]) / a[2]; }

// Returns the value, but NaN unless the last argument, the scale, is positive.
Array if_scale(Values a, const Array& value) { return where(a[2] > 0, value, nan_like(value)); }

Array outside_of_unit(const Array& q) { return isnan(q) | (q < 0) | (q > 1); }

}  // namespace

namespace cauchy {
namespace {
// Returns the distribution function at the standard point z, without cancellation for z < 0.
Array distribution(const Array& z) { return arctan2(1, -z) * std::numbers::inv_pi; }
Array log_distribution(const Array& z) {
  return log_probability(distribution(z), distribution(-z));
}
// Returns the quantile of q. The quantile of 1 - q is the same with the other sign.
Array quantile(const Array& q) {
  const Array upper = q > 0.5;
  const Array angle = std::numbers::pi * where(upper, 1 - q, abs(q));
  const Array value = where(upper, 1, -1) / tan(angle);
  return where((q < 0) | (q > 1), nan_like(q), where(q == 0.5, 0, value));
}
}  // namespace
Array logpdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("cauchy.logpdf", {x, loc, scale}, [](Values a) {
    const Array z = standard(a);
    return -(log(std::numbers::pi * a[2]) + log1p_square(z));
  });
}
Array cdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("cauchy.cdf", {x, loc, scale},
                   [](Values a) { return distribution(standard(a)); });
}
Array logcdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("cauchy.logcdf", {x, loc, scale},
                   [](Values a) { return log_distribution(standard(a)); });
}
Array sf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("cauchy.sf", {x, loc, scale},
                   [](Values a) { return distribution(-standard(a)); });
}
Array logsf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("cauchy.logsf", {x, loc, scale},
                   [](Values a) { return log_distribution(-standard(a)); });
}
Array ppf(const Array& q, const Array& loc, const Array& scale) {
  return pointwise("cauchy.ppf", {q, loc, scale},
                   [](Values a) { return quantile(a[0]) * a[2] + a[1]; });
}
Array isf(const Array& q, const Array& loc, const Array& scale) {
  return pointwise("cauchy.isf", {q, loc, scale},
                   [](Values a) { return a[1] - quantile(a[0]) * a[2]; });
}
Array pdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("cauchy.pdf", {x, loc, scale},
                   [](Values a) { return exp(logpdf(a[0], a[1], a[2])); });
}
}  // namespace cauchy

namespace expon {
Array logpdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("expon.logpdf", {x, loc, scale}, [](Values a) {
    return where(a[0] < a[1], -inf_like(a[0]), -(standard(a) + log(a[2])));
  });
}
Array cdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("expon.cdf", {x, loc, scale},
                   [](Values a) { return where(a[0] < a[1], 0, -expm1(-standard(a))); });
}
Array logcdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("expon.logcdf", {x, loc, scale}, [](Values a) {
    const Array below = a[0] < a[1];
    return where(below, -inf_like(a[0]), internal::log1m_exp(where(below, 1, standard(a))));
  });
}
Array logsf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("expon.logsf", {x, loc, scale},
                   [](Values a) { return where(a[0] < a[1], 0, -standard(a)); });
}
Array ppf(const Array& q, const Array& loc, const Array& scale) {
  return pointwise("expon.ppf", {q, loc, scale}, [](Values a) {
    return where(outside_of_unit(a[0]), nan_like(a[0]), a[1] - a[2] * log1p(-a[0]));
  });
}
Array pdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("expon.pdf", {x, loc, scale},
                   [](Values a) { return exp(logpdf(a[0], a[1], a[2])); });
}
Array sf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("expon.sf", {x, loc, scale},
                   [](Values a) { return exp(logsf(a[0], a[1], a[2])); });
}
}  // namespace expon

namespace gumbel_l {
Array logpdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("gumbel_l.logpdf", {x, loc, scale}, [](Values a) {
    const Array z = standard(a);
    return if_scale(a, z - exp(z) - log(a[2]));
  });
}
Array logcdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("gumbel_l.logcdf", {x, loc, scale},
                   [](Values a) { return if_scale(a, internal::log1m_exp(exp(standard(a)))); });
}
Array cdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("gumbel_l.cdf", {x, loc, scale},
                   [](Values a) { return if_scale(a, -expm1(-exp(standard(a)))); });
}
Array logsf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("gumbel_l.logsf", {x, loc, scale},
                   [](Values a) { return if_scale(a, -exp(standard(a))); });
}
Array sf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("gumbel_l.sf", {x, loc, scale},
                   [](Values a) { return exp(logsf(a[0], a[1], a[2])); });
}
Array ppf(const Array& p, const Array& loc, const Array& scale) {
  return pointwise("gumbel_l.ppf", {p, loc, scale}, [](Values a) {
    const Array inside = (a[0] > 0) & (a[0] < 1), p = where(inside, a[0], 0.5);
    return where(inside, a[1] + a[2] * log(-log1p(-p)), nan_like(p));
  });
}
Array pdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("gumbel_l.pdf", {x, loc, scale},
                   [](Values a) { return exp(logpdf(a[0], a[1], a[2])); });
}
}  // namespace gumbel_l

namespace gumbel_r {
Array logpdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("gumbel_r.logpdf", {x, loc, scale}, [](Values a) {
    const Array z = standard(a);
    return if_scale(a, -(z + exp(-z)) - log(a[2]));
  });
}
Array logcdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("gumbel_r.logcdf", {x, loc, scale},
                   [](Values a) { return if_scale(a, -exp(-standard(a))); });
}
Array cdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("gumbel_r.cdf", {x, loc, scale},
                   [](Values a) { return exp(logcdf(a[0], a[1], a[2])); });
}
Array sf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("gumbel_r.sf", {x, loc, scale},
                   [](Values a) { return if_scale(a, -expm1(-exp(-standard(a)))); });
}
Array logsf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("gumbel_r.logsf", {x, loc, scale},
                   [](Values a) { return if_scale(a, internal::log1m_exp(exp(-standard(a)))); });
}
Array ppf(const Array& p, const Array& loc, const Array& scale) {
  return pointwise("gumbel_r.ppf", {p, loc, scale}, [](Values a) {
    const Array inside = (a[0] > 0) & (a[0] < 1), p = where(inside, a[0], 0.5);
    return where(inside, a[1] - a[2] * log(-log(p)), nan_like(p));
  });
}
Array pdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("gumbel_r.pdf", {x, loc, scale},
                   [](Values a) { return exp(logpdf(a[0], a[1], a[2])); });
}
}  // namespace gumbel_r

namespace laplace {
Array logpdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("laplace.logpdf", {x, loc, scale},
                   [](Values a) { return -(abs(a[0] - a[1]) / a[2] + log(2 * a[2])); });
}
Array cdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("laplace.cdf", {x, loc, scale}, [](Values a) {
    const Array z = standard(a), half = 0.5 * exp(-abs(z));
    return where(z < 0, half, 1 - half);
  });
}
Array pdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("laplace.pdf", {x, loc, scale},
                   [](Values a) { return exp(logpdf(a[0], a[1], a[2])); });
}
}  // namespace laplace

namespace logistic {
Array logpdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("logistic.logpdf", {x, loc, scale}, [](Values a) {
    const Array half = 0.5 * standard(a);
    return -2 * logaddexp(half, -half) - log(a[2]);
  });
}
Array cdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("logistic.cdf", {x, loc, scale}, [](Values a) { return sigmoid(standard(a)); });
}
Array sf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("logistic.sf", {x, loc, scale}, [](Values a) { return sigmoid(-standard(a)); });
}
Array ppf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("logistic.ppf", {x, loc, scale},
                   [](Values a) { return special::logit(a[0]) * a[2] + a[1]; });
}
Array isf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("logistic.isf", {x, loc, scale},
                   [](Values a) { return a[1] - special::logit(a[0]) * a[2]; });
}
Array pdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("logistic.pdf", {x, loc, scale},
                   [](Values a) { return exp(logpdf(a[0], a[1], a[2])); });
}
}  // namespace logistic

namespace uniform {
Array logpdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("uniform.logpdf", {x, loc, scale}, [](Values a) {
    const Array z = standard(a);
    const Array value = where((z < 0) | (z > 1), -inf_like(z), -log(a[2]));
    return where(isnan(z), nan_like(z), value);
  });
}
Array cdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("uniform.cdf", {x, loc, scale},
                   [](Values a) { return clip(standard(a), 0, 1); });
}
Array ppf(const Array& q, const Array& loc, const Array& scale) {
  return pointwise("uniform.ppf", {q, loc, scale}, [](Values a) {
    return where(outside_of_unit(a[0]), nan_like(a[0]), a[1] + a[2] * a[0]);
  });
}
Array pdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("uniform.pdf", {x, loc, scale},
                   [](Values a) { return exp(logpdf(a[0], a[1], a[2])); });
}
}  // namespace uniform

}  // namespace tessera::scipy::stats
