// The distributions and statistics of jax.scipy.stats, by the same names. Each distribution is a
// namespace: scipy::stats::norm::logpdf(x, loc, scale).
//
// Arguments are arrays or C++ numbers; shapes broadcast. Integers are computed in float32 (in
// float64 if they have 64 bits), half precision in float32. As in JAX, logpdf and logpmf are -inf
// outside of the support, and a parameter outside of its domain gives NaN. All have derivatives by
// the point and by every continuous parameter. Complex arguments throw UserError.
//
// tessera/tessera.h does not include this header.
#pragma once

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"
#include "tessera/scipy/stats/gaussian_kde.h"

namespace tessera::scipy::stats {

// --- Continuous distributions ---

namespace beta {
Array logpdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
             const Array& scale = 1);
Array pdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
          const Array& scale = 1);
Array cdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
          const Array& scale = 1);
Array logcdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
             const Array& scale = 1);
Array sf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
         const Array& scale = 1);
Array logsf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
            const Array& scale = 1);
}  // namespace beta

namespace cauchy {
Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array logcdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array logsf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array ppf(const Array& q, const Array& loc = 0, const Array& scale = 1);
Array isf(const Array& q, const Array& loc = 0, const Array& scale = 1);
}  // namespace cauchy

namespace chi2 {
Array logpdf(const Array& x, const Array& df, const Array& loc = 0, const Array& scale = 1);
Array pdf(const Array& x, const Array& df, const Array& loc = 0, const Array& scale = 1);
Array cdf(const Array& x, const Array& df, const Array& loc = 0, const Array& scale = 1);
Array logcdf(const Array& x, const Array& df, const Array& loc = 0, const Array& scale = 1);
Array sf(const Array& x, const Array& df, const Array& loc = 0, const Array& scale = 1);
Array logsf(const Array& x, const Array& df, const Array& loc = 0, const Array& scale = 1);
}  // namespace chi2

// The components of x are along its first axis: as many as alpha has, or one fewer, since their sum
// is 1. Throws UserError if alpha is not a vector and for other numbers of components.
namespace dirichlet {
Array logpdf(const Array& x, const Array& alpha);
Array pdf(const Array& x, const Array& alpha);
}  // namespace dirichlet

namespace expon {
Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array logcdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array logsf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array ppf(const Array& q, const Array& loc = 0, const Array& scale = 1);
}  // namespace expon

namespace gamma {
Array logpdf(const Array& x, const Array& a, const Array& loc = 0, const Array& scale = 1);
Array pdf(const Array& x, const Array& a, const Array& loc = 0, const Array& scale = 1);
Array cdf(const Array& x, const Array& a, const Array& loc = 0, const Array& scale = 1);
Array logcdf(const Array& x, const Array& a, const Array& loc = 0, const Array& scale = 1);
Array sf(const Array& x, const Array& a, const Array& loc = 0, const Array& scale = 1);
Array logsf(const Array& x, const Array& a, const Array& loc = 0, const Array& scale = 1);
}  // namespace gamma

namespace gennorm {
Array logpdf(const Array& x, const Array& beta);
Array pdf(const Array& x, const Array& beta);
Array cdf(const Array& x, const Array& beta);
}  // namespace gennorm

namespace gumbel_l {
Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array logcdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array logsf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array ppf(const Array& p, const Array& loc = 0, const Array& scale = 1);
}  // namespace gumbel_l

namespace gumbel_r {
Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array logcdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array logsf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array ppf(const Array& p, const Array& loc = 0, const Array& scale = 1);
}  // namespace gumbel_r

namespace laplace {
Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
}  // namespace laplace

namespace logistic {
Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array ppf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array isf(const Array& x, const Array& loc = 0, const Array& scale = 1);
}  // namespace logistic

// The components of x and mean are along their last axis. cov is a matrix, a number (times the
// identity), or, for a mean that is a number, the variance. Dimensions before these broadcast.
// Throws UserError for a cov of another shape.
namespace multivariate_normal {
Array logpdf(const Array& x, const Array& mean, const Array& cov);
Array pdf(const Array& x, const Array& mean, const Array& cov);
}  // namespace multivariate_normal

namespace norm {
Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array logcdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array logsf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array ppf(const Array& q, const Array& loc = 0, const Array& scale = 1);
Array isf(const Array& q, const Array& loc = 0, const Array& scale = 1);
}  // namespace norm

namespace pareto {
Array logpdf(const Array& x, const Array& b, const Array& loc = 0, const Array& scale = 1);
Array pdf(const Array& x, const Array& b, const Array& loc = 0, const Array& scale = 1);
Array cdf(const Array& x, const Array& b, const Array& loc = 0, const Array& scale = 1);
Array logcdf(const Array& x, const Array& b, const Array& loc = 0, const Array& scale = 1);
Array sf(const Array& x, const Array& b, const Array& loc = 0, const Array& scale = 1);
Array logsf(const Array& x, const Array& b, const Array& loc = 0, const Array& scale = 1);
Array ppf(const Array& q, const Array& b, const Array& loc = 0, const Array& scale = 1);
}  // namespace pareto

namespace t {
Array logpdf(const Array& x, const Array& df, const Array& loc = 0, const Array& scale = 1);
Array pdf(const Array& x, const Array& df, const Array& loc = 0, const Array& scale = 1);
}  // namespace t

// The normal distribution restricted to loc + a scale, ..., loc + b scale.
namespace truncnorm {
Array logpdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
             const Array& scale = 1);
Array pdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
          const Array& scale = 1);
Array cdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
          const Array& scale = 1);
Array logcdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
             const Array& scale = 1);
Array sf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
         const Array& scale = 1);
Array logsf(const Array& x, const Array& a, const Array& b, const Array& loc = 0,
            const Array& scale = 1);
}  // namespace truncnorm

namespace uniform {
Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1);
Array ppf(const Array& q, const Array& loc = 0, const Array& scale = 1);
}  // namespace uniform

namespace vonmises {
Array logpdf(const Array& x, const Array& kappa);
Array pdf(const Array& x, const Array& kappa);
}  // namespace vonmises

namespace wrapcauchy {
Array logpdf(const Array& x, const Array& c);
Array pdf(const Array& x, const Array& c);
}  // namespace wrapcauchy

// --- Discrete distributions ---

namespace bernoulli {
Array logpmf(const Array& k, const Array& p, const Array& loc = 0);
Array pmf(const Array& k, const Array& p, const Array& loc = 0);
Array cdf(const Array& k, const Array& p);
Array ppf(const Array& q, const Array& p);
}  // namespace bernoulli

namespace betabinom {
Array logpmf(const Array& k, const Array& n, const Array& a, const Array& b, const Array& loc = 0);
Array pmf(const Array& k, const Array& n, const Array& a, const Array& b, const Array& loc = 0);
}  // namespace betabinom

namespace binom {
Array logpmf(const Array& k, const Array& n, const Array& p, const Array& loc = 0);
Array pmf(const Array& k, const Array& n, const Array& p, const Array& loc = 0);
}  // namespace binom

namespace geom {
Array logpmf(const Array& k, const Array& p, const Array& loc = 0);
Array pmf(const Array& k, const Array& p, const Array& loc = 0);
}  // namespace geom

// The counts are along x's last axis. Throws UserError if x or n are not integers.
namespace multinomial {
Array logpmf(const Array& x, const Array& n, const Array& p);
Array pmf(const Array& x, const Array& n, const Array& p);
}  // namespace multinomial

namespace nbinom {
Array logpmf(const Array& k, const Array& n, const Array& p, const Array& loc = 0);
Array pmf(const Array& k, const Array& n, const Array& p, const Array& loc = 0);
}  // namespace nbinom

namespace poisson {
Array logpmf(const Array& k, const Array& mu, const Array& loc = 0);
Array pmf(const Array& k, const Array& mu, const Array& loc = 0);
Array cdf(const Array& k, const Array& mu, const Array& loc = 0);
Array entropy(const Array& mu, const Array& loc = 0);
}  // namespace poisson

// --- Statistics ---

struct ModeOptions {
  OrNone<int64_t> axis = int64_t{0};  // None: of all elements
  bool keepdims = false;
};
struct ModeResult {
  Array mode, count;
};
// Returns the most frequent element, and how often it occurs: the smallest if there are several;
// NaNs count as equal. For no elements it returns NaN and 0.
ModeResult mode(const Array& a, const ModeOptions& options = {});

// The rank of equal elements: the mean, the smallest or the largest of their positions; a rank that
// counts only distinct elements; or different ranks, in their order.
enum class RankMethod : uint8_t { kAverage, kMin, kMax, kDense, kOrdinal };
struct RankdataOptions {
  OrNone<int64_t> axis = std::nullopt;  // None: of all elements, as a vector
};
// Returns the ranks of the elements from 1 on, in the default floating-point dtype. They are NaN if
// an element is.
Array rankdata(const Array& a, RankMethod method = RankMethod::kAverage,
               const RankdataOptions& options = {});

enum class NanPolicy : uint8_t { kPropagate, kOmit };
struct SemOptions {
  OrNone<int64_t> axis = int64_t{0};
  double ddof = 1;
  NanPolicy nan_policy = NanPolicy::kPropagate;
  bool keepdims = false;
};
// Returns the standard error of the mean: the standard deviation divided by the square root of the
// count.
Array sem(const Array& a, const SemOptions& options = {});

}  // namespace tessera::scipy::stats
