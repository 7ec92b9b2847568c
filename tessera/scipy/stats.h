// The distributions and statistics of jax.scipy.stats, by the same names: a namespace for each
// distribution, as scipy::stats::norm::logpdf(x, loc, scale).
//
// Arguments are arrays or C++ numbers; integers compute in float32 (in float64 if they have 64
// bits), and shapes broadcast. Half precision computes in float32. logpdf and logpmf are -inf
// outside of the support, and a parameter outside of its domain gives NaN, both as in JAX. All have
// derivatives by the point and by every continuous parameter. Complex arguments are a UserError.
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

// x has the components along its first axis: as many as alpha, or one fewer, which the sum of 1
// gives. UserError for alpha other than a vector and for other numbers of components.
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

// x and mean have the components along their last axis; cov is a matrix, a number (times the
// identity), or, for a mean that is a number, the variance. Shapes broadcast in front of these.
// UserError for a cov of another shape.
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

// The normal distribution between loc + a scale and loc + b scale.
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

// x has the counts along its last axis. UserError for x or n other than integers.
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
// The most frequent element (the smallest of several, and of NaNs all count as one) and how often it
// is there. Of nothing: NaN and 0.
ModeResult mode(const Array& a, const ModeOptions& options = {});

// What equal elements have: the mean, the smallest or the largest of their ranks; ranks that count
// distinct elements only; or ranks of their own, in their order.
enum class RankMethod : uint8_t { kAverage, kMin, kMax, kDense, kOrdinal };
struct RankdataOptions {
  OrNone<int64_t> axis = std::nullopt;  // None: of all elements, as a vector
};
// The ranks of the elements from 1 on, of the default floating-point dtype; NaN where one element is.
Array rankdata(const Array& a, RankMethod method = RankMethod::kAverage,
               const RankdataOptions& options = {});

enum class NanPolicy : uint8_t { kPropagate, kOmit };
struct SemOptions {
  OrNone<int64_t> axis = int64_t{0};
  double ddof = 1;
  NanPolicy nan_policy = NanPolicy::kPropagate;
  bool keepdims = false;
};
// The standard error of the mean: the standard deviation divided by the square root of the count.
Array sem(const Array& a, const SemOptions& options = {});

}  // namespace tessera::scipy::stats
