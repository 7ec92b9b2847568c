// Further distributions of jax.random, made of the samplers of random.h: the same key gives JAX's
// numbers, to a few units in the last place, or where a comparison ties to these, another candidate.
//
// Without a shape the result has that of the parameters, which broadcast to the shape. Default
// float32 (float64 where x64 is enabled). Samples move with their parameters as in JAX. Errors, of all: UserError for
// dtypes that are not floating-point (of geometric: integers), for complex parameters, and for
// parameters that do not broadcast to the shape.
#pragma once

#include "tessera/random/random.h"

namespace tessera::random {

// Points in the ball of |x|_p <= 1 in d dimensions: [shape..., d]. UserError for d < 1.
Array ball(const Key& key, int64_t d, double p = 2, const Shape& shape = {},
           OptionalDType dtype = {});
// How many of n trials succeed, each with probability p, as a float; NaN for n or p that are
// negative or NaN.
Array binomial(const Key& key, const Array& n, const Array& p, std::optional<Shape> shape = {},
               OptionalDType dtype = {});
// How n trials are spread over classes of probabilities p (the last dimension), as floats. The
// shape is that of the result.
Array multinomial(const Key& key, const Array& n, const Array& p, std::optional<Shape> shape = {},
                  OptionalDType dtype = {});
// Of df degrees of freedom.
Array chisquare(const Key& key, const Array& df, std::optional<Shape> shape = {},
                OptionalDType dtype = {});
// The ratio of two chisquare samples over their degrees of freedom.
Array f(const Key& key, const Array& dfnum, const Array& dfden, std::optional<Shape> shape = {},
        OptionalDType dtype = {});
// Student's distribution with df degrees of freedom.
Array t(const Key& key, const Array& df, std::optional<Shape> shape = {}, OptionalDType dtype = {});
// The length of three independent normal numbers.
Array maxwell(const Key& key, const Shape& shape = {}, OptionalDType dtype = {});
// The same with either sign, times scale, plus loc. As in JAX the parameters' shape stands behind
// the shape, which without one is that too.
Array double_sided_maxwell(const Key& key, const Array& loc, const Array& scale,
                           const Shape& shape = {}, OptionalDType dtype = {});
// Of density p exp(-|x|^p) / (2 gamma(1 / p)).
Array generalized_normal(const Key& key, double p, const Shape& shape = {},
                         OptionalDType dtype = {});
// The number of trials up to the first success, of probability p each: default integers.
Array geometric(const Key& key, const Array& p, std::optional<Shape> shape = {},
                OptionalDType dtype = {});
// exp of normal numbers times sigma.
Array lognormal(const Key& key, const Array& sigma = 1.0f, std::optional<Shape> shape = {},
                OptionalDType dtype = {});
// On [1, inf), of density b x^-(b + 1).
Array pareto(const Key& key, const Array& b, std::optional<Shape> shape = {},
             OptionalDType dtype = {});
Array rayleigh(const Key& key, const Array& scale, std::optional<Shape> shape = {},
               OptionalDType dtype = {});
// On [left, right], of a density that rises to mode and falls from there.
Array triangular(const Key& key, const Array& left, const Array& mode, const Array& right,
                 std::optional<Shape> shape = {}, OptionalDType dtype = {});
// The inverse Gaussian distribution of this mean and scale 1.
Array wald(const Key& key, const Array& mean, std::optional<Shape> shape = {},
           OptionalDType dtype = {});
Array weibull_min(const Key& key, const Array& scale, const Array& concentration,
                  const Shape& shape = {}, OptionalDType dtype = {});

// The key of an integer, as key.
template <std::integral T>
Key PRNGKey(T seed) {
  return key(seed);
}
// The same key: keys may be used as often as one likes.
inline Key clone(const Key& key) { return key; }

}  // namespace tessera::random
