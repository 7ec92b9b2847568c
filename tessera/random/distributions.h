// Further distributions of jax.random, computed from the samplers of random.h. The same key results
// in JAX's numbers to a few units in the last place. If a comparison is decided by those last
// places, another candidate may be accepted.
//
// Without a shape the result has the shape to which the parameters broadcast. The dtype is by
// default float32 (float64 if x64 is enabled). Derivatives of samples by their parameters are
// JAX's. All functions throw UserError for dtypes that are not floating-point (for geometric: not
// integer), for complex parameters, and for parameters that do not broadcast to the shape.
#pragma once

#include "tessera/random/random.h"

namespace tessera::random {

// Returns points in the ball |x|_p <= 1 of d dimensions: [shape..., d]. Throws UserError for d < 1.
Array ball(const Key& key, int64_t d, double p = 2, const Shape& shape = {},
           OptionalDType dtype = {});
// Returns the number of successes in n trials, each with probability p, as floats. It is NaN if n
// or p is negative or NaN.
Array binomial(const Key& key, const Array& n, const Array& p, OrNone<Shape> shape = {},
               OptionalDType dtype = {});
// Returns how many of n trials fall into each class, as floats. The last dimension of p has the
// probabilities of the classes. The shape is that of the result.
Array multinomial(const Key& key, const Array& n, const Array& p, OrNone<Shape> shape = {},
                  OptionalDType dtype = {});
// Draws from the distribution with df degrees of freedom.
Array chisquare(const Key& key, const Array& df, OrNone<Shape> shape = {},
                OptionalDType dtype = {});
// Draws from the distribution of the ratio of two chisquare samples, each divided by its degrees of
// freedom.
Array f(const Key& key, const Array& dfnum, const Array& dfden, OrNone<Shape> shape = {},
        OptionalDType dtype = {});
// Draws from Student's distribution with df degrees of freedom.
Array t(const Key& key, const Array& df, OrNone<Shape> shape = {}, OptionalDType dtype = {});
// Returns the lengths of vectors of three independent normal numbers.
Array maxwell(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});
// Returns the same with a random sign, times scale, plus loc. As in JAX the result has the shape
// [shape..., the parameters' shape...]; without a shape, it has the parameters' shape twice.
Array double_sided_maxwell(const Key& key, const Array& loc, const Array& scale,
                           const Shape& shape = {}, OptionalDType dtype = {});
// Draws from the density p exp(-|x|^p) / (2 gamma(1 / p)).
Array generalized_normal(const Key& key, double p, const Shape& shape = {},
                         OptionalDType dtype = {});
// Returns the number of trials up to the first success, each of probability p, as default integers.
Array geometric(const Key& key, const Array& p, OrNone<Shape> shape = {}, OptionalDType dtype = {});
// Returns exp(sigma * x) for normal numbers x.
Array lognormal(const Key& key, const Array& sigma = 1.0f, OrNone<Shape> shape = {},
                OptionalDType dtype = {});
// Draws from [1, inf) with the density b x^-(b + 1).
Array pareto(const Key& key, const Array& b, OrNone<Shape> shape = {}, OptionalDType dtype = {});
Array rayleigh(const Key& key, const Array& scale, OrNone<Shape> shape = {},
               OptionalDType dtype = {});
// Draws from [left, right] with a density that rises linearly to mode and falls linearly from
// there.
Array triangular(const Key& key, const Array& left, const Array& mode, const Array& right,
                 OrNone<Shape> shape = {}, OptionalDType dtype = {});
// Draws from the inverse Gaussian distribution with this mean and scale 1.
Array wald(const Key& key, const Array& mean, OrNone<Shape> shape = {}, OptionalDType dtype = {});
Array weibull_min(const Key& key, const Array& scale, const Array& concentration,
                  const Shape& shape = {}, OptionalDType dtype = {});

// Returns key(seed).
template <std::integral T>
Key PRNGKey(T seed) {
  return key(seed);
}
// Returns the same key: keys may be used as often as one likes.
inline Key clone(const Key& key) { return key; }

}  // namespace tessera::random
