#include "tessera/ops/core/reduce_precision.h"

#include <bit>
#include <limits>

#include "tessera/ir/scalar_op.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise_family.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/core/source_scope.h"

namespace tessera::ops {
namespace {

constexpr std::string_view kReducePrecisionOp = "reduce_precision";

// The number of bits of each part of a dtype.
struct Layout {
  int64_t bits, exponent, mantissa;
};
Layout layout_of(DType dtype) {
  switch (dtype) {
    case float16:
      return {16, 5, 10};
    case bfloat16:
      return {16, 8, 7};
    case float64:
      return {64, 11, 52};
    default:
      return {32, 8, 23};
  }
}
DType bits_of(DType dtype) {
  return itemsize(dtype) == 2 ? uint16 : itemsize(dtype) == 4 ? uint32 : uint64;
}

// Masks and bounds by which the bits of positive numbers are rounded.
struct Rounding {
  bool mantissa = false, exponent = false;  // which parts get shorter
  int64_t drop = 0;                         // how many bits of the mantissa are dropped
  uint64_t sign = 0, infinity = 0;
  uint64_t most = 0, least = 0;  // exponents above `most` become infinite, those up to `least` zero
};
Rounding rounding_of(DType dtype, const ReducePrecisionParams& p) {
  const Layout layout = layout_of(dtype);
  Rounding out;
  out.mantissa = p.mantissa_bits < layout.mantissa;
  out.exponent = p.exponent_bits < layout.exponent;
  out.drop = layout.mantissa - p.mantissa_bits;
  out.sign = uint64_t{1} << (layout.bits - 1);
  out.infinity = ((uint64_t{1} << layout.exponent) - 1) << layout.mantissa;
  if (out.exponent) {
    const int64_t bias = (int64_t{1} << (layout.exponent - 1)) - 1,
                  shorter = (int64_t{1} << (p.exponent_bits - 1)) - 1;
    out.most = static_cast<uint64_t>(bias + shorter) << layout.mantissa;
    out.least = static_cast<uint64_t>(bias - shorter) << layout.mantissa;
  }
  return out;
}

template <class Bits>
Bits rounded(Bits x, const Rounding& r) {
  const auto infinity = static_cast<Bits>(r.infinity), sign = static_cast<Bits>(r.sign);
  if ((x & ~sign) > infinity) return x;
  if (r.mantissa) {
    const auto unit = static_cast<Bits>(Bits{1} << r.drop);
    const auto last = static_cast<Bits>((x >> r.drop) & 1);
    x = static_cast<Bits>(x + last + (unit >> 1) - 1) & static_cast<Bits>(~(unit - 1));
  }
  if (r.exponent) {
    const Bits exponent = x & infinity;
    if (exponent > r.most) return static_cast<Bits>((x & sign) | infinity);
    if (exponent <= r.least) return static_cast<Bits>(x & sign);
  }
  return x;
}

std::vector<Type> infer_rounding(std::span<const Type> operands, const ReducePrecisionParams& p) {
  expect_operands(kReducePrecisionOp, operands, 1);
  const Type& x = operands[0];
  if (!is_inexact(x.dtype) || is_complex(x.dtype))
    type_error(kReducePrecisionOp,
               "expected a floating dtype, got {}; convert it with convert_element_type",
               describe(x));
  if (p.exponent_bits < 1 || p.exponent_bits > 64)
    value_error(kReducePrecisionOp, "expected 1 or more exponent_bits (C2), got {}",
                p.exponent_bits);
  if (p.mantissa_bits < 0 || p.mantissa_bits > 64)
    value_error(kReducePrecisionOp, "expected 0 or more mantissa_bits (C3), got {}",
                p.mantissa_bits);
  Type out = x;
  out.sharding.reset();
  return {out};
}

std::vector<Literal> evaluate_rounding(std::span<const Literal> operands,
                                       const ReducePrecisionParams& p) {
  Literal out = operands[0];
  const Rounding r = rounding_of(out.dtype(), p);
  const auto round = [&]<class Bits>(Bits) {
    auto* bits = reinterpret_cast<Bits*>(out.mutable_raw());
    for (int64_t i = 0; i < out.elements(); ++i) bits[i] = rounded(bits[i], r);
  };
  if (itemsize(out.dtype()) == 2) round(uint16_t{});
  if (itemsize(out.dtype()) == 4) round(uint32_t{});
  if (itemsize(out.dtype()) == 8) round(uint64_t{});
  return {out};
}

Expr emit_rounding(ExprBuilder& b, std::span<const Expr> args, const OpParams& params,
                   std::span<const Type>, const Type& result) {
  const Rounding r = rounding_of(result.dtype, params.as<ReducePrecisionParams>());
  const DType type = bits_of(result.dtype);
  const auto number = [&](uint64_t value) { return b.integer(type, static_cast<int64_t>(value)); };
  const auto apply = [&](ScalarOp op, Expr x, uint64_t y) {
    return b.apply(op, type, {x, number(y)});
  };
  const auto select = [&](Expr p, Expr yes, Expr no) {
    return b.apply(ScalarOp::kSelect, type, {p, yes, no});
  };
  const Expr bits = b.apply(ScalarOp::kBitcast, type, args);
  Expr x = bits;
  if (r.mantissa) {
    const uint64_t unit = uint64_t{1} << r.drop;
    const Expr last = apply(ScalarOp::kAnd, apply(ScalarOp::kShrLogical, x, r.drop), 1);
    const Expr bias = apply(ScalarOp::kAdd, last, (unit >> 1) - 1);
    x = apply(ScalarOp::kAnd, b.apply(ScalarOp::kAdd, type, {x, bias}), ~(unit - 1));
  }
  if (r.exponent) {
    const Expr exponent = apply(ScalarOp::kAnd, x, r.infinity);
    const Expr zero = apply(ScalarOp::kAnd, x, r.sign);
    const Expr infinite = apply(ScalarOp::kOr, zero, r.infinity);
    const Expr over = b.apply(ScalarOp::kGt, bool_, {exponent, number(r.most)});
    const Expr under = b.apply(ScalarOp::kLe, bool_, {exponent, number(r.least)});
    x = select(over, infinite, select(under, zero, x));
  }
  const Expr magnitude = apply(ScalarOp::kAnd, bits, ~r.sign);
  const Expr nan = b.apply(ScalarOp::kGt, bool_, {magnitude, number(r.infinity)});
  return b.apply(ScalarOp::kBitcast, result.dtype, {select(nan, bits, x)});
}

std::vector<Sample> rounding_samples() {
  std::vector<Sample> out;
  for (DType dtype : {float32, float64, float16, bfloat16})
    for (const auto& [exponent, mantissa] :
         {std::pair<int64_t, int64_t>{5, 10}, {8, 7}, {4, 3}, {8, 23}, {1, 0}, {11, 2}, {3, 52}})
      out.push_back(
          {.operands = {{dtype, {4, 6}}}, .params = ReducePrecisionParams{exponent, mantissa}});
  out.push_back({.operands = {{float32, {}}}, .params = ReducePrecisionParams{5, 2}});
  out.push_back({.operands = {{float32, {0}}}, .params = ReducePrecisionParams{5, 2}});
  const float inf = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> special{inf, -inf, nan, 0, -0.0F, 1.25F, 1.75F, 60000, 1e-7F, -0.0625F};
  for (DType dtype : {float32, float64, float16, bfloat16})
    out.push_back({.operands = {{dtype, {10}}},
                   .params = ReducePrecisionParams{4, 1},
                   .literals = {convert_literal(Literal::from<float>(special, {10}), dtype)}});
  return out;
}

}  // namespace

// Its derivatives treat it as linear, as in JAX: a tangent is rounded like the value.
const OpDef& reduce_precision_op = define<ReducePrecisionParams>({
    .name = kReducePrecisionOp,
    .attributes = {"exponent_bits", "mantissa_bits"},
    .infer = infer_rounding,
    .evaluate = evaluate_rounding,
    .factors = [](std::span<const Type> x, std::span<const Type> z,
                  const ReducePrecisionParams&) { return pointwise_factors(x, z); },
    .lower = Pointwise{emit_rounding},
    .jvp = {[](std::span<const Array> x, std::span<const Array> t, const ReducePrecisionParams& p) {
      return JvpResult{{bind_op1(reduce_precision_op, p, {x[0]})},
                       {t[0].defined() ? bind_op1(reduce_precision_op, p, {t[0]}) : Array()}};
    }},
    .transpose = {[](std::span<const Array> ct, std::span<const Array>, const std::vector<bool>&,
                     const ReducePrecisionParams& p) {
      return std::vector{bind_op1(reduce_precision_op, p, {ct[0]})};
    }},
    .batch = {[](std::span<const Array> x, std::span<const int> dims,
                 const ReducePrecisionParams& p) {
      return elementwise::batch_pointwise(reduce_precision_op, p, x, dims);
    }},
    .samples = rounding_samples,
});

}  // namespace tessera::ops

namespace tessera::lax {

Array reduce_precision(const Array& x, int64_t exponent_bits, int64_t mantissa_bits) {
  ops::SourceScope source(ops::kReducePrecisionOp);
  return ir::bind_op1(ops::reduce_precision_op,
                      ops::ReducePrecisionParams{exponent_bits, mantissa_bits}, {x});
}

}  // namespace tessera::lax
