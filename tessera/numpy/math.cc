#include "tessera/numpy/math.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "tessera/compile/custom_derivatives.h"
#include "tessera/numpy/dtype_info.h"
#include "tessera/numpy/elementwise.h"
#include "tessera/numpy/logic.h"
#include "tessera/ops/core/log_add.h"
#include "tessera/ops/core/tracer.h"

namespace tessera {

using namespace ir;

using elementwise::binary;
using elementwise::expect_real;
using elementwise::like;
using elementwise::unary;

namespace {

using enum Promotion;

bool is_discrete(const Array& x) { return !is_inexact(x.dtype()); }

// Returns whether x and y have different signs and x is not 0. Then y must be added to a truncating
// remainder to make it a flooring one.
Array crosses_zero(const Array& x, const Array& y) {
  const Array zero = like(x, 0);
  return lax::bitwise_and(lax::ne(lax::lt(x, zero), lax::lt(y, zero)), lax::ne(x, zero));
}

std::pair<Array, Array> float_divmod(const Array& x, const Array& y) {
  // x - mod is a multiple of y, so the quotient is an integer up to rounding (CPython's
  // float_divmod).
  const Array mod = lax::rem(x, y), zero = like(x, 0);
  const Array exact = lax::select(lax::eq(y, zero), x, lax::sub(x, mod));
  const Array quotient = lax::div(exact, y);
  const Array step = lax::bitwise_and(lax::ne(mod, zero), lax::ne(lax::sign(y), lax::sign(mod)));
  return {lax::round(lax::select(step, lax::sub(quotient, like(x, 1)), quotient)),
          lax::select(step, lax::add(mod, y), mod)};
}

Array int_floor_divide(const Array& x, const Array& y) {
  const Array quotient = lax::div(x, y);
  if (is_unsigned(x.dtype())) return quotient;
  const Array step =
      lax::bitwise_and(lax::ne(lax::sign(x), lax::sign(y)), lax::ne(lax::rem(x, y), like(x, 0)));
  return lax::select(step, lax::sub(quotient, like(x, 1)), quotient);
}

// Returns y with 0 replaced by 1 if it is an integer, so that x % 0 is 0.
Array nonzero_divisor(const Array& y) {
  return is_discrete(y) ? lax::select(lax::eq(y, like(y, 0)), like(y, 1), y) : y;
}

Array floor_remainder(const Array& x, const Array& y) {
  const Array divisor = nonzero_divisor(y), mod = lax::rem(x, divisor);
  return lax::select(crosses_zero(mod, divisor), lax::add(mod, divisor), mod);
}

// Returns x^n by binary exponentiation over the low six bits of n. With a larger n every base
// except 0, 1 and -1 has overflowed.
Array int_power(const Array& x, const Array& n) {
  const Array zero = like(n, 0), one = like(n, 1);
  Array out = lax::select(lax::bitwise_and(lax::eq(x, zero), lax::ne(n, zero)), zero, one);
  Array base = x, bits = n;
  for (int i = 0; i < 6; ++i) {
    out = lax::select(lax::ne(lax::bitwise_and(bits, one), zero), lax::mul(out, base), out);
    base = lax::mul(base, base);
    bits = lax::shift_right_logical(bits, one);
  }
  return out;
}

// Returns the value of a known integer scalar on the host, such as a C++ integer.
std::optional<int64_t> concrete_integer(const Array& x) {
  if (!x.defined() || x.data()->kind != ArrayData::Kind::kHost || x.ndim() != 0 ||
      !is_integer(x.dtype()))
    return {};
  return static_cast<int64_t>(x.item_as_double());
}

// Applies f to the real and to the imaginary part.
template <class F>
Array by_parts(const Array& z, const F& f) {
  return lax::complex(f(lax::real(z)), f(lax::imag(z)));
}

Array round_to(const Array& x, int decimals) {
  if (decimals == 0) return lax::round_nearest_even(x);
  const bool half = x.dtype() == float16;  // 10**decimals may overflow float16
  const Array wide = half ? lax::convert_element_type(x, float32) : x;
  const Array factor = like(wide, std::pow(10.0, decimals));
  const Array out = lax::div(lax::round_nearest_even(lax::mul(wide, factor)), factor);
  return half ? as_dtype(out, x.dtype(), x.weak_type()) : out;
}

Array round_towards(const char* name, const Array& x, elementwise::Unary function) {
  struct TowardsParams {
    std::string name;
    elementwise::Unary function;
  };
  return composite(name, TowardsParams{name, function}, {x},
                   [](const TowardsParams& p, std::span<const Array> a) {
                     expect_real(p.name, a[0]);
                     return is_discrete(a[0]) ? a[0] : p.function(a[0]);
                   });
}

}  // namespace

Array add(const Array& x, const Array& y) { return binary("add", x, y, kAny, lax::add); }
Array subtract(const Array& x, const Array& y) { return binary("subtract", x, y, kAny, lax::sub); }
Array multiply(const Array& x, const Array& y) { return binary("multiply", x, y, kAny, lax::mul); }
Array divide(const Array& x, const Array& y) { return binary("divide", x, y, kInexact, lax::div); }

Array floor_divide(const Array& x, const Array& y) {
  return binary("floor_divide", x, y, kNumeric, [](const Array& a, const Array& b) {
    expect_real("floor_divide", a);
    return is_discrete(a) ? int_floor_divide(a, b) : float_divmod(a, b).first;
  });
}

Array remainder(const Array& x, const Array& y) {
  return binary("remainder", x, y, kNumeric, [](const Array& a, const Array& b) {
    expect_real("remainder", a);
    return floor_remainder(a, b);
  });
}

Array fmod(const Array& x, const Array& y) {
  return binary("fmod", x, y, kNumeric, [](const Array& a, const Array& b) {
    expect_real("fmod", a);
    return lax::rem(a, nonzero_divisor(b));
  });
}

std::pair<Array, Array> divmod(const Array& x, const Array& y) {
  std::vector<Array> out =
      composite("divmod", {}, {x, y},
                [](const NoParams&, std::span<const Array> operands) -> std::vector<Array> {
                  const std::vector<Array> p = promote_and_broadcast("divmod", operands, kNumeric);
                  expect_real("divmod", p[0]);
                  if (is_discrete(p[0]))
                    return {int_floor_divide(p[0], p[1]), floor_remainder(p[0], p[1])};
                  auto [quotient, mod] = float_divmod(p[0], p[1]);
                  return {quotient, mod};
                });
  return {out[0], out[1]};
}

Array power(const Array& x, const Array& y) {
  if (const std::optional<int64_t> n = concrete_integer(y)) {
    struct IntegerPowerParams {
      int64_t exponent;
    };
    return composite("integer_power", IntegerPowerParams{*n}, {x},
                     [](const IntegerPowerParams& p, std::span<const Array> a) {
                       return lax::integer_pow(promote(a[0], kNumeric), p.exponent);
                     });
  }
  return binary("power", x, y, kNumeric, [](const Array& a, const Array& b) -> Array {
    return is_discrete(a) ? int_power(a, b) : lax::pow(a, b);
  });
}

Array float_power(const Array& x, const Array& y) {
  return binary("float_power", x, y, kInexact, lax::pow);
}
Array maximum(const Array& x, const Array& y) { return binary("maximum", x, y, kAny, lax::max); }
Array minimum(const Array& x, const Array& y) { return binary("minimum", x, y, kAny, lax::min); }

// If both are equal, the second one is returned, which then has the whole derivative.
Array fmax(const Array& x, const Array& y) {
  return binary("fmax", x, y, kAny, [](const Array& a, const Array& b) {
    return lax::select(lax::bitwise_or(greater(a, b), isnan(b)), a, b);
  });
}

Array fmin(const Array& x, const Array& y) {
  return binary("fmin", x, y, kAny, [](const Array& a, const Array& b) {
    return lax::select(lax::bitwise_or(less(a, b), isnan(b)), a, b);
  });
}

Array negative(const Array& x) { return unary("negative", x, kAny, lax::neg); }

Array positive(const Array& x) { return x; }

Array abs(const Array& x) {
  return unary("abs", x, kAny, [](const Array& a) {
    return a.dtype() == bool_ || is_unsigned(a.dtype()) ? a : lax::abs(a);
  });
}

Array fabs(const Array& x) {
  expect_real("fabs", x);
  return unary("fabs", x, kInexact, lax::abs);
}

Array sign(const Array& x) { return unary("sign", x, kAny, lax::sign); }
Array square(const Array& x) { return unary("square", x, kNumeric, lax::square); }
Array reciprocal(const Array& x) { return unary("reciprocal", x, kInexact, lax::reciprocal); }

Array copysign(const Array& x, const Array& y) {
  return binary("copysign", x, y, kInexact, [](const Array& a, const Array& b) {
    expect_real("copysign", a);
    const DType bits = itemsize(b.dtype()) == 2 ? int16 : itemsize(b.dtype()) == 4 ? int32 : int64;
    const Array as_bits = lax::bitcast_convert_type(b, bits), size = lax::abs(a);
    return lax::select(lax::lt(as_bits, like(as_bits, 0)), lax::neg(size), size);
  });
}

Array nextafter(const Array& x, const Array& y) {
  return binary("nextafter", x, y, kInexact, [](const Array& a, const Array& b) {
    expect_real("nextafter", a);
    return lax::nextafter(a, b);
  });
}

Array heaviside(const Array& x, const Array& y) {
  return binary("heaviside", x, y, kInexact, [](const Array& a, const Array& b) {
    expect_real("heaviside", a);
    const Array zero = like(a, 0);
    const Array rest = lax::select(elementwise::is_nan(a), a, b);
    return lax::select(lax::lt(a, zero), zero, lax::select(lax::gt(a, zero), like(a, 1), rest));
  });
}

Array floor(const Array& x) { return round_towards("floor", x, lax::floor); }
Array ceil(const Array& x) { return round_towards("ceil", x, lax::ceil); }

Array trunc(const Array& x) {
  return round_towards("trunc", x, [](const Array& a) {
    return lax::select(lax::lt(a, like(a, 0)), lax::ceil(a), lax::floor(a));
  });
}

Array round(const Array& x, int decimals) {
  if (x.dtype() == bool_)
    type_error("round", "expected a numeric array, got {}; convert it with astype",
               describe(x.type()));
  if (is_discrete(x)) {
    if (decimals < 0)
      value_error("round",
                  "expected decimals >= 0 for the integer array {}, got {}; convert it with astype",
                  describe(x.type()), decimals);
    return x;
  }
  if (decimals > std::log10(finfo(x.dtype()).max)) return x;  // finer than the dtype's precision
  struct RoundParams {
    int decimals;
  };
  return composite("round", RoundParams{decimals}, {x},
                   [](const RoundParams& p, std::span<const Array> a) -> Array {
                     const auto part = [&](const Array& x) { return round_to(x, p.decimals); };
                     return is_complex(a[0].dtype()) ? by_parts(a[0], part) : part(a[0]);
                   });
}

Array rint(const Array& x) {
  if (is_discrete(x))
    return composite("rint", {}, {x}, [](const NoParams&, std::span<const Array> a) {
      return as_dtype(a[0], default_float());
    });
  return round(x);
}

Array clip(const Array& x, const OrNone<Array>& min, const OrNone<Array>& max) {
  for (const Array* bound : {&x, min ? &*min : &x, max ? &*max : &x}) expect_real("clip", *bound);
  if (!min && !max) return x;
  if (!max) return maximum(*min, x);
  if (!min) return minimum(*max, x);
  return composite("clip", {}, {x, *min, *max},
                   [](const NoParams&, std::span<const Array> a) -> Array {
                     return minimum(a[2], maximum(a[1], a[0]));
                   });
}

#define TESSERA_UNARY(name, function) \
  Array name(const Array& x) { return unary(#name, x, kInexact, function); }
TESSERA_UNARY(sqrt, lax::sqrt)
TESSERA_UNARY(rsqrt, lax::rsqrt)
TESSERA_UNARY(cbrt, lax::cbrt)
TESSERA_UNARY(exp, lax::exp)
TESSERA_UNARY(exp2, lax::exp2)
TESSERA_UNARY(expm1, lax::expm1)
TESSERA_UNARY(log, lax::log)
TESSERA_UNARY(log1p, lax::log1p)
TESSERA_UNARY(sin, lax::sin)
TESSERA_UNARY(cos, lax::cos)
TESSERA_UNARY(tan, lax::tan)
TESSERA_UNARY(arcsin, lax::asin)
TESSERA_UNARY(arccos, lax::acos)
TESSERA_UNARY(arctan, lax::atan)
TESSERA_UNARY(sinh, lax::sinh)
TESSERA_UNARY(cosh, lax::cosh)
TESSERA_UNARY(tanh, lax::tanh)
TESSERA_UNARY(arcsinh, lax::asinh)
TESSERA_UNARY(arccosh, lax::acosh)
TESSERA_UNARY(arctanh, lax::atanh)
TESSERA_UNARY(erf, lax::erf)
TESSERA_UNARY(erfc, lax::erfc)
TESSERA_UNARY(erf_inv, lax::erf_inv)
TESSERA_UNARY(lgamma, lax::lgamma)
TESSERA_UNARY(digamma, lax::digamma)
#undef TESSERA_UNARY

Array log2(const Array& x) {
  return unary("log2", x, kInexact, [](const Array& a) {
    const auto scale = [](const Array& part) { return lax::div(part, lax::log(like(part, 2))); };
    const Array log = lax::log(a);
    return is_complex(a.dtype()) ? by_parts(log, scale) : scale(log);
  });
}

Array log10(const Array& x) {
  return unary("log10", x, kInexact, [](const Array& a) {
    const auto scale = [](const Array& part) {
      return lax::mul(part, like(part, std::numbers::log10e));
    };
    const Array log = lax::log(a);
    return is_complex(a.dtype()) ? by_parts(log, scale) : scale(log);
  });
}

namespace {

// sinc(z) = 1 + t q(t) with t = z^2, by the terms of its series, whose derivatives are the terms of
// theirs. Exact to the last digits if |z| <= 1/2.
Array sinc_series(const Array& t) {
  const int terms = itemsize(t.dtype()) > 4 ? 11 : 7;
  std::vector<double> coefficients;
  long double c = 1;
  for (int k = 1; k <= terms; ++k) {
    c *= -std::numbers::pi_v<long double> * std::numbers::pi_v<long double> / (2 * k * (2 * k + 1));
    coefficients.push_back(static_cast<double>(c));
  }
  Array sum = like(t, coefficients.back());
  for (int k = terms - 2; k >= 0; --k) sum = lax::add(like(t, coefficients[k]), lax::mul(t, sum));
  return lax::add(like(t, 1), lax::mul(t, sum));
}

// With n the integer nearest to x and r = x - n, which has no error, sin(pi x) is (-1)^n sin(pi r).
// So sinc(x) = (-1)^n r sinc(r) / x has no error that grows with x, and is 0 at integers.
Array real_sinc(const Array& x) {
  const Array zero = like(x, 0), infinity = like(x, std::numeric_limits<double>::infinity());
  const Array n = lax::stop_gradient(lax::round_nearest_even(x));
  const Array is_infinite = lax::eq(lax::abs(x), infinity);
  const Array r = lax::select(is_infinite, zero, lax::sub(x, n)),
              series = sinc_series(lax::square(r));
  const Array nearest_is_zero = lax::eq(n, zero);
  const Array half = lax::mul(n, like(n, 0.5)), even = lax::eq(half, lax::floor(half));
  const Array sine = lax::mul(lax::select(even, r, lax::neg(r)), series);
  return lax::select(nearest_is_zero, series,
                     lax::div(sine, lax::select(nearest_is_zero, like(x, 1), x)));
}

Array complex_sinc(const Array& a) {
  const Array pi = like(a, std::numbers::pi), one = like(a, 1), zero = lax::eq(a, like(a, 0));
  const Array angle = lax::select(zero, one, lax::mul(pi, a));
  // At 0 it is the first terms of the series, 1 - u / 6 + u^2 / 120 - u^3 / 5040 with u = angle^2,
  // so that higher derivatives are right there too.
  const Array u = lax::square(lax::mul(pi, lax::select(zero, a, like(a, 0))));
  Array series = one;
  for (double factor : {1.0 / 42, 1.0 / 20, 1.0 / 6})
    series = lax::sub(one, lax::mul(series, lax::mul(u, like(a, factor))));
  return lax::select(zero, series, lax::div(lax::sin(angle), angle));
}

}  // namespace

Array sinc(const Array& x) {
  return unary("sinc", x, kInexact, [](const Array& a) {
    return is_complex(a.dtype()) ? complex_sinc(a) : real_sinc(a);
  });
}

Array deg2rad(const Array& x) {
  return unary("deg2rad", x, kInexact,
               [](const Array& a) { return lax::mul(a, like(a, std::numbers::pi / 180)); });
}

Array rad2deg(const Array& x) {
  return unary("rad2deg", x, kInexact,
               [](const Array& a) { return lax::mul(a, like(a, 180 / std::numbers::pi)); });
}

Array arctan2(const Array& y, const Array& x) {
  return binary("arctan2", y, x, kInexact, lax::atan2);
}

Array hypot(const Array& x, const Array& y) {
  return binary("hypot", x, y, kInexact, [](const Array& a, const Array& b) {
    expect_real("hypot", a);
    const Array inf = like(a, std::numeric_limits<double>::infinity()), zero = like(a, 0),
                one = like(a, 1);
    const Array p = lax::abs(a), q = lax::abs(b), p_infinite = lax::eq(p, inf);
    const Array infinite = lax::bitwise_or(p_infinite, lax::eq(q, inf));
    // The extrema by one comparison: max and min of equal numbers have derivatives of their own,
    // and second derivatives would be wrong.
    const Array first = lax::ge(p, q), larger = lax::select(first, p, q);
    const Array is_zero = lax::eq(larger, zero), special = lax::bitwise_or(is_zero, infinite);
    // 1 and 0 where the result is not used, so that the derivative there is not NaN.
    const Array large = lax::select(special, one, larger);
    const Array ratio = lax::div(lax::select(special, zero, lax::select(first, q, p)), large);
    const Array out = lax::mul(large, lax::sqrt(lax::add(one, lax::square(ratio))));
    return lax::select(infinite, lax::select(p_infinite, p, q),
                       lax::select(is_zero, lax::max(p, q), out));
  });
}

namespace {

// Returns max(a, b) + log(1 + base**-|a - b|). If a - b is NaN (equal infinities, or NaN), it
// returns a + b.
Array log_of_sum(const Array& a, const Array& b, double base) {
  const Array delta = lax::sub(a, b), log_base = like(a, std::log(base));
  Array power = lax::min(delta, lax::neg(delta));  // with -abs the derivative at 0 would not be 0
  if (base != std::numbers::e) power = lax::mul(power, log_base);
  Array added = lax::log1p(lax::exp(power));
  if (base != std::numbers::e) added = lax::div(added, log_base);
  return lax::select(elementwise::is_nan(delta), lax::add(a, b), lax::add(lax::max(a, b), added));
}

// Returns base**x / (base**x + base**y), the derivative by x of the logarithm of the sum.
Array share_of_sum(const Array& x, const Array& y, double base) {
  Array power = lax::sub(x, y);
  if (base != std::numbers::e) power = lax::mul(power, like(x, std::log(base)));
  const Array infinity = like(x, std::numeric_limits<double>::infinity());
  const Array all = lax::bitwise_and(lax::eq(x, infinity), lax::eq(y, y));
  return lax::select(all, like(x, 1), lax::logistic(power));
}

// Has a derivative rule, because max and min have no second derivative at a = b.
Array log_add_exp(const Array& a, const Array& b, double base) {
  if (is_complex(a.dtype())) return lax::log_add_complex(a, b, base);
  const auto value = [base](const Array& x, const Array& y) { return log_of_sum(x, y, base); };
  const auto rule = [base](const std::tuple<Array, Array>& at,
                           const std::tuple<Array, Array>& tangents) {
    const auto& [x, y] = at;
    const auto& [tx, ty] = tangents;
    return std::pair(log_of_sum(x, y, base), lax::add(lax::mul(tx, share_of_sum(x, y, base)),
                                                      lax::mul(ty, share_of_sum(y, x, base))));
  };
  return custom_jvp(value, rule)(a, b);
}

}  // namespace

Array logaddexp(const Array& x, const Array& y) {
  return binary("logaddexp", x, y, kInexact,
                [](const Array& a, const Array& b) { return log_add_exp(a, b, std::numbers::e); });
}

Array logaddexp2(const Array& x, const Array& y) {
  return binary("logaddexp2", x, y, kInexact,
                [](const Array& a, const Array& b) { return log_add_exp(a, b, 2); });
}

Array real(const Array& z) {
  if (!is_complex(z.dtype())) return z;
  return unary("real", z, kAny, lax::real);
}

Array imag(const Array& z) {
  return unary("imag", z, kAny,
               [](const Array& a) { return is_complex(a.dtype()) ? lax::imag(a) : like(a, 0); });
}

Array conj(const Array& z) {
  if (!is_complex(z.dtype())) return z;
  return unary("conj", z, kAny, lax::conj);
}

namespace {

Array radians(const Array& z) {
  return is_complex(z.dtype()) ? lax::atan2(lax::imag(z), lax::real(z)) : lax::atan2(like(z, 0), z);
}

}  // namespace

Array angle(const Array& z, bool deg) {
  if (!deg) return unary("angle", z, kInexact, radians);
  return unary("angle_deg", z, kInexact, [](const Array& a) { return rad2deg(radians(a)); });
}

Array nan_to_num(const Array& x, const NanToNumOptions& options) {
  if (is_discrete(x)) return x;
  const FloatInfo info = finfo(x.dtype());
  const Array posinf = options.posinf ? *options.posinf : Array(info.max),
              neginf = options.neginf ? *options.neginf : Array(info.min);
  return composite("nan_to_num", {}, {x, options.nan, posinf, neginf},
                   [](const NoParams&, std::span<const Array> a) -> Array {
                     const auto replace = [&](const Array& part) {
                       const auto fill = [&](size_t k) {
                         return broadcast_array("nan_to_num", as_dtype(a[k], part.dtype()),
                                                part.shape());
                       };
                       const double inf = std::numeric_limits<double>::infinity();
                       Array out = lax::select(elementwise::is_nan(part), fill(1), part);
                       out = lax::select(lax::eq(out, like(out, inf)), fill(2), out);
                       return lax::select(lax::eq(out, like(out, -inf)), fill(3), out);
                     };
                     return is_complex(a[0].dtype()) ? by_parts(a[0], replace) : replace(a[0]);
                   });
}

}  // namespace tessera
