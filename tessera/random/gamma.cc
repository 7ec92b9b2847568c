// gamma, beta and dirichlet. Marsaglia and Tsang, "A simple method for generating gamma variables",
// ACM TOMS 26 (2000): d (1 + c x)^3 of a normal x is accepted or drawn again. Every element has a
// key of its own, so its numbers do not depend on how often another element is drawn.
#include <cmath>

#include "tessera/compile/composite.h"
#include "tessera/compile/control_flow.h"
#include "tessera/compile/custom_derivatives.h"
#include "tessera/numpy/dtype_info.h"
#include "tessera/numpy/nn.h"
#include "tessera/numpy/promotion.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/random/gamma_derivative.h"
#include "tessera/random/random.h"
#include "tessera/random/sampling.h"

namespace tessera::random {

using namespace ir;

namespace {

using namespace ops::array_math;
using internal::SampleParams;
using internal::split_words;
using internal::unit_uniform;
using internal::Words;

Array any(const Array& x) { return lax::reduce_or(x, iota_dims(x.ndim())); }

Words chosen(const Array& where, const Words& on_true, const Words& on_false) {
  return {lax::select(where, on_true.high, on_false.high),
          lax::select(where, on_true.low, on_false.low)};
}

// Returns for each key a normal x with 1 + c x > 0: it is drawn again until that holds. Elements
// that are not `wanted` may have any x.
struct Proposal {
  Words key;
  Array x, v;
};
Proposal propose(const Words& keys, const Array& wanted, const Array& c) {
  const Array zero = lax::full_like(c, 0), one = lax::full_like(c, 1);
  return while_loop([&](const Proposal& p) { return any(lax::le(p.v, zero)); },
                    [&](const Proposal& p) {
                      const Array again = lax::le(p.v, zero);
                      const std::vector<Words> next = split_words(p.key, 2);
                      const Array x = internal::real_normal(next[1], {}, c.dtype());
                      return Proposal{chosen(again, next[0], p.key), lax::select(again, x, p.x),
                                      lax::select(again, one + x * c, p.v)};
                    },
                    Proposal{keys, zero, lax::select(wanted, -one, one)});
}

// Returns samples of gamma(alpha), or their logarithms: one for each key, keys of alpha's shape.
Array gamma_of_keys(const Words& keys, const Array& alpha, bool log_space) {
  const DType dtype = alpha.dtype();
  const Array zero = lax::full_like(alpha, 0), one = lax::full_like(alpha, 1);
  // The method does not hold for alpha below 1. Then gamma(alpha) = gamma(alpha + 1) * u^(1 /
  // alpha), with 1 - u in place of u, since u may be 0.
  const Array large = lax::ge(alpha, one);
  const Array raised = lax::select(large, alpha, alpha + one);
  const Array d = raised - 1.0 / 3, c = 1.0 / 3 / lax::sqrt(d);
  struct Draw {
    Words key;
    Array x, v, u;  // the square of the normal, (1 + c x)^3, uniform
  };
  const auto rejected = [&](const Draw& s) {
    return lax::bitwise_and(lax::ge(s.u, 1 - 0.0331 * (s.x * s.x)),
                            lax::ge(lax::log(s.u), s.x * 0.5 + d * ((one - s.v) + lax::log(s.v))));
  };
  const std::vector<Words> parts = split_words(keys, 2);
  const Draw accepted = while_loop(
      [&](const Draw& s) { return any(rejected(s)); },
      [&](const Draw& s) {
        const Array again = rejected(s);
        const std::vector<Words> next = split_words(s.key, 3);
        const Proposal p = propose(next[1], again, c);
        const Array u = unit_uniform(next[2], {}, dtype);
        return Draw{chosen(again, next[0], s.key), lax::select(again, p.x * p.x, s.x),
                    lax::select(again, (p.v * p.v) * p.v, s.v), lax::select(again, u, s.u)};
      },
      Draw{parts[0], zero, one, lax::full_like(alpha, 2)});
  const Array u = unit_uniform(parts[1], {}, dtype);
  if (!log_space) return d * accepted.v * lax::select(large, one, lax::pow(1 - u, one / alpha));
  const Array log_u = lax::log1p(-u);
  const Array boost = lax::select(lax::bitwise_or(large, log_u == 0), zero, log_u * (one / alpha));
  return lax::log(d) + lax::log(accepted.v) + boost;
}

// Returns d sample / d alpha, or the derivative of the sample's logarithm.
Array derivative(const Array& alpha, const Array& sample, bool log_space) {
  if (!log_space) return internal::gamma_sample_derivative(alpha, sample);
  const Array x = lax::exp(sample);
  const Array positive = lax::select(x == 0, lax::full_like(x, finfo(x.dtype()).tiny), x);
  return internal::gamma_sample_derivative(alpha, positive) / positive;
}

// Returns the samples with their derivative with respect to alpha. It is called within another
// composite.
Array gamma_of_key(const Words& key, const Array& alpha, bool log_space) {
  const auto sample = [=](const Array& high, const Array& low, const Array& a) {
    return gamma_of_keys(internal::hash_of_index({high, low}, a.shape()), a, log_space);
  };
  using Arguments = std::tuple<Array, Array, Array>;
  const auto rule = [=](const Arguments& x, const Arguments& t) {
    const Array value = std::apply(sample, x);
    return std::pair(value, std::get<2>(t) * derivative(std::get<2>(x), value, log_space));
  };
  return custom_jvp(sample, rule)(key.high, key.low, alpha);
}

struct GammaParams {
  std::string name;
  Shape shape;
  DType dtype = float32;
  bool log_space = false;
};

Array gamma_samples(const char* name, const Key& key, const Array& a, OrNone<Shape> shape,
                    OptionalDType dtype, bool log_space) {
  const DType result = internal::floating(name, dtype);
  const Shape out = internal::sample_shape(name, shape, {a.shape()});
  return composite(name, GammaParams{name, out, result, log_space}, {key.data, a},
                   [](const GammaParams& p, std::span<const Array> x) {
                     const Array alpha = internal::sample_parameter(p.name, x[1], p.shape, p.dtype);
                     return gamma_of_key(internal::key_words(p.name, {x[0]}), alpha, p.log_space);
                   });
}

}  // namespace

Array gamma(const Key& key, const Array& a, OrNone<Shape> shape, OptionalDType dtype) {
  return gamma_samples("random::gamma", key, a, std::move(shape), dtype, false);
}

Array loggamma(const Key& key, const Array& a, OrNone<Shape> shape, OptionalDType dtype) {
  return gamma_samples("random::loggamma", key, a, std::move(shape), dtype, true);
}

Array beta(const Key& key, const Array& a, const Array& b, OrNone<Shape> shape,
           OptionalDType dtype) {
  constexpr const char* name = "random::beta";
  const DType result = internal::floating(name, dtype);
  const Shape out = internal::sample_shape(name, shape, {a.shape(), b.shape()});
  return composite(
      name, SampleParams{out, result}, {key.data, a, b},
      [](const SampleParams& p, std::span<const Array> x) -> Array {
        const std::vector<Words> keys = split_words(internal::key_words(name, {x[0]}), 2);
        const auto log_gamma = [&](size_t i) {
          return gamma_of_key(keys[i], internal::sample_parameter(name, x[i + 1], p.shape, p.dtype),
                              true);
        };
        const Array log_a = log_gamma(0), log_b = log_gamma(1), top = lax::max(log_a, log_b);
        // If the parameters are small, both samples underflow, but their quotient does not.
        const Array gamma_a = lax::exp(log_a - top), gamma_b = lax::exp(log_b - top);
        return gamma_a / (gamma_a + gamma_b);
      });
}

Array dirichlet(const Key& key, const Array& alpha, OrNone<Shape> shape, OptionalDType dtype) {
  constexpr const char* name = "random::dirichlet";
  const DType result = internal::floating(name, dtype);
  if (alpha.ndim() == 0)
    shape_error(name, "expected one concentration a class, of at least 1 dimension, got {}",
                describe(alpha.type()));
  Shape batch = alpha.shape();
  batch.pop_back();
  Shape out = internal::sample_shape(name, shape, {batch});
  out.push_back(alpha.shape(-1));
  return composite(name, SampleParams{out, result}, {key.data, alpha},
                   [](const SampleParams& p, std::span<const Array> x) {
                     const Array a = internal::sample_parameter(name, x[1], p.shape, p.dtype);
                     return softmax(gamma_of_key(internal::key_words(name, {x[0]}), a, true), -1);
                   });
}

}  // namespace tessera::random
