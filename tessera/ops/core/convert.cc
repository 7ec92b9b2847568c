#include "tessera/ops/core/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tessera/base/narrow.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/bitcast_elements.h"
#include "tessera/ops/core/convert_narrow.h"
#include "tessera/ops/core/elementwise_family.h"

namespace tessera::ops {
namespace {

using namespace elementwise;

template <class To, class From>
To convert_value(From x) {
  if constexpr (std::is_same_v<From, Float16> || std::is_same_v<From, Bfloat16>) {
    return convert_value<To>(static_cast<float>(x));
  } else if constexpr (std::is_same_v<From, std::complex<float>> ||
                       std::is_same_v<From, std::complex<double>>) {
    if constexpr (std::is_same_v<To, std::complex<float>> ||
                  std::is_same_v<To, std::complex<double>>) {
      return To(static_cast<typename To::value_type>(x.real()),
                static_cast<typename To::value_type>(x.imag()));
    } else {
      return convert_value<To>(x.real());
    }
  } else if constexpr (std::is_same_v<To, std::complex<float>> ||
                       std::is_same_v<To, std::complex<double>>) {
    return To(static_cast<typename To::value_type>(x), 0);
  } else if constexpr (std::is_same_v<To, Float16> || std::is_same_v<To, Bfloat16>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(x)) return 0;
    // 2^digits, one more than the largest integer of To. It is exact in From even if that integer
    // is not.
    const From limit = std::ldexp(From(1), std::numeric_limits<To>::digits);
    if (x >= limit) return std::numeric_limits<To>::max();
    if (x <= (std::is_signed_v<To> ? -limit : From(0))) return std::numeric_limits<To>::min();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

std::vector<Type> infer_convert(std::span<const Type> operands, const ConvertParams& params) {
  std::vector<Type> out = infer("convert", kAny, ResultIs::kSame, 1, operands);
  out[0].dtype = params.dtype;
  out[0].weak = params.weak;
  return out;
}

// Converts from or to a narrow dtype through the wide one (base/narrow.h).
Expr emit_narrow_convert(ExprBuilder& b, Expr x, DType to) {
  const DType from = b.dtype_of(x);
  auto convert = [&](Expr e, DType dtype) {
    return b.dtype_of(e) == dtype ? e : b.apply(ScalarOp::kConvert, dtype, {e});
  };
  if (is_narrow(from)) {
    const Expr wide = emit_widened(b, x);
    return is_narrow(to) ? emit_narrow_convert(b, wide, to) : convert(wide, to);
  }
  if (is_floating(to)) return emit_narrowed(b, from == float64 ? x : convert(x, float32), to);
  return is_floating(from) ? emit_clamped(b, x, to)
                           : emit_narrowed(b, convert(x, wide_dtype(to)), to);
}

// Complex numbers are converted by their parts.
Expr emit_convert(ExprBuilder& b, std::span<const Expr> args, const OpParams&,
                  std::span<const Type> operands, const Type& result) {
  const DType from = operands[0].dtype, to = result.dtype;
  if (from == to) return args[0];
  auto convert = [&](Expr x, DType dtype) {
    if (b.dtype_of(x) == dtype) return x;
    if (is_narrow(dtype) || is_narrow(b.dtype_of(x))) return emit_narrow_convert(b, x, dtype);
    return b.apply(ScalarOp::kConvert, dtype, {x});
  };
  if (!is_complex(from) && !is_complex(to)) return convert(args[0], to);
  const DType part = real_dtype(to);
  if (!is_complex(from))
    return b.apply(ScalarOp::kComplex, to, {convert(args[0], part), b.number(part, 0)});
  const emit::Complex z = emit::parts(b, args[0]);
  if (is_complex(to))
    return b.apply(ScalarOp::kComplex, to, {convert(z.re.e, part), convert(z.im.e, part)});
  return convert(z.re.e, to);
}

// A cotangent is converted to the operand's dtype. Dtypes without fractions have no tangents.
JvpResult convert_jvp(std::span<const Array> x, std::span<const Array> t, const ConvertParams& p) {
  const Array y = bind_op1(convert_op, p, {x[0]});
  if (!t[0].defined() || !is_inexact(p.dtype) || !is_inexact(x[0].dtype())) return {{y}, {Array()}};
  return {{y}, {bind_op1(convert_op, p, {t[0]})}};
}

std::vector<Array> convert_transpose(std::span<const Array> ct, std::span<const Array> x,
                                     const std::vector<bool>&, const ConvertParams&) {
  return {lax::convert_element_type(ct[0], x[0].dtype(), x[0].weak_type())};
}

std::vector<Sample> convert_samples() {
  std::vector<Sample> out;
  for (int from = 0; from < kNumDTypes; ++from) {
    for (int to = 0; to < kNumDTypes; ++to)
      out.push_back({.operands = {Type{.dtype = static_cast<DType>(from), .shape = {3, 5}}},
                     .params = ConvertParams{static_cast<DType>(to)},
                     .low = -300,
                     .high = 300});
  }
  for (int d = kNumDTypes; d < kNumAllDTypes; ++d) {
    const auto narrow = static_cast<DType>(d);
    for (DType wide : {float32, float64, bfloat16, int32, uint8, bool_})
      out.push_back({.operands = {Type{.dtype = wide, .shape = {3, 5}}},
                     .params = ConvertParams{narrow},
                     .low = -300,
                     .high = 300});
    for (DType other : {float32, float16, int64, bool_, complex64, uint2, float8_e5m2})
      out.push_back(
          {.operands = {Type{.dtype = narrow, .shape = {3, 5}}}, .params = ConvertParams{other}});
  }
  out.push_back({.operands = {Type{.dtype = int32, .shape = {}, .weak = true}},
                 .params = ConvertParams{float32, true}});
  return out;
}

// Returns whether both dtypes have the same width in memory. Narrow dtypes take one byte there.
bool same_width(DType a, DType b) { return itemsize(a) == itemsize(b); }

// Returns numbers as narrow integers, truncated and clamped to their range.
Literal clamped(const Literal& x, DType dtype) {
  Literal out(dtype, x.shape());
  const int bits = bit_width(dtype) - (is_signed(dtype) ? 1 : 0);
  const double most = (1 << bits) - 1, least = is_signed(dtype) ? -(1 << bits) : 0;
  const Literal numbers = convert_literal(x, float64);
  for (int64_t i = 0; i < x.elements(); ++i) {
    const double value = numbers.data<double>()[i];
    out.mutable_raw()[i] = static_cast<std::byte>(
        narrow_bits(dtype, std::isnan(value) ? 0 : std::trunc(std::clamp(value, least, most))));
  }
  return out;
}

Literal convert_narrow_literal(const Literal& x, DType dtype) {
  if (is_narrow(x.dtype())) return convert_literal(widened(x), dtype);
  if (is_complex(x.dtype()))
    return convert_literal(convert_literal(x, real_dtype(x.dtype())), dtype);
  if (is_floating(dtype)) return narrowed(convert_literal(x, float64), dtype);
  if (is_floating(x.dtype())) return clamped(x, dtype);
  return narrowed(convert_literal(x, wide_dtype(dtype)), dtype);
}

std::vector<Type> infer_bitcast(std::span<const Type> operands, const BitcastParams& params) {
  std::vector<Type> out = infer("bitcast_convert", kAny, ResultIs::kSame, 1, operands);
  const DType from = operands[0].dtype;
  if (is_complex(from) != is_complex(params.dtype) || (from == bool_) != (params.dtype == bool_))
    type_error("bitcast_convert", "expected {} both or neither (C2), got {} as {}",
               from == bool_ || params.dtype == bool_ ? "bool" : "complex", describe(operands[0]),
               params.dtype);
  if (!same_width(from, params.dtype))
    type_error("bitcast_convert",
               "expected a dtype as wide as the operand's (C1), got {} as {}; "
               "lax::bitcast_convert_type splits and joins elements",
               describe(operands[0]), params.dtype);
  out[0].dtype = params.dtype;
  out[0].weak = false;
  return out;
}

std::vector<Sample> bitcast_samples() {
  std::vector<Sample> out;
  for (auto [from, to] : {std::pair{float32, int32},
                          {int32, float32},
                          {uint32, float32},
                          {float16, uint16},
                          {uint16, bfloat16},
                          {float64, uint64},
                          {int8, uint8},
                          {float32, float32}})
    out.push_back(
        {.operands = {Type{.dtype = from, .shape = {3, 5}}}, .params = BitcastParams{to}});
  return out;
}

}  // namespace

Literal convert_literal(const Literal& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  if (is_narrow(x.dtype()) || is_narrow(dtype)) return convert_narrow_literal(x, dtype);
  Literal out(dtype, x.shape());
  visit_dtype(x.dtype(), [&]<class From>(TypeTag<From>) {
    visit_dtype(dtype, [&]<class To>(TypeTag<To>) {
      const From* from = x.data<From>();
      To* to = out.mutable_data<To>();
      for (int64_t i = 0; i < x.elements(); ++i) to[i] = convert_value<To>(from[i]);
    });
  });
  return out;
}

const OpDef& convert_op = define<ConvertParams>({
    .name = "convert",
    .attributes = {"dtype", "weak_type"},
    .infer = infer_convert,
    .evaluate = [](std::span<const Literal> x,
                   const ConvertParams& p) { return std::vector{convert_literal(x[0], p.dtype)}; },
    .factors = [](std::span<const Type> x, std::span<const Type> z,
                  const ConvertParams&) { return pointwise_factors(x, z); },
    .lower = Pointwise{emit_convert},
    .jvp = {convert_jvp},
    .transpose = {convert_transpose},
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const ConvertParams& p) {
      return batch_pointwise(convert_op, p, x, dims);
    }},
    .samples = convert_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& bitcast_convert_op = define<BitcastParams>({
    .name = "bitcast_convert",
    .attributes = {"dtype"},
    .infer = infer_bitcast,
    .evaluate =
        [](std::span<const Literal> x, const BitcastParams& p) {
          Literal out(p.dtype, x[0].shape());
          std::memcpy(out.mutable_raw(), x[0].raw(), static_cast<size_t>(out.bytes()));
          return std::vector{out};
        },
    .factors = [](std::span<const Type> x, std::span<const Type> z,
                  const BitcastParams&) { return pointwise_factors(x, z); },
    .lower = Pointwise{[](ExprBuilder& b, std::span<const Expr> args, const OpParams&,
                          std::span<const Type> operands, const Type& result) {
      return operands[0].dtype == result.dtype ? args[0]
                                               : b.apply(ScalarOp::kBitcast, result.dtype, args);
    }},
    .jvp = {[](std::span<const Array> x, std::span<const Array>, const BitcastParams& p) {
      return JvpResult{{lax::bitcast_convert_type(x[0], p.dtype)},
                       {Array()}};  // bits have no derivative
    }},
    .transpose = absent("the op is not linear"),
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const BitcastParams& p) {
      return batch_pointwise(bitcast_convert_op, p, x, dims);
    }},
    .samples = bitcast_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

Array convert_element_type(const Array& x, DType dtype, bool weak_type) {
  if (x.dtype() == dtype && x.weak_type() == weak_type) return x;
  return bind_op1(convert_op, ConvertParams{dtype, weak_type}, {x});
}

Array bitcast_convert_type(const Array& x, DType dtype) {
  // The bits have no derivative, even if the dtype stays the same.
  if (x.dtype() == dtype && !is_inexact(dtype)) return x;
  if (bit_width(x.dtype()) == bit_width(dtype) || is_complex(x.dtype()) || is_complex(dtype) ||
      x.dtype() == bool_ || dtype == bool_)
    return bind_op1(bitcast_convert_op, BitcastParams{dtype}, {x});
  return bitcast_elements(x, dtype);
}

}  // namespace tessera::lax
