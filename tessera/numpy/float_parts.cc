#include "tessera/numpy/float_parts.h"

#include <limits>
#include <tuple>

#include "tessera/compile/composite.h"
#include "tessera/compile/control_flow.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/dtype_info.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/lax.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/pad.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"

namespace tessera {

namespace {

void expect_real_numbers(const char* name, const Array& x) {
  if (is_complex(x.dtype()))
    type_error(name, "expected real numbers, got {}; take real(z) or imag(z) first",
               describe(x.type()));
}
// Checks that the common dtype of both operands is an integer, so one of them may be bool.
void expect_integers(const char* name, const Array& x1, const Array& x2) {
  if (is_integer(result_type({x1, x2}).dtype)) return;
  type_error(name, "expected integers, got {}; convert them",
             describe((is_integer(x1.dtype()) ? x2 : x1).type()));
}

// The layout of a floating dtype's bits.
struct FloatLayout {
  DType bits;
  int64_t mantissa;   // explicit bits
  int64_t exponents;  // largest exponent field
  int64_t bias;
};
FloatLayout layout_of(DType dtype) {
  const FloatInfo info = finfo(dtype);
  const int64_t exponent_bits = info.bits - info.mantissa_bits - 1;
  const DType bits = info.bits == 16 ? uint16 : info.bits == 32 ? uint32 : uint64;
  return {bits, info.mantissa_bits, (int64_t{1} << exponent_bits) - 1,
          (int64_t{1} << (exponent_bits - 1)) - 1};
}
// Returns x 2^e, for e (int32) in the range of normal exponents.
Array times_power_of_two(const Array& x, const Array& e) {
  const FloatLayout l = layout_of(x.dtype());
  const Array field = lax::convert_element_type(e + l.bias, l.bits);
  const Array factor = lax::bitcast_convert_type(
      lax::shift_left(field, lax::full_like(field, static_cast<double>(l.mantissa))), x.dtype());
  return x * factor;
}

// Returns the exponent field of x as int32.
Array exponent_field(const Array& x) {
  const FloatLayout l = layout_of(x.dtype());
  const Array bits = lax::bitcast_convert_type(lax::stop_gradient(x), l.bits);
  const Array field =
      lax::shift_right_logical(bits, lax::full_like(bits, static_cast<double>(l.mantissa)));
  return lax::convert_element_type(
      lax::bitwise_and(field, lax::full_like(field, static_cast<double>(l.exponents))), int32);
}

// Returns mantissa and exponent of x, which is of an inexact dtype and not weakly typed.
std::pair<Array, Array> mantissa_and_exponent(const Array& x) {
  const FloatLayout l = layout_of(x.dtype());
  const Array field = exponent_field(x);
  const Array outside = equal(x, 0) | equal(field, l.exponents);
  // Subnormal numbers are first multiplied by a power of two that makes them normal.
  const int64_t lift = l.mantissa + 1;
  const Array subnormal = equal(field, 0) & not_equal(x, 0);
  const Array moved = where(subnormal, full_like(field, lift), full_like(field, 0));
  const Array normal = times_power_of_two(x, moved);
  const Array e = where(outside, 0, exponent_field(normal) - (l.bias - 1));
  // Two factors, because 2^-e itself may be no normal number.
  const Array half = right_shift(e, 1);
  const Array m = times_power_of_two(times_power_of_two(normal, -half), half - e);
  return {m, where(outside, 0, e - moved)};
}

Array in_own_dtype(const Array& x) {
  const Array inexact = promote(x, Promotion::kInexact);
  return as_dtype(inexact, inexact.dtype());
}

}  // namespace

std::pair<Array, Array> frexp(const Array& x) {
  expect_real_numbers("frexp", x);
  const std::vector<Array> out =
      composite("frexp", {}, {x}, [](const NoParams&, std::span<const Array> a) {
        const auto [m, e] = mantissa_and_exponent(in_own_dtype(a[0]));
        return std::vector<Array>{m, e};
      });
  return {out[0], out[1]};
}

namespace {

// Returns integers of any dtype as int32, clipped to [-limit, limit].
Array small_exponent(const Array& x, int64_t limit) {
  const bool narrow = x.dtype() == bool_ || iinfo(x.dtype()).bits < 32;
  if (narrow) return clip(as_dtype(x, int32), -limit, limit);
  return as_dtype(is_unsigned(x.dtype()) ? minimum(x, limit) : clip(x, -limit, limit), int32);
}

}  // namespace

Array ldexp(const Array& x1, const Array& x2) {
  expect_real_numbers("ldexp", x1);
  if (x2.dtype() != bool_) expect_integers("ldexp", x2, x2);
  broadcast_shapes("ldexp", std::vector<Shape>{x1.shape(), x2.shape()});
  return composite("ldexp", {}, {x1, x2}, [](const NoParams&, std::span<const Array> a) {
    const Array x = in_own_dtype(a[0]);
    const FloatLayout l = layout_of(x.dtype());
    const Array step = small_exponent(a[1], 4 * l.bias);
    const auto [m, e] = mantissa_and_exponent(x);
    const Array total = e + step;
    // The first product is exact and normal, so that the result is rounded once.
    const Array first = clip(total, 2 - l.bias, l.bias);
    const Array second = clip(total - first, 1 - l.bias, l.bias);
    return times_power_of_two(times_power_of_two(m, first), second);
  });
}

std::pair<Array, Array> modf(const Array& x) {
  expect_real_numbers("modf", x);
  const std::vector<Array> out =
      composite("modf", {}, {x}, [](const NoParams&, std::span<const Array> a) {
        const Array x = promote(a[0], Promotion::kInexact);
        const Array whole = trunc(x);
        return std::vector<Array>{x - whole, whole};
      });
  return {out[0], out[1]};
}

Array spacing(const Array& x) {
  expect_real_numbers("spacing", x);
  return composite("spacing", {}, {x}, [](const NoParams&, std::span<const Array> a) {
    const Array x = promote(a[0], Promotion::kInexact);
    return nextafter(x, copysign(full_like(x, INFINITY), x)) - x;
  });
}

namespace {

Array divisor_of(const Array& x, const Array& y) {
  using Pair = std::pair<Array, Array>;
  return while_loop([](const Pair& p) { return any(not_equal(p.second, 0)); },
                    [](const Pair& p) {
                      const Array open = not_equal(p.second, 0);
                      const Array rest = lax::rem(p.first, where(open, p.second, 1));
                      const Array larger = where(open, p.second, p.first);
                      return Pair(larger, where(open, rest, 0));
                    },
                    Pair(abs(x), abs(y)))
      .first;
}

template <class Body>
Array of_integers(const char* name, const Array& x1, const Array& x2, const Body& body) {
  expect_integers(name, x1, x2);
  broadcast_shapes(name, std::vector<Shape>{x1.shape(), x2.shape()});
  return composite(name, {}, {x1, x2}, body);
}

// Returns the integers broadcast to one shape and in one dtype, not weakly typed.
std::vector<Array> integers_together(const char* name, std::span<const Array> a) {
  std::vector<Array> out = promote_and_broadcast(name, a);
  for (Array& x : out) x = as_dtype(x, x.dtype());
  return out;
}

}  // namespace

Array gcd(const Array& x1, const Array& x2) {
  return of_integers("gcd", x1, x2, [](const NoParams&, std::span<const Array> a) {
    const std::vector<Array> same = integers_together("gcd", a);
    return divisor_of(same[0], same[1]);
  });
}

Array lcm(const Array& x1, const Array& x2) {
  return of_integers("lcm", x1, x2, [](const NoParams&, std::span<const Array> a) {
    const std::vector<Array> same = integers_together("lcm", a);
    const Array x = abs(same[0]), y = abs(same[1]), divisor = divisor_of(x, y);
    return where(equal(divisor, 0), 0, x * lax::div(y, where(equal(divisor, 0), 1, divisor)));
  });
}

namespace {

// Returns the values of the eight bits of a byte, in bit order.
Array bit_weights(bool big) {
  std::vector<uint8_t> out;
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<uint8_t>(1 << (big ? 7 - i : i)));
  return from_host(out);
}

}  // namespace

Array packbits(const Array& a, const PackbitsOptions& o) {
  if (!is_integer(a.dtype()) && a.dtype() != bool_)
    type_error("packbits", "expected integers or bool, got {}; compare with 0", describe(a.type()));
  const int64_t axis = o.axis ? normalize_axis("packbits", *o.axis, a.ndim()) : 0;
  struct PackbitsParams {
    int64_t axis;
    bool big;
  };
  return composite(
      "packbits", PackbitsParams{axis, o.bitorder == BitOrder::kBig}, {o.axis ? a : ravel(a)},
      [](const PackbitsParams& p, std::span<const Array> a) {
        Array x = swapaxes(not_equal(a[0], 0), p.axis, -1);
        const int64_t n = x.shape().back(), bytes = (n + 7) / 8;
        std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(x.ndim() - 1));
        widths.push_back({0, 8 * bytes - n});
        x = pad(astype(x, uint8), widths);
        Shape shape = x.shape();
        shape.back() = bytes;
        shape.push_back(8);
        const Array packed =
            sum(reshape(x, shape) * bit_weights(p.big), {.axis = -1, .dtype = uint8});
        return swapaxes(packed, p.axis, -1);
      });
}

Array unpackbits(const Array& a, const UnpackbitsOptions& o) {
  if (a.dtype() != uint8)
    type_error("unpackbits", "expected uint8, got {}; convert or bitcast it", describe(a.type()));
  if (o.count && *o.count < 0) value_error("unpackbits", "expected a count >= 0, got {}", *o.count);
  const int64_t axis = o.axis ? normalize_axis("unpackbits", *o.axis, a.ndim()) : 0;
  struct UnpackbitsParams {
    int64_t axis;
    std::optional<int64_t> count;
    bool big;
  };
  return composite(
      "unpackbits", UnpackbitsParams{axis, o.count, o.bitorder == BitOrder::kBig},
      {o.axis ? a : ravel(a)}, [](const UnpackbitsParams& p, std::span<const Array> a) {
        const Array x = swapaxes(a[0], p.axis, -1);
        Array bits =
            astype(not_equal(bitwise_and(expand_dims(x, -1), bit_weights(p.big)), 0), uint8);
        Shape shape = x.shape();
        shape.back() *= 8;
        bits = reshape(bits, shape);
        if (p.count) {
          const int64_t n = shape.back(), kept = std::min(n, *p.count);
          bits = slice_in_dim(bits, 0, kept, -1);
          std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(x.ndim() - 1));
          widths.push_back({0, *p.count - kept});
          bits = pad(bits, widths);
        }
        return swapaxes(bits, p.axis, -1);
      });
}

}  // namespace tessera
