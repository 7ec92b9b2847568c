#include "tessera/random/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tessera/compile/composite.h"
#include "tessera/numpy/dtype_info.h"
#include "tessera/numpy/promotion.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/random/sampling.h"
#include "tessera/random/threefry.h"

namespace tessera::random {

using namespace ops;

using internal::check_shape;
using internal::constant_like;
using internal::floating;
using internal::key_words;
using internal::random_bits;
using internal::real_normal;
using internal::rounded;
using internal::SampleParams;
using internal::scaled_uniform;
using internal::uint_of_bits;
using internal::unit_uniform;
using internal::Words;

namespace {

Array real_like(const Array& x, double value) { return lax::full_like(x, value); }

// Returns f of uniform numbers in [low, 1), or in [0, 1) without `low`.
Array transformed(const char* name, const Key& key, const Shape& shape, OptionalDType dtype,
                  double (*low)(const FloatInfo&), Array (*f)(const Array&)) {
  struct TransformedParams {
    std::string name;
    SampleParams sample;
    double (*low)(const FloatInfo&);
    Array (*f)(const Array&);
  };
  const DType result = floating(name, dtype);
  check_shape(name, shape);
  return composite(name, TransformedParams{name, {shape, result}, low, f}, {key.data},
                   [](const TransformedParams& p, std::span<const Array> a) {
                     const Words words = key_words(p.name, {a[0]});
                     const auto& [shape, dtype] = p.sample;
                     return p.f(p.low ? scaled_uniform(words, shape, dtype, p.low(finfo(dtype)), 1)
                                      : unit_uniform(words, shape, dtype));
                   });
}

}  // namespace

Array bits(const Key& key, const Shape& shape, OptionalDType dtype) {
  const DType result = canonical_dtype(dtype.value_or(uint64));
  if (!is_unsigned(result))
    type_error("random::bits", "expected an unsigned integer dtype, got {}", result);
  check_shape("random::bits", shape);
  return composite("random::bits", SampleParams{shape, result}, {key.data},
                   [](const SampleParams& p, std::span<const Array> a) {
                     return random_bits(key_words("random::bits", {a[0]}), p.shape, p.dtype);
                   });
}

Array uniform(const Key& key, const Shape& shape, OptionalDType dtype, const Array& minval,
              const Array& maxval) {
  const DType result = floating("random::uniform", dtype);
  check_shape("random::uniform", shape);
  return composite("random::uniform", SampleParams{shape, result}, {key.data, minval, maxval},
                   [](const SampleParams& p, std::span<const Array> a) {
                     const auto bound = [&](const Array& x) {
                       return broadcast_array("random::uniform", as_dtype(x, p.dtype), p.shape);
                     };
                     return scaled_uniform(key_words("random::uniform", {a[0]}), p.shape,
                                           bound(a[1]), bound(a[2]));
                   });
}

Array normal(const Key& key, const Shape& shape, OptionalDType dtype) {
  const DType result = canonical_dtype(dtype.value_or(float64));
  if (!is_inexact(result))
    type_error("random::normal", "expected a floating-point or complex dtype, got {}", result);
  check_shape("random::normal", shape);
  return composite("random::normal", SampleParams{shape, result}, {key.data},
                   [](const SampleParams& p, std::span<const Array> a) {
                     const Words words = key_words("random::normal", {a[0]});
                     if (!is_complex(p.dtype)) return real_normal(words, p.shape, p.dtype);
                     const std::vector<Words> parts = internal::split_words(words, 2);
                     const DType part = real_dtype(p.dtype);
                     const Array z = lax::complex(real_normal(parts[0], p.shape, part),
                                                  real_normal(parts[1], p.shape, part));
                     return lax::div(z, real_like(z, std::numbers::sqrt2));
                   });
}

Array truncated_normal(const Key& key, const Array& lower, const Array& upper, OrNone<Shape> shape,
                       OptionalDType dtype) {
  constexpr const char* name = "random::truncated_normal";
  const DType result = floating(name, dtype);
  const Shape out =
      shape ? *shape : broadcast_shapes(name, std::vector<Shape>{lower.shape(), upper.shape()});
  check_shape(name, out);
  return composite(
      name, SampleParams{out, result}, {key.data, lower, upper},
      [](const SampleParams& p, std::span<const Array> a) {
        const double inf = std::numeric_limits<double>::infinity();
        const Array low = as_dtype(a[1], p.dtype), high = as_dtype(a[2], p.dtype);
        const auto full = [&](const Array& x) { return broadcast_array(name, x, p.shape); };
        const auto cdf = [&](const Array& x) {
          return full(rounded(lax::erf(rounded(lax::div(x, real_like(x, std::numbers::sqrt2))))));
        };
        const Array u = scaled_uniform(key_words(name, {a[0]}), p.shape, cdf(low), cdf(high));
        const Array z = lax::mul(real_like(u, std::numbers::sqrt2), rounded(lax::erf_inv(u)));
        // Rounding must not leave the open interval (low, high).
        return lax::min(full(lax::nextafter(high, real_like(high, -inf))),
                        lax::max(full(lax::nextafter(low, real_like(low, inf))), z));
      });
}

Array exponential(const Key& key, const Shape& shape, OptionalDType dtype) {
  return transformed("random::exponential", key, shape, dtype, nullptr,
                     [](const Array& u) { return lax::neg(lax::log1p(lax::neg(u))); });
}

Array laplace(const Key& key, const Shape& shape, OptionalDType dtype) {
  return transformed(
      "random::laplace", key, shape, dtype, [](const FloatInfo& info) { return -1 + info.eps / 2; },
      [](const Array& u) { return lax::mul(lax::sign(u), lax::log1p(lax::neg(lax::abs(u)))); });
}

namespace {

// Returns u of [0, 1) as a number in (0, 1): 0 becomes the smallest normal number. Scaling u to
// that interval would give the same, except for float16, for which XLA's constant folding gives
// this.
Array at_least_tiny(const Array& u) { return lax::max(u, real_like(u, finfo(u.dtype()).tiny)); }

}  // namespace

Array gumbel(const Key& key, const Shape& shape, OptionalDType dtype) {
  return transformed("random::gumbel", key, shape, dtype, nullptr, [](const Array& u) {
    return lax::neg(lax::log(lax::neg(rounded(lax::log(at_least_tiny(u))))));
  });
}

Array logistic(const Key& key, const Shape& shape, OptionalDType dtype) {
  return transformed("random::logistic", key, shape, dtype, nullptr, [](const Array& u) {
    const Array x = at_least_tiny(u);
    return lax::sub(rounded(lax::log(x)), rounded(lax::log1p(lax::neg(x))));
  });
}

Array cauchy(const Key& key, const Shape& shape, OptionalDType dtype) {
  return transformed(
      "random::cauchy", key, shape, dtype, [](const FloatInfo& info) { return info.eps; },
      [](const Array& u) {
        // Near the poles of tan the result consists of the rounding of its operand, so it is
        // rounded as in JAX.
        const Array turn = rounded(lax::sub(u, real_like(u, 0.5)));
        return lax::tan(rounded(lax::mul(real_like(u, std::numbers::pi), turn)));
      });
}

Array bernoulli(const Key& key, const Array& p, OrNone<Shape> shape) {
  constexpr const char* name = "random::bernoulli";
  if (!is_floating(p.dtype()))
    type_error(name, "expected a floating-point probability, got {}; convert it",
               describe(p.type()));
  const Shape out = shape.value_or(p.shape());
  check_shape(name, out);
  return composite(name, SampleParams{out, p.dtype()}, {key.data, p},
                   [](const SampleParams& p, std::span<const Array> a) -> Array {
                     const Array u = unit_uniform(key_words(name, {a[0]}), p.shape, p.dtype);
                     return lax::lt(u, broadcast_array(name, as_dtype(a[1], p.dtype), p.shape));
                   });
}

Array rademacher(const Key& key, const Shape& shape, OptionalDType dtype) {
  constexpr const char* name = "random::rademacher";
  const DType result = canonical_dtype(dtype.value_or(int64));
  check_shape(name, shape);
  return composite(
      name, SampleParams{shape, result}, {key.data},
      [](const SampleParams& p, std::span<const Array> a) -> Array {
        const Array u = unit_uniform(key_words(name, {a[0]}), p.shape, default_float());
        return lax::select(lax::lt(u, real_like(u, 0.5)), lax::full(p.shape, 1, p.dtype),
                           lax::full(p.shape, -1, p.dtype));
      });
}

namespace {

// Returns val clipped to the range that its own dtype and `dtype` share, as `dtype`.
Array converted_and_clipped(const Array& val, DType dtype) {
  const IntInfo from = iinfo(val.dtype()), to = iinfo(dtype);
  const Array low =
      lax::full({}, convert_literal(Literal::scalar(std::max(from.min, to.min)), val.dtype()));
  const Array high =
      lax::full({}, convert_literal(Literal::scalar(std::min(from.max, to.max)), val.dtype()));
  return as_dtype(lax::clamp(low, as_dtype(val, val.dtype()), high), dtype);
}

Array integers_in(const Words& key, const Shape& shape, const Array& minval, const Array& maxval,
                  DType dtype) {
  const char* name = "random::randint";
  const auto full = [&](const Array& x) { return broadcast_array(name, x, shape); };
  // maxval may be one above the largest number, as in randint(key, shape, 0, 256, uint8).
  const Array largest = lax::full({}, convert_literal(Literal::scalar(iinfo(dtype).max), dtype));
  const Array limit =
      broadcast_array(name, converted_and_clipped(largest, maxval.dtype()), maxval.shape());
  const Array beyond = full(lax::gt(as_dtype(maxval, maxval.dtype()), limit));
  const Array low = full(converted_and_clipped(minval, dtype)),
              high = full(converted_and_clipped(maxval, dtype));
  const DType unsigned_dtype = uint_of_bits(iinfo(dtype).bits);
  Array span = lax::convert_element_type(lax::sub(high, low), unsigned_dtype);
  const Array one = constant_like(span, 1);
  span = lax::select(lax::le(high, low), one, span);
  // For the whole range of the dtype the span wraps to 0, and rem by 0 returns its operand.
  span = lax::select(lax::bitwise_and(beyond, lax::gt(high, low)), lax::add(span, one), span);
  // Draws twice as many bits as the dtype has, to reduce the bias of the remainder: (2^n * higher +
  // lower) mod span.
  const std::vector<Words> keys = internal::split_words(key, 2);
  const Array higher = random_bits(keys[0], shape, unsigned_dtype),
              lower = random_bits(keys[1], shape, unsigned_dtype);
  Array multiplier = lax::rem(constant_like(span, uint64_t{1} << (iinfo(dtype).bits / 2)), span);
  multiplier = lax::rem(lax::mul(multiplier, multiplier), span);
  const Array offset =
      lax::rem(lax::add(lax::mul(lax::rem(higher, span), multiplier), lax::rem(lower, span)), span);
  return lax::add(low, lax::convert_element_type(offset, dtype));
}

}  // namespace

Array randint(const Key& key, const Shape& shape, const Array& minval, const Array& maxval,
              OptionalDType dtype) {
  constexpr const char* name = "random::randint";
  const DType result = canonical_dtype(dtype.value_or(int64));
  if (!is_integer(result)) type_error(name, "expected an integer dtype, got {}", result);
  for (const Array* bound : {&minval, &maxval})
    if (!is_integer(bound->dtype()))
      type_error(name, "expected integer bounds, got {}; convert them with astype",
                 describe(bound->type()));
  check_shape(name, shape);
  return composite(
      name, SampleParams{shape, result}, {key.data, minval, maxval},
      [](const SampleParams& p, std::span<const Array> a) {
        const Words words = key_words(name, {a[0]});
        const IntInfo info = iinfo(p.dtype);
        if (info.bits >= 32) return integers_in(words, p.shape, a[1], a[2], p.dtype);
        // Narrow dtypes are drawn in 32 bits, where the bias is small.
        const auto clipped = [&](const Array& x, int64_t max) {
          const Array wide = as_dtype(x, int32);
          return lax::clamp(lax::full({}, static_cast<double>(info.min), int32), wide,
                            lax::full({}, static_cast<double>(max), int32));
        };
        const int64_t max = static_cast<int64_t>(info.max);
        return lax::convert_element_type(
            integers_in(words, p.shape, clipped(a[1], max), clipped(a[2], max + 1), int32),
            p.dtype);
      });
}

}  // namespace tessera::random
