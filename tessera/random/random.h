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
  std::optional<Shape> shape =
      std::nullopt;  // ends in the logits' shape without the axis; absent: is that
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

}  // namespace tessera::random
