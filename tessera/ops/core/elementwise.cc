#include "tessera/ops/core/elementwise.h"

#include <numbers>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/elementwise_family.h"

namespace tessera::ops {
namespace {

using namespace array_math;
using namespace elementwise;
using namespace lax;

using Arrays = std::span<const Array>;
using TransposeRule = decltype(OpSpec<NoParams>::transpose);
// Returns the tangent of the result z that belongs to the tangent t of one operand.
using UnaryTangent = Array (*)(const Array& t, const Array& x, const Array& z);
using BinaryTangent = Array (*)(const Array& t, const Array& x, const Array& y, const Array& z);
enum class Linearity : uint8_t { none, all, each, first };

const Array zero;  // a symbolic zero

JvpResult unary_jvp(Array (*function)(const Array&), UnaryTangent tangent, Arrays x, Arrays t) {
  const Array z = function(x[0]);
  return {{z}, {t[0].defined() ? tangent(t[0], x[0], z) : zero}};
}

JvpResult binary_jvp(Array (*function)(const Array&, const Array&), BinaryTangent of_x,
                     BinaryTangent of_y, Arrays x, Arrays t) {
  const Array z = function(x[0], x[1]);
  const Array left = t[0].defined() ? of_x(t[0], x[0], x[1], z) : zero;
  const Array right = t[1].defined() ? of_y(t[1], x[0], x[1], z) : zero;
  if (!left.defined() || !right.defined()) return {{z}, {left.defined() ? left : right}};
  return {{z}, {left + right}};
}

// Returns `rule`, or a rule that throws if the op is not linear.
TransposeRule transpose_rule(Linearity linearity, TransposeRule rule) {
  return linearity == Linearity::none ? TransposeRule(absent("the op is not linear")) : rule;
}

// A linear map of one element is its own transpose, so its tangent function is applied to the
// cotangent.
std::vector<Array> unary_transpose(UnaryTangent tangent, Arrays ct, Arrays x) {
  return {tangent(ct[0], x[0], zero)};
}

std::vector<Array> binary_transpose(const char* name, Linearity linearity, BinaryTangent of_x,
                                    BinaryTangent of_y, Arrays ct, Arrays x,
                                    const std::vector<bool>& linear) {
  TESSERA_CHECK(linearity == Linearity::all || !(linear[0] && linear[1]),
                "{} is not linear in both operands at once", name);
  TESSERA_CHECK(linearity != Linearity::first || !linear[1], "{} is linear in its first operand",
                name);
  return {linear[0] ? of_x(ct[0], x[0], x[1], zero) : zero,
          linear[1] ? of_y(ct[0], x[0], x[1], zero) : zero};
}

// --- Parts of derivatives that are longer than a row ---

Array nonzero(const Array& x) { return select(x == 0, full_like(x, 1), x); }

// At 0 the tangent is t, as in JAX.
Array abs_tangent(const Array& t, const Array& x) {
  if (!is_complex(x.dtype())) return t * select(x >= 0, full_like(x, 1), full_like(x, -1));
  return real(conj(sign(x)) * t);
}

// The sign of a complex number turns by the part of t that is orthogonal to it; a real one is
// constant.
Array sign_tangent(const Array& t, const Array& x, const Array& z) {
  if (!is_complex(x.dtype())) return zero;
  const Array along = real(conj(z) * t), nothing = full_like(along, 0);
  const Array across = t - z * complex(along, nothing);
  const Array radius = complex(nonzero(abs(x)), nothing);
  return select(x == 0, full_like(x, 0), across / radius);
}

// Returns 1 where x is greater, 0 where y is, and 0.5 where they are equal. It does not compare
// with the maximum: operands may be computed again with other roundings, so that the maximum equals
// neither.
Array share_of_greater(const Array& x, const Array& y) {
  const Array one = full_like(x, 1), nothing = full_like(x, 0);
  const Array greater = is_complex(x.dtype())  // by the real parts, then by the imaginary ones
                            ? select(real(x) == real(y), imag(x) > imag(y), real(x) > real(y))
                            : x > y;
  return select(greater, one, select(x == y, full_like(x, 0.5), nothing));
}

// Returns d(x**y)/dx, without 0 * inf where y is 0.
Array power_by_base(const Array& x, const Array& y) {
  const Array flat = y == 0;
  const Array slope = y * pow(x, select(flat, full_like(y, 1), y - 1));
  return select(flat, full_like(x, 0), slope);
}

Array truncate(const Array& x) { return sign(x) * floor(abs(x)); }

// Returns the derivative of digamma: reflection, the recurrence to beyond 8, and the asymptotic
// series (DLMF 5.15.5, 5.15.6, 5.15.8).
Array trigamma(const Array& x) {
  if (itemsize(x.dtype()) == 2)
    return convert_element_type(trigamma(convert_element_type(x, float32)), x.dtype());
  const Array reflected = x < 0.5;
  Array w = select(reflected, 1 - x, x);
  Array sum = full_like(x, 0);
  for (int k = 0; k < 8; ++k) {
    sum = sum + 1 / (w * w);
    w = w + 1;
  }
  const Array r = 1 / (w * w);
  const Array series = 1.0 / 6 - r * (1.0 / 30 - r * (1.0 / 42 - r * (1.0 / 30 - r * (5.0 / 66))));
  sum = sum + 1 / w + 0.5 * r + r * series / w;
  const Array ratio = std::numbers::pi / sin(std::numbers::pi * x);
  return select(reflected, ratio * ratio - sum, sum);
}

#define TESSERA_UNUSED [[maybe_unused]]
#define UNARY(function, name_, dialect_, kinds, result, op, complex_form, value, low, high, \
              linearity, tangent)                                                           \
  Array function##_tangent_(TESSERA_UNUSED const Array& t, TESSERA_UNUSED const Array& x,   \
                            TESSERA_UNUSED const Array& z) {                                \
    return tangent;                                                                         \
  }
#define BINARY(function, name_, dialect_, kinds, op, complex_form, value, low, high, linearity, \
               tangent_x, tangent_y)                                                            \
  Array function##_tangent_x(TESSERA_UNUSED const Array& t, TESSERA_UNUSED const Array& x,      \
                             TESSERA_UNUSED const Array& y, TESSERA_UNUSED const Array& z) {    \
    return tangent_x;                                                                           \
  }                                                                                             \
  Array function##_tangent_y(TESSERA_UNUSED const Array& t, TESSERA_UNUSED const Array& x,      \
                             TESSERA_UNUSED const Array& y, TESSERA_UNUSED const Array& z) {    \
    return tangent_y;                                                                           \
  }
#include "tessera/ops/core/elementwise.def"
#undef UNARY
#undef BINARY

// How operations on bits read narrow integers.
constexpr NarrowOperands narrow_operands(ScalarOp op) {
  switch (op) {
    case ScalarOp::kPopcnt:
    case ScalarOp::kShrLogical:
      return NarrowOperands::kBits;
    case ScalarOp::kShrArithmetic:
      return NarrowOperands::kSigned;
    case ScalarOp::kClz:
      return NarrowOperands::kTopBits;
    default:
      return NarrowOperands::kValues;
  }
}

}  // namespace

// --- Definitions and the functions that bind them, one for each row ---

#define UNARY(function, name_, dialect_, kinds, result, op, complex_form, element, low, high, \
              linearity, tangent)                                                             \
  const OpDef& function##_op = define<NoParams>({                                             \
      .name = name_,                                                                          \
      .dialect = dialect_,                                                                    \
      .infer = [](std::span<const Type> x,                                                    \
                  const NoParams&) { return infer(name_, kinds, ResultIs::result, 1, x); },   \
      .evaluate =                                                                             \
          [](std::span<const Literal> operands, const NoParams&) {                            \
            return std::vector{map_literals<(kinds)>(                                         \
                result_dtype(ResultIs::result, operands[0].dtype()),                          \
                [](auto x) { return element; }, operands[0])};                                \
          },                                                                                  \
      .factors = [](std::span<const Type> x, std::span<const Type> z,                         \
                    const NoParams&) { return pointwise_factors(x, z); },                     \
      .lower = Pointwise{emit_op<ScalarOp::op, (complex_form)>},                              \
      .jvp = {[](Arrays x, Arrays t, const NoParams&) {                                       \
        return unary_jvp(lax::function, function##_tangent_, x, t);                           \
      }},                                                                                     \
      .transpose =                                                                            \
          transpose_rule(Linearity::linearity,                                                \
                         [](Arrays ct, Arrays x, const std::vector<bool>&, const NoParams&) { \
                           return unary_transpose(function##_tangent_, ct, x);                \
                         }),                                                                  \
      .batch = {[](std::span<const Array> x, std::span<const int> dims, const NoParams& p) {  \
        return batch_pointwise(function##_op, p, x, dims);                                    \
      }},                                                                                     \
      .samples = [] { return samples(kinds, 1, low, high); },                                 \
      .narrow = narrow_operands(ScalarOp::op),                                                \
  });
#define BINARY(function, name_, dialect_, kinds, op, complex_form, element, low, high, linearity,  \
               tangent_x, tangent_y)                                                               \
  const OpDef& function##_op = define<NoParams>({                                                  \
      .name = name_,                                                                               \
      .dialect = dialect_,                                                                         \
      .infer = [](std::span<const Type> x,                                                         \
                  const NoParams&) { return infer(name_, kinds, ResultIs::kSame, 2, x); },         \
      .evaluate =                                                                                  \
          [](std::span<const Literal> operands, const NoParams&) {                                 \
            return std::vector{map_literals<(kinds)>(                                              \
                operands[0].dtype(), [](auto x, decltype(x) y) -> decltype(x) { return element; }, \
                operands[0], operands[1])};                                                        \
          },                                                                                       \
      .factors = [](std::span<const Type> x, std::span<const Type> z,                              \
                    const NoParams&) { return pointwise_factors(x, z); },                          \
      .lower = Pointwise{emit_op<ScalarOp::op, (complex_form)>},                                   \
      .jvp = {[](Arrays x, Arrays t, const NoParams&) {                                            \
        return binary_jvp(lax::function, function##_tangent_x, function##_tangent_y, x, t);        \
      }},                                                                                          \
      .transpose = transpose_rule(                                                                 \
          Linearity::linearity,                                                                    \
          [](Arrays ct, Arrays x, const std::vector<bool>& linear, const NoParams&) {              \
            return binary_transpose(name_, Linearity::linearity, function##_tangent_x,             \
                                    function##_tangent_y, ct, x, linear);                          \
          }),                                                                                      \
      .batch = {[](std::span<const Array> x, std::span<const int> dims, const NoParams& p) {       \
        return batch_pointwise(function##_op, p, x, dims);                                         \
      }},                                                                                          \
      .samples = [] { return samples(kinds, 2, low, high); },                                      \
      .narrow = narrow_operands(ScalarOp::op),                                                     \
  });
#include "tessera/ops/core/elementwise.def"
#undef UNARY
#undef BINARY

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

#define UNARY(function, ...) \
  Array function(const Array& x) { return bind_op1(function##_op, NoParams{}, {x}); }
#define BINARY(function, ...)                           \
  Array function(const Array& x, const Array& y) {      \
    return bind_op1(function##_op, NoParams{}, {x, y}); \
  }
#include "tessera/ops/core/elementwise.def"
#undef UNARY
#undef BINARY

Array round(const Array& x, RoundingMethod method) {
  switch (method) {
    case RoundingMethod::kAwayFromZero:
      return round_nearest_afz(x);
    case RoundingMethod::kToNearestEven:
      return round_nearest_even(x);
  }
  __builtin_unreachable();
}

Array exp2(const Array& x) { return pow(full_like(x, 2), x); }
Array square(const Array& x) { return mul(x, x); }
Array reciprocal(const Array& x) { return 1 / x; }

Array integer_pow(const Array& x, int64_t n) {
  expect_kind("integer_pow", kNumber, x.type());
  if (n < 0) {
    if (!is_inexact(x.dtype()))
      value_error(
          "integer_pow",
          "expected an exponent >= 0 for {}, got {}; convert the base to a floating-point dtype",
          describe(x.type()), n);
    // A power of the reciprocal, not the reciprocal of a power: its derivative is right at zeros
    // and infinities, and where the power but not its reciprocal overflows.
    return integer_pow(reciprocal(x), -n);
  }
  if (n == 0) return full_like(x, 1);
  Array power = x, out;
  for (;; power = mul(power, power)) {
    if (n & 1) out = out.defined() ? mul(out, power) : power;
    n >>= 1;
    if (n == 0) return out;
  }
}

}  // namespace tessera::lax
