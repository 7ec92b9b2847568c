#include "tessera/scipy/stats/gaussian_kde.h"

#include <cmath>
#include <numbers>

#include "tessera/base/format.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/elementwise.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/linalg.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/ops/factor/triangular_solve.h"
#include "tessera/scipy/special.h"

namespace tessera::scipy::stats {

namespace kernel_density {
namespace {

Array points_of(const gaussian_kde& kde, const Array& given) {
  elementwise::expect_real("gaussian_kde", given);
  const Array points = atleast_2d(given);
  const int64_t d = kde.d();
  if (points.ndim() == 2 && points.shape()[0] == d) return points;
  if (points.ndim() == 2 && points.shape()[0] == 1 && points.shape()[1] == d)
    return reshape(points, {d, 1});
  shape_error("gaussian_kde",
              "expected points [{}, m] or one point [{}], got {}; the dimension stands first", d, d,
              describe(given.type()));
}

// Returns the logarithm of each kernel at each point, without the weights: [points, samples]. With
// inv_cov = L L^T, the quadratic form is a squared distance of points times L.
Array log_kernels(const gaussian_kde& kde, const Array& points) {
  const std::vector<Array> a =
      promote_dtypes(std::vector<Array>{kde.dataset, points, kde.inv_cov}, Promotion::kInexact);
  const Array whitening = linalg::cholesky(a[2]);
  const Array samples = matmul(transpose(a[0]), whitening), at = matmul(transpose(a[1]), whitening);
  const double d = static_cast<double>(kde.d());
  const Array norm =
      sum(log(linalg::diagonal(whitening))) - 0.5 * d * std::log(2 * std::numbers::pi);
  const Array distance = expand_dims(at, 1) - expand_dims(samples, 0);
  return norm - 0.5 * sum(square(distance), {.axis = -1});
}

// Returns for each of the means [d, m] the sum over the samples of weight times normal density,
// whose covariance is `cov`, of sample minus mean.
Array convolved(const gaussian_kde& kde, const Array& means, const Array& cov) {
  const Array lower = linalg::cholesky(cov);
  const auto solved = [&](const Array& x) {
    return lax::linalg::triangular_solve(lower, x, {.left_side = true, .lower = true});
  };
  const Array samples = solved(kde.dataset), at = solved(means);
  const Array distance = expand_dims(at, 2) - expand_dims(samples, 1);
  const Array squares = sum(square(distance), {.axis = 0});
  const double d = static_cast<double>(kde.d());
  const Array norm = std::pow(2 * std::numbers::pi, -0.5 * d) / prod(linalg::diagonal(lower));
  return norm * sum(exp(-0.5 * squares) * kde.weights, {.axis = -1});
}

}  // namespace
}  // namespace kernel_density

gaussian_kde::gaussian_kde(const Array& samples, const GaussianKdeOptions& options) {
  elementwise::expect_real("gaussian_kde", samples);
  const Array given = atleast_2d(samples);
  if (given.ndim() != 2 || given.size() < 2)
    shape_error("gaussian_kde", "expected several samples [dimensions, count], got {}; stack them",
                describe(samples.type()));
  const int64_t count = given.shape()[1];
  if (options.weights.defined()) {
    if (options.weights.shape() != Shape{count})
      shape_error("gaussian_kde", "expected {} weights, one for each sample, got {}; pass a vector",
                  count, describe(options.weights.type()));
    const std::vector<Array> both =
        promote_dtypes(std::vector<Array>{given, options.weights}, Promotion::kInexact);
    dataset = both[0];
    weights = both[1] / sum(both[1]);
  } else {
    dataset = promote(given, Promotion::kInexact);
    weights = full({count}, 1.0 / static_cast<double>(count), dataset.dtype());
  }
  if (options.factor && options.factor->ndim() != 0)
    shape_error("gaussian_kde", "expected a scalar factor, got {}; pass a number",
                describe(options.factor->type()));
  const Array squares = sum(square(weights));
  neff = 1 / squares;
  const double dimensions = static_cast<double>(given.shape()[0]), power = -1 / (dimensions + 4);
  const Array factor = options.factor ? *options.factor
                       : options.bw_method == Bandwidth::kScott
                           ? tessera::power(neff, power)
                           : tessera::power(neff * (dimensions + 2) / 4, power);
  const Array centered = dataset - expand_dims(sum(dataset * weights, {.axis = 1}), 1);
  const Array data_covariance = matmul(centered * weights, transpose(centered)) / (1 - squares);
  covariance = data_covariance * square(factor);
  inv_cov = linalg::inv(data_covariance) / square(factor);
}

Array gaussian_kde::evaluate(const Array& points) const {
  const Array kernels =
      kernel_density::log_kernels(*this, kernel_density::points_of(*this, points));
  return sum(exp(kernels) * weights, {.axis = -1});
}

Array gaussian_kde::logpdf(const Array& points) const {
  const Array kernels =
      kernel_density::log_kernels(*this, kernel_density::points_of(*this, points));
  return logsumexp(kernels + log(weights), {.axis = -1});
}

Array gaussian_kde::integrate_gaussian(const Array& mean, const Array& cov) const {
  const Array center = atleast_1d(squeeze(mean)), spread = atleast_2d(cov);
  if (center.shape() != Shape{d()} || spread.shape() != Shape{d(), d()})
    shape_error("gaussian_kde",
                "expected a mean [{}] and a covariance [{}, {}], got {} and {}; the dimension is "
                "that of the samples",
                d(), d(), d(), describe(mean.type()), describe(cov.type()));
  return squeeze(kernel_density::convolved(*this, expand_dims(center, 1), covariance + spread), 0);
}

Array gaussian_kde::integrate_box_1d(const Array& low, const Array& high) const {
  if (d() != 1)
    value_error("gaussian_kde",
                "expected samples of one dimension for integrate_box_1d, got {}; sum over "
                "resamples instead",
                d());
  if (low.ndim() != 0 || high.ndim() != 0)
    shape_error("gaussian_kde", "expected scalar limits, got {} and {}; use vmap for several",
                describe(low.type()), describe(high.type()));
  const Array sigma = squeeze(sqrt(covariance)), samples = index(dataset, {0});
  const Array mass =
      special::ndtr((high - samples) / sigma) - special::ndtr((low - samples) / sigma);
  return sum(weights * mass);
}

Array gaussian_kde::integrate_kde(const gaussian_kde& other) const {
  if (other.d() != d())
    value_error("gaussian_kde",
                "expected two densities of one dimension, got {} and {}; take the same components",
                d(), other.d());
  const Array each = kernel_density::convolved(*this, other.dataset, covariance + other.covariance);
  return sum(each * other.weights);
}

Array gaussian_kde::resample(const random::Key& key, const Shape& shape) const {
  const auto keys = random::split<2>(key);
  const Array picked = random::choice(keys[0], n(), shape, {.p = weights});
  const Array noise = random::multivariate_normal(keys[1], zeros({d()}, covariance.dtype()),
                                                  covariance, shape, dataset.dtype());
  return take(dataset, picked, {.axis = 1}) + moveaxis(noise, -1, 0);
}

}  // namespace tessera::scipy::stats
