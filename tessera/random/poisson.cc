// poisson: Knuth's products of uniforms for rates below 10, Hörmann's transformed rejection ("The
// transformed rejection method for generating Poisson random variables", 1993) for others. Both run
// for all elements. An element that uses the other method's result gets a harmless rate.
#include <limits>

#include "tessera/compile/composite.h"
#include "tessera/compile/control_flow.h"
#include "tessera/numpy/dtype_info.h"
#include "tessera/numpy/promotion.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/random/random.h"
#include "tessera/random/sampling.h"

namespace tessera::random {

namespace {

using namespace ops::array_math;
using internal::split_words;
using internal::unit_uniform;
using internal::Words;

Array any(const Array& x) { return lax::reduce_or(x, iota_dims(x.ndim())); }

// Returns whether another trip follows. The number of trips is at most the largest number of the
// dtype, because no result can be larger.
Array trips_left(const Array& i, DType dtype) {
  const double most = static_cast<double>(
      std::min<uint64_t>(iinfo(dtype).max, std::numeric_limits<int32_t>::max()));
  return i < most;
}

// Returns the number of uniform factors whose product falls below e^-rate, minus one.
Array by_products(const Words& key, const Array& rate, DType dtype) {
  struct State {
    Array i, count;
    Words key;
    Array log_product;
  };
  const State last = while_loop(
      [&](const State& s) {
        return lax::bitwise_and(any(s.log_product > -rate), trips_left(s.i, dtype));
      },
      [&](const State& s) {
        const std::vector<Words> keys = split_words(s.key, 2);
        const Array u = unit_uniform(keys[1], rate.shape(), float32);
        return State{s.i + 1, lax::select(s.log_product > -rate, s.count + 1, s.count), keys[0],
                     s.log_product + lax::log(u)};
      },
      State{lax::full({}, 0, int32), lax::full(rate.shape(), 0, dtype), key,
            lax::full_like(rate, 0)});
  return last.count - 1;
}

Array by_rejection(const Words& key, const Array& rate, DType dtype) {
  const Array log_rate = lax::log(rate);
  const Array b = 0.931 + 2.53 * lax::sqrt(rate), a = -0.059 + 0.02483 * b;
  const Array inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), quick = 0.9277 - 3.6224 / (b - 2);
  struct State {
    Array i, k, accepted;
    Words key;
  };
  const State last = while_loop(
      [&](const State& s) {
        return lax::bitwise_and(any(lax::bitwise_not(s.accepted)), trips_left(s.i, dtype));
      },
      [&](const State& s) {
        const std::vector<Words> keys = split_words(s.key, 3);
        const Array u = unit_uniform(keys[1], rate.shape(), float32) - 0.5,
                    v = unit_uniform(keys[2], rate.shape(), float32);
        const Array shifted = 0.5 - lax::abs(u);
        const Array k = lax::floor((2 * a / shifted + b) * u + rate + 0.43);
        const Array proposed = lax::log(v * inverse_alpha / (a / (shifted * shifted) + b));
        const Array wanted = -rate + k * log_rate - lax::lgamma(k + 1);
        const Array inside =
            lax::bitwise_and(lax::ge(shifted, lax::full_like(shifted, 0.07)), lax::le(v, quick));
        const Array outside = lax::bitwise_or(k < 0, lax::bitwise_and(shifted<0.013, v> shifted));
        const Array accept = lax::bitwise_or(
            inside, lax::bitwise_and(lax::bitwise_not(outside), lax::le(proposed, wanted)));
        return State{s.i + 1, lax::select(accept, k, s.k), lax::bitwise_or(s.accepted, accept),
                     keys[0]};
      },
      State{lax::full({}, 0, int32), lax::full_like(rate, -1), lax::full(rate.shape(), 0, bool_),
            key});
  return lax::convert_element_type(last.k, dtype);
}

}  // namespace

Array poisson(const Key& key, const Array& lam, OrNone<Shape> shape, OptionalDType dtype) {
  constexpr const char* name = "random::poisson";
  const DType result = canonical_dtype(dtype.value_or(int64));
  if (!is_integer(result)) type_error(name, "expected an integer dtype, got {}", result);
  const Shape out = internal::sample_shape(name, shape, {lam.shape()});
  return composite(
      name, internal::SampleParams{out, result}, {key.data, lam},
      [](const internal::SampleParams& p, std::span<const Array> x) -> Array {
        const Words words = internal::key_words(name, {x[0]});
        const Array rate = internal::sample_parameter(name, x[1], p.shape, float32);
        const Array small = lax::bitwise_or(lax::ne(rate, rate), rate < 10);
        const Array drawn = lax::select(
            small, by_products(words, lax::select(small, rate, lax::full_like(rate, 0)), p.dtype),
            by_rejection(words, lax::select(small, lax::full_like(rate, 1e5), rate), p.dtype));
        return lax::select(rate == 0, lax::full_like(drawn, 0), drawn);
      });
}

}  // namespace tessera::random
