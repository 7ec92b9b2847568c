#include "tessera/random/distributions.h"

#include "tessera/compile/composite.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/linalg.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"
#include "tessera/random/sampling.h"

namespace tessera::random {

namespace {

using internal::floating;
using internal::sample_parameter;
using internal::sample_shape;
using internal::SampleParams;
using Args = std::span<const Array>;

// A sampler as a function of a key and parameters. `body` gets the key's words, and the parameters
// in the dtype and of the shape of the result.
struct Sampler {
  std::string name;
  SampleParams sample;
  Array (*body)(const SampleParams& p, const Key& key, Args parameters);
};
Array sampled(const char* name, const Key& key, const std::vector<Array>& parameters,
              const Shape& shape, DType dtype,
              Array (*body)(const SampleParams&, const Key&, Args)) {
  internal::check_shape(name, shape);
  std::vector<Array> args{key.data};
  args.insert(args.end(), parameters.begin(), parameters.end());
  for (const Array& x : parameters)
    if (is_complex(x.dtype()))
      type_error(name, "expected real parameters, got {}", describe(x.type()));
  return composite(name, Sampler{name, {shape, dtype}, body}, args, [](const Sampler& s, Args a) {
    std::vector<Array> parameters;
    for (const Array& x : a.subspan(1))
      parameters.push_back(sample_parameter(s.name, x, s.sample.shape, s.sample.dtype));
    return s.body(s.sample, Key{a[0]}, parameters);
  });
}

}  // namespace

Array ball(const Key& key, int64_t d, double p, const Shape& shape, OptionalDType dtype) {
  const char* name = "random::ball";
  if (d < 1) value_error(name, "expected d >= 1, got {}", d);
  if (!(p > 0)) value_error(name, "expected p > 0, got {}", p);
  const DType result = floating(name, dtype);
  internal::check_shape(name, shape);
  struct BallParams {
    SampleParams sample;
    int64_t d;
    double p;
  };
  return composite(name, BallParams{{shape, result}, d, p}, {key.data},
                   [](const BallParams& b, Args a) {
                     const auto& [shape, dtype] = b.sample;
                     const auto keys = split<2>(Key{a[0]});
                     Shape points = shape;
                     points.push_back(b.d);
                     const Array g = generalized_normal(keys[0], b.p, points, dtype),
                                 e = exponential(keys[1], shape, dtype);
                     const Array sums = sum(power(abs(g), b.p), {.axis = -1}) + e;
                     return g / expand_dims(power(sums, 1 / b.p), -1);
                   });
}

Array chisquare(const Key& key, const Array& df, OrNone<Shape> shape, OptionalDType dtype) {
  const char* name = "random::chisquare";
  return sampled(name, key, {df}, sample_shape(name, shape, {df.shape()}), floating(name, dtype),
                 [](const SampleParams& p, const Key& key, Args a) {
                   return exp(loggamma(key, a[0] / 2, p.shape, p.dtype)) * 2;
                 });
}

Array f(const Key& key, const Array& dfnum, const Array& dfden, OrNone<Shape> shape,
        OptionalDType dtype) {
  const char* name = "random::f";
  return sampled(name, key, {dfnum, dfden},
                 sample_shape(name, shape, {dfnum.shape(), dfden.shape()}), floating(name, dtype),
                 [](const SampleParams& p, const Key& key, Args a) {
                   const auto keys = split<2>(key);
                   const Array above = chisquare(keys[1], a[0], p.shape, p.dtype),
                               below = chisquare(keys[0], a[1], p.shape, p.dtype);
                   return (above / a[0]) / (below / a[1]);
                 });
}

Array t(const Key& key, const Array& df, OrNone<Shape> shape, OptionalDType dtype) {
  const char* name = "random::t";
  return sampled(name, key, {df}, sample_shape(name, shape, {df.shape()}), floating(name, dtype),
                 [](const SampleParams& p, const Key& key, Args a) {
                   const auto keys = split<2>(key);
                   const Array n = normal(keys[0], p.shape, p.dtype), half = a[0] / 2;
                   return n * sqrt(half / gamma(keys[1], half, p.shape, p.dtype));
                 });
}

Array maxwell(const Key& key, const Shape& shape, OptionalDType dtype) {
  const char* name = "random::maxwell";
  return sampled(name, key, {}, shape, floating(name, dtype),
                 [](const SampleParams& p, const Key& key, Args) {
                   Shape parts = p.shape;
                   parts.push_back(3);
                   return linalg::norm(normal(key, parts, p.dtype), {.axis = -1});
                 });
}

Array double_sided_maxwell(const Key& key, const Array& loc, const Array& scale, const Shape& shape,
                           OptionalDType dtype) {
  const char* name = "random::double_sided_maxwell";
  const Shape parameters = broadcast_shapes(name, std::vector<Shape>{loc.shape(), scale.shape()});
  Shape all = shape.empty() ? parameters : shape;
  all.insert(all.end(), parameters.begin(), parameters.end());
  return sampled(name, key, {loc, scale}, all, floating(name, dtype),
                 [](const SampleParams& p, const Key& key, Args a) {
                   const auto keys = split<2>(key);
                   return rademacher(keys[1], p.shape, p.dtype) *
                              maxwell(keys[0], p.shape, p.dtype) * a[1] +
                          a[0];
                 });
}

Array generalized_normal(const Key& key, double p, const Shape& shape, OptionalDType dtype) {
  const char* name = "random::generalized_normal";
  if (!(p > 0)) value_error(name, "expected p > 0, got {}", p);
  const DType result = floating(name, dtype);
  internal::check_shape(name, shape);
  struct PowerParams {
    SampleParams sample;
    double p;
  };
  return composite(name, PowerParams{{shape, result}, p}, {key.data},
                   [](const PowerParams& q, Args a) {
                     const auto& [shape, dtype] = q.sample;
                     const auto keys = split<2>(Key{a[0]});
                     const Array g = gamma(keys[0], 1 / q.p, shape, dtype);
                     return rademacher(keys[1], shape, dtype) * power(g, 1 / q.p);
                   });
}

Array geometric(const Key& key, const Array& p, OrNone<Shape> shape, OptionalDType dtype) {
  const char* name = "random::geometric";
  const DType result = canonical_dtype(dtype.value_or(default_int()));
  if (!is_integer(result)) type_error(name, "expected an integer dtype, got {}", result);
  if (is_complex(p.dtype()))
    type_error(name, "expected a real probability, got {}", describe(p.type()));
  const Array trials =
      sampled(name, key, {p}, sample_shape(name, shape, {p.shape()}), to_inexact(p.dtype()),
              [](const SampleParams& s, const Key& key, Args a) {
                const Array u = uniform(key, s.shape, s.dtype);
                return floor(log(where(equal(u, 0), 1, u)) / log1p(-a[0])) + 1;
              });
  return astype(trials, result);
}

Array lognormal(const Key& key, const Array& sigma, OrNone<Shape> shape, OptionalDType dtype) {
  const char* name = "random::lognormal";
  return sampled(name, key, {sigma}, sample_shape(name, shape, {sigma.shape()}),
                 floating(name, dtype), [](const SampleParams& p, const Key& key, Args a) {
                   return exp(normal(key, p.shape, p.dtype) * a[0]);
                 });
}

Array pareto(const Key& key, const Array& b, OrNone<Shape> shape, OptionalDType dtype) {
  const char* name = "random::pareto";
  return sampled(name, key, {b}, sample_shape(name, shape, {b.shape()}), floating(name, dtype),
                 [](const SampleParams& p, const Key& key, Args a) {
                   return exp(exponential(key, p.shape, p.dtype) / a[0]);
                 });
}

Array rayleigh(const Key& key, const Array& scale, OrNone<Shape> shape, OptionalDType dtype) {
  const char* name = "random::rayleigh";
  return sampled(name, key, {scale}, sample_shape(name, shape, {scale.shape()}),
                 floating(name, dtype), [](const SampleParams& p, const Key& key, Args a) {
                   return a[0] * sqrt(log(uniform(key, p.shape, p.dtype)) * -2);
                 });
}

Array triangular(const Key& key, const Array& left, const Array& mode, const Array& right,
                 OrNone<Shape> shape, OptionalDType dtype) {
  const char* name = "random::triangular";
  const Shape out = sample_shape(name, shape, {left.shape(), mode.shape(), right.shape()});
  return sampled(name, key, {left, mode, right}, out, floating(name, dtype),
                 [](const SampleParams& p, const Key& key, Args a) {
                   const Array &left = a[0], &mode = a[1], &right = a[2];
                   const Array whole = right - left, u = uniform(key, p.shape, p.dtype);
                   return where(u < (mode - left) / whole, left + sqrt(u * whole * (mode - left)),
                                right - sqrt((1 - u) * whole * (right - mode)));
                 });
}

Array wald(const Key& key, const Array& mean, OrNone<Shape> shape, OptionalDType dtype) {
  const char* name = "random::wald";
  // Michael, Schucany and Haas, "Generating random variates using transformations with multiple
  // roots", 1976.
  return sampled(name, key, {mean}, sample_shape(name, shape, {mean.shape()}),
                 floating(name, dtype), [](const SampleParams& p, const Key& key, Args a) {
                   const auto keys = split<2>(key);
                   const Array& mean = a[0];
                   const Array y = square(normal(keys[0], p.shape, p.dtype)),
                               z = uniform(keys[1], p.shape, p.dtype);
                   const Array root = sqrt(4 * mean * y + square(mean) * square(y));
                   const Array x = mean + square(mean) * y / 2 - mean / 2 * root;
                   return where(z <= mean / (mean + x), x, square(mean) / x);
                 });
}

Array weibull_min(const Key& key, const Array& scale, const Array& concentration,
                  const Shape& shape, OptionalDType dtype) {
  const char* name = "random::weibull_min";
  const DType result = floating(name, dtype);
  internal::check_shape(name, shape);
  for (const Array* x : {&scale, &concentration})
    if (is_complex(x->dtype()))
      type_error(name, "expected real parameters, got {}", describe(x->type()));
  // The parameters broadcast with the numbers, which have the given shape.
  broadcast_shapes(name, std::vector<Shape>{shape, scale.shape(), concentration.shape()});
  return composite(name, SampleParams{shape, result}, {key.data, scale, concentration},
                   [](const SampleParams& p, Args a) {
                     const Array u = uniform(Key{a[0]}, p.shape, p.dtype);
                     return power(-log1p(-u), 1.0 / a[2]) * a[1];
                   });
}

}  // namespace tessera::random
