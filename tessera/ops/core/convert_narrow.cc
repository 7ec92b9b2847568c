#include "tessera/ops/core/convert_narrow.h"

#include <bit>
#include <cmath>

#include "tessera/base/narrow.h"

namespace tessera::ops {
namespace {

using Special = NarrowFloat::Special;

// A node of an unsigned integer; arithmetic is modulo 2^width.
struct Int {
  ExprBuilder* b;
  Expr e;

  Int apply(ScalarOp op, Int other) const {
    return {b, b->apply(op, b->dtype_of(e), {e, other.e})};
  }
  Int number(uint64_t value) const {
    return {b, b->integer(b->dtype_of(e), static_cast<int64_t>(value))};
  }
  Expr compare(ScalarOp op, Int other) const { return b->apply(op, bool_, {e, other.e}); }
  Int as(DType dtype) const { return {b, b->apply(ScalarOp::kConvert, dtype, {e})}; }
  Expr bits_as(DType dtype) const { return b->apply(ScalarOp::kBitcast, dtype, {e}); }
};
Int operator+(Int x, Int y) { return x.apply(ScalarOp::kAdd, y); }
Int operator-(Int x, Int y) { return x.apply(ScalarOp::kSub, y); }
Int operator&(Int x, uint64_t c) { return x.apply(ScalarOp::kAnd, x.number(c)); }
Int operator|(Int x, Int y) { return x.apply(ScalarOp::kOr, y); }
Int operator+(Int x, uint64_t c) { return x + x.number(c); }
Int operator-(Int x, uint64_t c) { return x - x.number(c); }
Int shl(Int x, int by) { return by ? x.apply(ScalarOp::kShl, x.number(by)) : x; }
Int shr(Int x, int by) { return by ? x.apply(ScalarOp::kShrLogical, x.number(by)) : x; }
Int min(Int x, uint64_t c) { return x.apply(ScalarOp::kMin, x.number(c)); }
Expr is_less(Int x, uint64_t c) { return x.compare(ScalarOp::kLt, x.number(c)); }
Expr is_more(Int x, uint64_t c) { return x.compare(ScalarOp::kGt, x.number(c)); }
Expr equals(Int x, uint64_t c) { return x.compare(ScalarOp::kEq, x.number(c)); }
Int select(Expr p, Int x, Int y) {
  return {x.b, x.b->apply(ScalarOp::kSelect, x.b->dtype_of(x.e), {p, x.e, y.e})};
}
Int select(Expr p, uint64_t c, Int y) { return select(p, y.number(c), y); }

uint64_t ones(int bits) { return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

// IEEE's formats in which narrow numbers are computed.
struct WideFloat {
  DType dtype, bits;
  int width, fraction_bits, bias;
  uint64_t power_of_two(int exponent) const {
    return static_cast<uint64_t>(exponent + bias) << fraction_bits;
  }
  uint64_t infinity() const { return ones(width - 1) & ~ones(fraction_bits); }
};
constexpr WideFloat kFloat32{float32, uint32, 32, 23, 127}, kFloat64{float64, uint64, 64, 52, 1023};

constexpr uint32_t kNan32 = 0x7fc00000;

Expr widened_float(const NarrowFloat& f, Int code) {
  const WideFloat& w = kFloat32;
  if (f.special == Special::kExponent) {
    const Int bits = select(equals(code, 0), 0x00400000, shl(code, w.fraction_bits));  // 2^-127
    return select(equals(code, 0xff), kNan32, bits).bits_as(float32);
  }
  const Int magnitude = code & ones(f.magnitude_bits());
  const Int sign = shl(shr(code, f.magnitude_bits()), 31);
  const int smallest = 1 - f.bias - f.fraction_bits;  // small numbers are multiples of 2^smallest
  ExprBuilder& b = *code.b;
  const Expr whole = b.apply(ScalarOp::kConvert, float32, {magnitude.e});
  const Expr small =
      b.apply(ScalarOp::kMul, float32, {whole, b.number(float32, std::ldexp(1.0, smallest))});
  const Int normal = shl(magnitude, w.fraction_bits - f.fraction_bits) +
                     (static_cast<uint64_t>(w.bias - f.bias) << w.fraction_bits);
  Int bits = select(is_less(magnitude, uint64_t{1} << f.fraction_bits),
                    Int{&b, b.apply(ScalarOp::kBitcast, uint32, {small})}, normal);
  if (f.special == Special::kInfinity)
    bits = select(equals(magnitude, f.largest() + 1), w.infinity(),
                  select(is_more(magnitude, f.largest() + 1), kNan32, bits));
  if (f.special == Special::kOneNan) bits = select(is_more(magnitude, f.largest()), kNan32, bits);
  bits = bits | sign;
  if (f.special == Special::kNoZero) bits = select(equals(code, ones(8) & ~ones(7)), kNan32, bits);
  return bits.bits_as(float32);
}

// Returns the code of a format that has only exponents (float8_e8m0fnu): the nearest power of two.
// 1.5 times a power and more is rounded up.
Int exponent_of(const WideFloat& w, Int bits) {
  const Int up = shr(bits + (uint64_t{1} << (w.fraction_bits - 1)), w.fraction_bits) -
                 static_cast<uint64_t>(w.bias - kFloat32.bias);
  const uint64_t least = w.width == 32 ? 0x00400000 : w.power_of_two(-127);  // the bits of 2^-127
  const Int small = select(is_more(bits, least), 1, bits.number(0));
  const Int power = min(select(is_less(bits, w.power_of_two(-126)), small, up), 0xff);
  // Zero, infinities, NaN and negative numbers become NaN: the sign bit makes negative ones compare
  // as larger than infinity.
  return select(equals(bits, 0), 0xff, select(is_more(bits, w.infinity() - 1), 0xff, power));
}

Int narrowed_float(const NarrowFloat& f, Expr number, ExprBuilder& b) {
  const WideFloat& w = b.dtype_of(number) == float64 ? kFloat64 : kFloat32;
  const Int all{&b, b.apply(ScalarOp::kBitcast, w.bits, {number})};
  if (f.special == Special::kExponent) return exponent_of(w, all);
  const Int magnitude = all & ones(w.width - 1), sign = shr(all, w.width - 1);
  // Normal numbers are rounded to the nearest even last bit, which may carry into the exponent.
  const int dropped = w.fraction_bits - f.fraction_bits;
  const Int odd = shr(magnitude, dropped) & 1;
  const Int rounded = shr(magnitude + (ones(dropped - 1)) + odd, dropped);
  const Int normal = rounded - (static_cast<uint64_t>(w.bias - f.bias) << f.fraction_bits);
  // Smaller numbers are rounded by adding a number so large that the last bit of the sum is the
  // format's.
  const int smallest = 1 - f.bias - f.fraction_bits;
  const double large = std::ldexp(1.0, smallest + w.fraction_bits);
  const Expr absolute = magnitude.bits_as(w.dtype);
  const Int sum{&b,
                b.apply(ScalarOp::kBitcast, w.bits,
                        {b.apply(ScalarOp::kAdd, w.dtype, {absolute, b.number(w.dtype, large)})})};
  const Int small = sum - w.power_of_two(smallest + w.fraction_bits);
  Int code = select(is_less(magnitude, w.power_of_two(1 - f.bias)), small, normal);
  const uint64_t above = f.largest() + 1;
  const Int signed_zero = shl(sign, f.magnitude_bits());
  const uint64_t minus_zero = uint64_t{1} << f.magnitude_bits();
  const Expr nan = is_more(magnitude, w.infinity());
  switch (f.special) {
    case Special::kInfinity:
      code = select(nan, above | uint64_t{1} << (f.fraction_bits - 1), min(code, above));
      return code | signed_zero;
    case Special::kOneNan:
      return min(code, above) | signed_zero;
    case Special::kNoZero: {
      const Int with_sign = select(equals(code, 0), 0, code | signed_zero);
      return select(is_more(code, f.largest()), minus_zero, with_sign);
    }
    default:
      return select(nan, minus_zero, min(code, f.largest()) | signed_zero);
  }
}

}  // namespace

Expr emit_widened(ExprBuilder& b, Expr narrow) {
  const DType dtype = b.dtype_of(narrow);
  const Int code{&b, b.apply(ScalarOp::kBitcast, uint8, {narrow})};
  if (is_floating(dtype))
    return widened_float(narrow_float(dtype), code.as(uint32) & ones(bit_width(dtype)));
  const Int bits = code & ones(bit_width(dtype));
  if (!is_signed(dtype)) return bits.e;
  const int unused = 8 - bit_width(dtype);
  const Int top{&b, shl(bits, unused).bits_as(int8)};
  return top.apply(ScalarOp::kShrArithmetic, top.number(unused)).e;
}

Expr emit_narrowed(ExprBuilder& b, Expr wide, DType dtype) {
  if (is_floating(dtype)) {
    return narrowed_float(narrow_float(dtype), wide, b).as(uint8).bits_as(dtype);
  }
  const Expr byte = b.dtype_of(wide) == uint8 ? wide : b.apply(ScalarOp::kBitcast, uint8, {wide});
  return (Int{&b, byte} & ones(bit_width(dtype))).bits_as(dtype);
}

Expr emit_clamped(ExprBuilder& b, Expr number, DType dtype) {
  const DType wide = wide_dtype(dtype);
  const int bits = bit_width(dtype) - (is_signed(dtype) ? 1 : 0);
  Expr out = b.apply(ScalarOp::kConvert, wide, {number});
  out = b.apply(ScalarOp::kMin, wide, {out, b.integer(wide, (1 << bits) - 1)});
  if (is_signed(dtype)) out = b.apply(ScalarOp::kMax, wide, {out, b.integer(wide, -(1 << bits))});
  return emit_narrowed(b, out, dtype);
}

}  // namespace tessera::ops
