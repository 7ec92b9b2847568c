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

// Returns uniform unsigned integers, by default uint32 (uint64 where x64 is enabled).
Array bits(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});
// Returns uniform numbers in [minval, maxval), which broadcast to the shape. Floating-point, by
// default float32.
Array uniform(const Key& key, const Shape& shape = {}, OptionalDType dtype = {},
              const Array& minval = 0.0, const Array& maxval = 1.0);
// Returns integers in [minval, maxval), nearly unbiased; minval if that is empty. By default int32.
Array randint(const Key& key, const Shape& shape, const Array& minval, const Array& maxval,
              OptionalDType dtype = {});

// Returns numbers of mean 0 and variance 1; for complex dtypes, of independent parts of variance
// 1/2.
Array normal(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});
// Returns numbers of the normal distribution restricted to (lower, upper); without a shape it is
// that of the bounds.
Array truncated_normal(const Key& key, const Array& lower, const Array& upper,
                       std::optional<Shape> shape = {}, OptionalDType dtype = {});
Array exponential(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});
Array laplace(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});
Array gumbel(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});
Array logistic(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});
Array cauchy(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});

// Returns true with probability p; without a shape it is that of p.
Array bernoulli(const Key& key, const Array& p = 0.5, std::optional<Shape> shape = {});
// Returns 1 or -1, by default int32.
Array rademacher(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});

struct CategoricalOptions {
  int64_t axis = -1;  // the dimension of the logits that has the classes
  // Ends with the logits' shape without the axis; if absent, it is just that.
  std::optional<Shape> shape = std::nullopt;
  // If false, draws along the dimensions before that are of different classes (UserError for more
  // draws than classes).
  bool replace = true;
};
// Returns class i with probability proportional to exp(logits[i]), as default integers.
Array categorical(const Key& key, const Array& logits, const CategoricalOptions& options = {});

struct PermutationOptions {
  int64_t axis = 0;
  // true: each vector along the axis is permuted by itself, otherwise all in the same way
  bool independent = false;
};
// Returns x in random order along an axis.
Array permutation(const Key& key, const Array& x, const PermutationOptions& options = {});
// Returns 0 ... n - 1 in random order.
template <std::integral I>
Array permutation(const Key& key, I n) {
  return permutation(key, arange(n));
}

// --- With parameters; the shape is by default that to which these broadcast. ---

// Returns numbers of the gamma distribution with shape parameter a > 0 and scale 1 (0 for a = 0,
// NaN below about -0.7). By default float32. The derivative with respect to `a` is that of the
// sample at a fixed key (implicit reparametrisation); in forward mode it can be differentiated once
// more.
Array gamma(const Key& key, const Array& a, std::optional<Shape> shape = {},
            OptionalDType dtype = {});
// Returns their logarithms, which are exact even where the samples themselves would be 0 (a << 1).
Array loggamma(const Key& key, const Array& a, std::optional<Shape> shape = {},
               OptionalDType dtype = {});
// Returns numbers in (0, 1) with density x^(a - 1) (1 - x)^(b - 1). Derivatives are as gamma's.
Array beta(const Key& key, const Array& a, const Array& b, std::optional<Shape> shape = {},
           OptionalDType dtype = {});
// Returns probabilities of classes, whose concentrations are in the last dimension of `alpha`. The
// shape is that of the result without this dimension. Derivatives are as gamma's.
Array dirichlet(const Key& key, const Array& alpha, std::optional<Shape> shape = {},
                OptionalDType dtype = {});
// Returns the number of occurrences of an event that occurs `lam` times on average, by default
// int32; -1 for a rate that is negative or NaN.
Array poisson(const Key& key, const Array& lam, std::optional<Shape> shape = {},
              OptionalDType dtype = {});
// Returns vectors of a normal distribution with a mean (..., n) and a covariance (..., n, n), whose
// lower Cholesky factor is used; NaN where that is not positive definite. The shape is that of the
// result without its last dimension. The dtype is by default the common inexact one of both; the
// covariance is float32 or float64. It has derivatives with respect to mean and covariance.
Array multivariate_normal(const Key& key, const Array& mean, const Array& cov,
                          std::optional<Shape> shape = {}, OptionalDType dtype = {});

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
// Returns elements of `a` along an axis, which the shape replaces. Throws UserError for more draws
// than elements without replacement, and for p of another shape.
Array choice(const Key& key, const Array& a, const Shape& shape = {},
             const ChoiceOptions& options = {});
// Returns elements of 0 ... n - 1, as default integers.
template <std::integral I>
Array choice(const Key& key, I n, const Shape& shape = {}, const ChoiceOptions& options = {}) {
  return internal::choice_of_count(key, static_cast<int64_t>(n), shape, options);
}

// Returns matrices [shape..., n, m] (m is n if absent), uniform among those with orthonormal rows
// (n <= m) or columns (n >= m). float32 or float64, by default float32.
Array orthogonal(const Key& key, int64_t n, const Shape& shape = {}, OptionalDType dtype = {},
                 std::optional<int64_t> m = {});

}  // namespace tessera::random
