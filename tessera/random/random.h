// Random numbers with jax.random's names, parameters and values: bits and uniforms equal JAX's bit
// for bit, normals to within 3 ulp. Each call takes a key (key.h) and a shape and is one program;
// the same key gives the same numbers, however they are sharded.
//
// Errors, of all: UserError for an array of keys where one key is expected, for dtypes that are not
// of the kind a function makes, and for parameters that do not broadcast to the shape.
#pragma once

#include <optional>

#include "tessera/numpy/creation.h"
#include "tessera/random/key.h"

namespace tessera::random {

// Uniform unsigned integers, default uint32 (uint64 where x64 is enabled).
Array bits(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});
// In [minval, maxval), which broadcast to the shape. Floating-point, default float32.
Array uniform(const Key& key, const Shape& shape = {}, OptionalDType dtype = {},
              const Array& minval = 0.0, const Array& maxval = 1.0);
// Integers in [minval, maxval), nearly unbiased; minval everywhere if that is empty. Default int32.
Array randint(const Key& key, const Shape& shape, const Array& minval, const Array& maxval,
              OptionalDType dtype = {});

// Mean 0, variance 1. Also complex: independent parts of variance 1/2.
Array normal(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});
// Of the normal distribution, the part in (lower, upper); without a shape that of the bounds.
Array truncated_normal(const Key& key, const Array& lower, const Array& upper,
                       std::optional<Shape> shape = {}, OptionalDType dtype = {});
Array exponential(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});
Array laplace(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});
Array gumbel(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});
Array logistic(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});
Array cauchy(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});

// true with probability p; without a shape that of p.
Array bernoulli(const Key& key, const Array& p = 0.5, std::optional<Shape> shape = {});
// 1 or -1, default int32.
Array rademacher(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});

struct CategoricalOptions {
  int64_t axis = -1;  // of the logits: the classes
  // Ends in the logits' shape without the axis; absent: is that.
  std::optional<Shape> shape = std::nullopt;
  // false: what stands before that in the shape are draws of different classes (UserError for more
  // of them than classes).
  bool replace = true;
};
// Class i with probability proportional to exp(logits[i]): default integers.
Array categorical(const Key& key, const Array& logits, const CategoricalOptions& options = {});

struct PermutationOptions {
  int64_t axis = 0;
  bool independent = false;  // every vector along the axis in an order of its own, else all in one
};
// x in random order along an axis.
Array permutation(const Key& key, const Array& x, const PermutationOptions& options = {});
// 0 ... n - 1 in random order.
template <std::integral I>
Array permutation(const Key& key, I n) {
  return permutation(key, arange(n));
}

// --- Of a parameter; without a shape that of the parameters, which broadcast to the shape. ---

// Of the gamma distribution with shape parameter a > 0 and scale 1 (0 for a = 0, NaN below about
// -0.7). Default float32. It moves with `a`: the derivative is that of the sample at a fixed key
// (implicit reparametrisation); by forward mode it can be differentiated once more.
Array gamma(const Key& key, const Array& a, std::optional<Shape> shape = {},
            OptionalDType dtype = {});
// Their logarithms, exact also where the samples themselves would be 0 (a << 1).
Array loggamma(const Key& key, const Array& a, std::optional<Shape> shape = {},
               OptionalDType dtype = {});
// On (0, 1), of density x^(a - 1) (1 - x)^(b - 1). Derivatives as gamma's.
Array beta(const Key& key, const Array& a, const Array& b, std::optional<Shape> shape = {},
           OptionalDType dtype = {});
// Probabilities of the classes that `alpha`'s last dimension has the concentrations of. The shape
// is that of the result without this dimension. Derivatives as gamma's.
Array dirichlet(const Key& key, const Array& alpha, std::optional<Shape> shape = {},
                OptionalDType dtype = {});
// How often something happens that happens `lam` times on average: default int32. -1 for a rate
// that is negative or NaN.
Array poisson(const Key& key, const Array& lam, std::optional<Shape> shape = {},
              OptionalDType dtype = {});
// Vectors of a mean (..., n) and a covariance (..., n, n), of which the lower Cholesky factor is
// taken; NaN where that is not positive definite. The shape is that of the result without its last
// dimension. The common inexact dtype of both by default; the covariance float32 or float64. It
// moves with mean and covariance.
Array multivariate_normal(const Key& key, const Array& mean, const Array& cov,
                          std::optional<Shape> shape = {}, OptionalDType dtype = {});

// --- Picked and arranged. ---

struct ChoiceOptions {
  bool replace = true;
  Array p = {};  // of each element, as a vector that sums to 1; absent: all alike
  int64_t axis = 0;
};
namespace internal {
Array choice_of_count(const Key& key, int64_t n, const Shape& shape, const ChoiceOptions& options);
}
// Elements of `a` along an axis, in place of which the shape stands. UserError for more draws than
// elements without replacement, and for p of another shape.
Array choice(const Key& key, const Array& a, const Shape& shape = {},
             const ChoiceOptions& options = {});
// Of 0 ... n - 1: default integers.
template <std::integral I>
Array choice(const Key& key, I n, const Shape& shape = {}, const ChoiceOptions& options = {}) {
  return internal::choice_of_count(key, static_cast<int64_t>(n), shape, options);
}

// Matrices [shape..., n, m], m absent: n, uniformly of those with orthonormal rows (n <= m) or
// columns (n >= m). float32 or float64, default float32.
Array orthogonal(const Key& key, int64_t n, const Shape& shape = {}, OptionalDType dtype = {},
                 std::optional<int64_t> m = {});

}  // namespace tessera::random
