// Random numbers with jax.random's names, parameters and values: bits and uniforms equal JAX's bit
// for bit, normals to within 3 ulp. Each call takes a key (key.h) and a shape and is one program;
// the same key results in the same numbers, however they are sharded.
//
// All functions throw UserError for an array of keys where one key is expected, for dtypes that are
// not of the kind that they return, and for parameters that do not broadcast to the shape.
#pragma once

#include <optional>

#include "tessera/numpy/creation.h"
#include "tessera/random/key.h"

namespace tessera::random {

// Returns uniform unsigned integers, by default uint32 (uint64 if x64 is enabled).
Array bits(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});
// Returns uniform numbers in [minval, maxval), which broadcast to the shape. The dtype is by
// default float32.
Array uniform(const Key& key, const Shape& shape = {}, OptionalDType dtype = {},
              const Array& minval = 0.0, const Array& maxval = 1.0);
// Returns nearly unbiased integers in [minval, maxval), or minval if that range is empty. The dtype
// is by default int32.
Array randint(const Key& key, const Shape& shape, const Array& minval, const Array& maxval,
              OptionalDType dtype = {});

// Returns numbers of mean 0 and variance 1. Complex ones have independent parts of variance 1/2.
Array normal(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});
// Returns numbers of the normal distribution restricted to (lower, upper). Without a shape the
// result has the shape to which the bounds broadcast.
Array truncated_normal(const Key& key, const Array& lower, const Array& upper,
                       OrNone<Shape> shape = {}, OptionalDType dtype = {});
Array exponential(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});
Array laplace(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});
Array gumbel(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});
Array logistic(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});
Array cauchy(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});

// Returns true with probability p. Without a shape the result has p's.
Array bernoulli(const Key& key, const Array& p = 0.5, OrNone<Shape> shape = {});
// Returns 1 or -1, by default int32.
Array rademacher(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});

struct CategoricalOptions {
  int64_t axis = -1;  // the dimension of the logits that has the classes
  // Must end with the logits' shape without the axis; absent: just that.
  OrNone<Shape> shape = std::nullopt;
  // If false, the draws along the leading dimensions have distinct classes. Throws UserError for
  // more draws than classes.
  bool replace = true;
};
// Returns class i with probability proportional to exp(logits[i]), as default integers.
Array categorical(const Key& key, const Array& logits, const CategoricalOptions& options = {});

struct PermutationOptions {
  int64_t axis = 0;
  // true: each vector along the axis is permuted by itself; false: all in the same order
  bool independent = false;
};
// Returns x in random order along an axis.
Array permutation(const Key& key, const Array& x, const PermutationOptions& options = {});
// Returns 0 ... n - 1 in random order.
template <std::integral I>
Array permutation(const Key& key, I n) {
  return permutation(key, arange(n));
}

// --- With parameters. The shape is by default the one to which these broadcast. ---

// Returns numbers of the gamma distribution with shape parameter a > 0 and scale 1 (0 for a = 0,
// NaN below about -0.7). By default float32. The derivative with respect to `a` is that of the
// sample at a fixed key (implicit reparametrisation); in forward mode it can be differentiated once
// more.
Array gamma(const Key& key, const Array& a, OrNone<Shape> shape = {}, OptionalDType dtype = {});
// Returns the logarithms of such numbers, which are exact even if the numbers themselves would
// underflow to 0 (a << 1).
Array loggamma(const Key& key, const Array& a, OrNone<Shape> shape = {}, OptionalDType dtype = {});
// Returns numbers in (0, 1) with density proportional to x^(a - 1) (1 - x)^(b - 1). Derivatives are
// as for gamma.
Array beta(const Key& key, const Array& a, const Array& b, OrNone<Shape> shape = {},
           OptionalDType dtype = {});
// Returns probabilities of classes. The last dimension of `alpha` has the concentrations of the
// classes. The shape is that of the result without this dimension. Derivatives are as for gamma.
Array dirichlet(const Key& key, const Array& alpha, OrNone<Shape> shape = {},
                OptionalDType dtype = {});
// Returns the number of occurrences of an event that occurs `lam` times on average, by default
// int32. It is -1 if the rate is negative or NaN.
Array poisson(const Key& key, const Array& lam, OrNone<Shape> shape = {}, OptionalDType dtype = {});
// Returns vectors of a normal distribution with mean (..., n) and covariance (..., n, n), computed
// by the lower Cholesky factor. They are NaN if the covariance is not positive definite. The shape
// is that of the result without its last dimension. The dtype is by default the common inexact one
// of both; the covariance is float32 or float64. The result has derivatives with respect to mean
// and covariance.
Array multivariate_normal(const Key& key, const Array& mean, const Array& cov,
                          OrNone<Shape> shape = {}, OptionalDType dtype = {});

// --- Random choices and matrices. ---

struct ChoiceOptions {
  bool replace = true;
  // the probability of each element, as a vector that sums to 1; absent: equal probabilities
  Array p = {};
  int64_t axis = 0;
};
namespace internal {
Array choice_of_count(const Key& key, int64_t n, const Shape& shape, const ChoiceOptions& options);
}
// Returns elements of `a` along an axis, which is replaced by the shape. Throws UserError for more
// draws than elements without replacement, and for p of another shape.
Array choice(const Key& key, const Array& a, const Shape& shape = {},
             const ChoiceOptions& options = {});
// Returns elements of 0 ... n - 1 as default integers.
template <std::integral I>
Array choice(const Key& key, I n, const Shape& shape = {}, const ChoiceOptions& options = {}) {
  return internal::choice_of_count(key, static_cast<int64_t>(n), shape, options);
}

// Returns matrices [shape..., n, m] (m is n if absent), uniformly distributed among those with
// orthonormal rows (n <= m) or columns (n >= m). The dtype is float32 (the default) or float64.
Array orthogonal(const Key& key, int64_t n, const Shape& shape = {}, OptionalDType dtype = {},
                 std::optional<int64_t> m = {});

}  // namespace tessera::random
