// Density estimates by normal kernels: jax.scipy.stats.gaussian_kde.
//
//   const scipy::stats::gaussian_kde kde(samples);   // samples: [dimensions, count], or a vector
//   Array density = kde.pdf(points);                 // points: [dimensions, number]
#pragma once

#include <optional>

#include "tessera/ir/array.h"
#include "tessera/random/random.h"

namespace tessera::scipy::stats {

// The rule by which the width of kernels follows from the number of samples (D. Scott,
// "Multivariate Density Estimation", 1992; B. Silverman, "Density Estimation", 1986).
enum class Bandwidth : uint8_t { kScott, kSilverman };

struct GaussianKdeOptions {
  Bandwidth bw_method = Bandwidth::kScott;
  std::optional<Array> factor = std::nullopt;  // the width itself, a scalar, in place of bw_method
  Array weights = {};                          // of the samples; absent: all equal
};

// A density estimate. It is a tree of arrays, so jit, grad and vmap accept it.
struct gaussian_kde {
  Array neff;        // the effective number of samples
  Array dataset;     // [d, n]
  Array weights;     // [n], with the sum 1
  Array covariance;  // of the kernel, [d, d]
  Array inv_cov;

  gaussian_kde() = default;
  // Throws UserError for complex samples, for fewer than two, if weights are not a vector with one
  // element for each sample, and if factor is not a scalar.
  explicit gaussian_kde(const Array& dataset, const GaussianKdeOptions& options = {});

  int64_t d() const { return dataset.shape()[0]; }
  int64_t n() const { return dataset.shape()[1]; }

  // Returns the density at each of the points [d, m]. A vector is points of one dimension, or one
  // point. Throws UserError for points of another dimension.
  Array evaluate(const Array& points) const;
  Array pdf(const Array& points) const { return evaluate(points); }
  Array logpdf(const Array& points) const;

  // Returns the integral of the density times a normal density. Throws UserError for other shapes
  // than [d] and [d, d].
  Array integrate_gaussian(const Array& mean, const Array& cov) const;
  // Returns the mass between two scalars, for one dimension. Throws UserError for several.
  Array integrate_box_1d(const Array& low, const Array& high) const;
  // Returns the integral of the product of two densities. Throws UserError for another dimension.
  Array integrate_kde(const gaussian_kde& other) const;

  // Returns samples [d, shape...] of the density.
  Array resample(const random::Key& key, const Shape& shape = {}) const;
};

}  // namespace tessera::scipy::stats
