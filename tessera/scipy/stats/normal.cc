// Normal distributions: of one variable, truncated, and of several variables.
#include <cmath>
#include <numbers>

#include "tessera/base/format.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/elementwise.h"
#include "tessera/numpy/linalg.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/ops/factor/triangular_solve.h"
#include "tessera/scipy/pointwise.h"
#include "tessera/scipy/special.h"
#include "tessera/scipy/stats.h"
#include "tessera/scipy/stats/densities.h"

namespace tessera::scipy::stats {

using namespace scipy::internal;

namespace {
using Values = std::span<const Array>;
constexpr double kLogTwoPi = 1.8378770664093454836;
}  // namespace

namespace norm {
Array logpdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("norm.logpdf", {x, loc, scale}, [](Values a) {
    const Array z = (a[0] - a[1]) / a[2];
    return -0.5 * (kLogTwoPi + z * z) - log(abs(a[2]));
  });
}
Array cdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("norm.cdf", {x, loc, scale},
                   [](Values a) { return special::ndtr((a[0] - a[1]) / a[2]); });
}
Array logcdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("norm.logcdf", {x, loc, scale},
                   [](Values a) { return special::log_ndtr((a[0] - a[1]) / a[2]); });
}
Array sf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("norm.sf", {x, loc, scale},
                   [](Values a) { return special::ndtr((a[1] - a[0]) / a[2]); });
}
Array logsf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("norm.logsf", {x, loc, scale},
                   [](Values a) { return special::log_ndtr((a[1] - a[0]) / a[2]); });
}
Array ppf(const Array& q, const Array& loc, const Array& scale) {
  return pointwise("norm.ppf", {q, loc, scale},
                   [](Values a) { return special::ndtri(a[0]) * a[2] + a[1]; });
}
Array isf(const Array& q, const Array& loc, const Array& scale) {
  return pointwise("norm.isf", {q, loc, scale},
                   [](Values a) { return a[1] - special::ndtri(a[0]) * a[2]; });
}
Array pdf(const Array& x, const Array& loc, const Array& scale) {
  return pointwise("norm.pdf", {x, loc, scale},
                   [](Values a) { return exp(logpdf(a[0], a[1], a[2])); });
}
}  // namespace norm

namespace truncnorm {
namespace {

// Returns the logarithm of the mass of the normal distribution between a < b. If both are in one
// tail, it uses logarithms of the distribution function, which do not underflow; otherwise the mass
// outside of [a, b].
Array log_mass(const Array& a, const Array& b) {
  const Array left = b <= 0, right = a > 0, central = ~(left | right);
  const Array low = where(right, -b, where(central, -2, a));
  const Array high = where(right, -a, where(central, -1, b));
  const Array upper = special::log_ndtr(high), lower = special::log_ndtr(low);
  const Array distance = where(lower == -inf_like(lower), inf_like(lower), upper - lower);
  const Array tail = upper + internal::log1m_exp(distance);
  const Array middle =
      log1p(-special::ndtr(where(central, a, -1)) - special::ndtr(-where(central, b, 1)));
  return where(central, middle, tail);
}

// Returns the logarithm of the distribution function of (x, a, b) for a standard x.
Array log_distribution(const Array& x, const Array& a, const Array& b) {
  const Array inside = (x > a) & (x < b) & (a < b);
  const Array ua = where(inside, a, -1), ub = where(inside, b, 1), ux = where(inside, x, 0);
  const Array mass = log_mass(ua, ub);
  const Array below = log_mass(ua, ux) - mass, above = log_mass(ux, ub) - mass;
  const Array near_one = below > -0.1;
  const Array value = where(near_one, log1p(-exp(where(near_one, above, -1))), below);
  const Array end = where(x >= b, 0, where(x <= a, -inf_like(x), nan_like(x)));
  return where(a < b, where(inside, value, end), nan_like(x));
}

}  // namespace
Array logpdf(const Array& x, const Array& a, const Array& b, const Array& loc, const Array& scale) {
  return pointwise("truncnorm.logpdf", {x, a, b, loc, scale}, [](Values v) {
    const Array z = (v[0] - v[3]) / v[4], valid = v[1] < v[2];
    const Array mass = log_mass(where(valid, v[1], -1), where(valid, v[2], 1));
    const Array value = norm::logpdf(v[0], v[3], v[4]) - mass;
    const Array outside = (z < v[1]) | (z > v[2]);
    return where(valid, where(outside, -inf_like(z), value), nan_like(z));
  });
}
Array logcdf(const Array& x, const Array& a, const Array& b, const Array& loc, const Array& scale) {
  return pointwise("truncnorm.logcdf", {x, a, b, loc, scale},
                   [](Values v) { return log_distribution((v[0] - v[3]) / v[4], v[1], v[2]); });
}
Array logsf(const Array& x, const Array& a, const Array& b, const Array& loc, const Array& scale) {
  return pointwise("truncnorm.logsf", {x, a, b, loc, scale},
                   [](Values v) { return log_distribution((v[3] - v[0]) / v[4], -v[2], -v[1]); });
}
Array pdf(const Array& x, const Array& a, const Array& b, const Array& loc, const Array& scale) {
  return pointwise("truncnorm.pdf", {x, a, b, loc, scale},
                   [](Values v) { return exp(logpdf(v[0], v[1], v[2], v[3], v[4])); });
}
Array cdf(const Array& x, const Array& a, const Array& b, const Array& loc, const Array& scale) {
  return pointwise("truncnorm.cdf", {x, a, b, loc, scale},
                   [](Values v) { return exp(logcdf(v[0], v[1], v[2], v[3], v[4])); });
}
Array sf(const Array& x, const Array& a, const Array& b, const Array& loc, const Array& scale) {
  return pointwise("truncnorm.sf", {x, a, b, loc, scale},
                   [](Values v) { return exp(logsf(v[0], v[1], v[2], v[3], v[4])); });
}
}  // namespace truncnorm

namespace multivariate_normal {
namespace {

// Returns the log density of vectors along the last axis with a covariance matrix. With cov = L L^T
// and L y = x - mean, it is -(y^T y + n log(2 pi)) / 2 - log det L.
Array of_matrix(const Array& x, const Array& mean, const Array& cov) {
  const int64_t n = mean.shape().back();
  const Array lower = linalg::cholesky(cov);
  const Array distance = x - mean;
  const auto without = [](const Shape& shape, int count) {
    return Shape(shape.begin(), shape.end() - count);
  };
  const Shape batch =
      broadcast_shapes("multivariate_normal.logpdf",
                       std::vector<Shape>{without(distance.shape(), 1), without(cov.shape(), 2)});
  Shape vectors = batch, matrices = batch;
  vectors.push_back(n);
  matrices.push_back(n);
  matrices.push_back(n);
  const Array y = lax::linalg::triangular_solve(broadcast_to(lower, matrices),
                                                expand_dims(broadcast_to(distance, vectors), -1),
                                                {.left_side = true, .lower = true});
  const Array log_det = sum(log(linalg::diagonal(lower)), {.axis = -1});
  const Array squares = sum(square(squeeze(y, -1)), {.axis = -1});
  return -0.5 * (squares + static_cast<double>(n) * kLogTwoPi) - log_det;
}

Array log_density(Values arguments) {
  const std::vector<Array> a = promote_dtypes(arguments, Promotion::kInexact);
  const Array &x = a[0], &mean = a[1], &cov = a[2];
  elementwise::expect_real("multivariate_normal.logpdf", x);
  if (mean.ndim() == 0) return -0.5 * (square(x - mean) / cov + kLogTwoPi + log(cov));
  const int64_t n = mean.shape().back();
  if (cov.ndim() == 0) {
    const Array squares = sum(square(x - mean), {.axis = -1});
    return -0.5 * (squares / cov + static_cast<double>(n) * (kLogTwoPi + log(cov)));
  }
  if (cov.ndim() < 2 || cov.shape()[cov.ndim() - 1] != n || cov.shape()[cov.ndim() - 2] != n)
    shape_error("multivariate_normal.logpdf",
                "expected a covariance [..., {}, {}] for the mean {}, got {}; pass a square matrix "
                "of the mean's length, or a number",
                n, n, describe(mean.type()), describe(cov.type()));
  return of_matrix(x, mean, cov);
}

}  // namespace
Array logpdf(const Array& x, const Array& mean, const Array& cov) {
  return composite("multivariate_normal.logpdf", {}, {x, mean, cov},
                   [](const ir::NoParams&, Values a) { return log_density(a); });
}
Array pdf(const Array& x, const Array& mean, const Array& cov) {
  return composite("multivariate_normal.pdf", {}, {x, mean, cov},
                   [](const ir::NoParams&, Values a) { return exp(log_density(a)); });
}
}  // namespace multivariate_normal

}  // namespace tessera::scipy::stats
