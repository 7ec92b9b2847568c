#include "tessera/base/narrow.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/base/format.h"

namespace tessera {
namespace {

using Special = NarrowFloat::Special;

uint32_t ones(int bits) { return (uint32_t{1} << bits) - 1; }

double exponent_value(uint8_t bits) {
  return bits == 0xff ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, bits - 127);
}

// Returns the code of the nearest power of two. Ties round up. Below 2^-126, values above 2^-127
// round up to 2^-126, and the rest, except zero, becomes 2^-127.
uint8_t exponent_of(double value) {
  if (!(value > 0) || value >= 0x1.8p127) return 0xff;
  if (value < 0x1p-126) return value > 0x1p-127 ? 1 : 0;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // it is in [1/2, 1)
  return static_cast<uint8_t>(exponent - 1 + (fraction >= 0.75 ? 1 : 0) + 127);
}

double float_value(const NarrowFloat& f, uint8_t bits) {
  if (f.special == Special::kExponent) return exponent_value(bits);
  const uint32_t magnitude = bits & ones(f.magnitude_bits());
  const bool negative = (bits >> f.magnitude_bits() & 1) != 0;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (f.special == Special::kNoZero && negative && magnitude == 0) return nan;
  double value = 0;
  if (magnitude > f.largest()) {
    const bool infinite = f.special == Special::kInfinity && magnitude == f.largest() + 1;
    value = infinite ? std::numeric_limits<double>::infinity() : nan;
  } else {
    const auto exponent = static_cast<int>(magnitude >> f.fraction_bits);
    const uint32_t fraction = magnitude & ones(f.fraction_bits);
    const uint32_t whole = exponent > 0 ? fraction | uint32_t{1} << f.fraction_bits : fraction;
    value = std::ldexp(whole, std::max(exponent, 1) - f.bias - f.fraction_bits);
  }
  return negative ? -value : value;
}

uint8_t float_bits(const NarrowFloat& f, double value) {
  if (f.special == Special::kExponent) return exponent_of(value);
  const uint32_t sign = uint32_t{1} << f.magnitude_bits();
  const uint32_t above = f.largest() + 1;
  if (std::isnan(value)) {
    const uint32_t negative = std::signbit(value) ? sign : 0;
    switch (f.special) {
      case Special::kInfinity:
        return static_cast<uint8_t>(above | uint32_t{1} << (f.fraction_bits - 1) | negative);
      case Special::kOneNan:
        return static_cast<uint8_t>(above | negative);
      default:
        return static_cast<uint8_t>(sign);
    }
  }
  const double magnitude = std::abs(value);
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  // The exponent of the last bit of numbers of this magnitude.
  const int last = std::max(exponent - 1, 1 - f.bias) - f.fraction_bits;
  uint32_t bits = magnitude == 0 ? 0 : above;
  if (magnitude > 0 && std::isfinite(magnitude)) {
    const double whole = std::nearbyint(std::ldexp(magnitude, -last));
    // The bits of the smallest numbers have the exponent of the next larger ones without the hidden
    // bit; rounding up to a power of two carries into the exponent.
    const int64_t field = last + f.fraction_bits + f.bias - 1;
    bits = static_cast<uint32_t>(
        std::min<int64_t>((field << f.fraction_bits) + static_cast<int64_t>(whole), above));
  }
  if (bits > f.largest()) {
    if (f.special == Special::kNoZero) return static_cast<uint8_t>(sign);
    if (f.special == Special::kFinite) bits = f.largest();
  }
  if (bits == 0 && f.special == Special::kNoZero) return 0;
  return static_cast<uint8_t>(bits | (std::signbit(value) ? sign : 0));
}

}  // namespace

uint32_t NarrowFloat::largest() const {
  switch (special) {
    case Special::kInfinity:
      return (ones(exponent_bits) << fraction_bits) - 1;
    case Special::kOneNan:
      return ones(magnitude_bits()) - 1;
    case Special::kNoZero:
    case Special::kFinite:
      return ones(magnitude_bits());
    case Special::kExponent:
      return 0xfe;
  }
  __builtin_unreachable();
}

const NarrowFloat& narrow_float(DType dtype) {
  static constexpr NarrowFloat kFormats[] = {
      {3, 4, 3, Special::kInfinity}, {4, 3, 7, Special::kInfinity},
      {4, 3, 11, Special::kNoZero},  {4, 3, 7, Special::kOneNan},
      {4, 3, 8, Special::kNoZero},   {5, 2, 15, Special::kInfinity},
      {5, 2, 16, Special::kNoZero},  {8, 0, 127, Special::kExponent},
      {2, 1, 1, Special::kFinite},   {2, 3, 1, Special::kFinite},
      {3, 2, 3, Special::kFinite}};
  TESSERA_CHECK(is_narrow(dtype) && is_floating(dtype), "{}", dtype);
  return kFormats[static_cast<int>(dtype) - static_cast<int>(float8_e3m4)];
}

double narrow_value(DType dtype, uint8_t bits) {
  if (is_floating(dtype)) return float_value(narrow_float(dtype), bits);
  const int width = bit_width(dtype);
  const auto code = static_cast<int>(bits & ones(width));
  return is_signed(dtype) && code >> (width - 1) ? code - (1 << width) : code;
}

uint8_t narrow_bits(DType dtype, double value) {
  if (is_floating(dtype)) return float_bits(narrow_float(dtype), value);
  return static_cast<uint8_t>(static_cast<uint32_t>(static_cast<int64_t>(value)) &
                              ones(bit_width(dtype)));
}

uint8_t narrow_highest(DType dtype) {
  if (is_integer(dtype))
    return static_cast<uint8_t>(ones(bit_width(dtype) - (is_signed(dtype) ? 1 : 0)));
  const NarrowFloat& f = narrow_float(dtype);
  return static_cast<uint8_t>(f.largest() + (f.special == Special::kInfinity ? 1 : 0));
}

uint8_t narrow_lowest(DType dtype) {
  if (is_unsigned(dtype) || dtype == float8_e8m0fnu) return 0;
  const uint32_t sign = uint32_t{1} << (bit_width(dtype) - 1);
  return static_cast<uint8_t>(is_integer(dtype) ? sign : sign | narrow_highest(dtype));
}

Literal widened(const Literal& literal) {
  if (!is_narrow(literal.dtype())) return literal;
  const DType wide = wide_dtype(literal.dtype());
  Literal out(wide, literal.shape());
  const auto* from = reinterpret_cast<const uint8_t*>(literal.raw());
  for (int64_t i = 0; i < literal.elements(); ++i) {
    const double value = narrow_value(literal.dtype(), from[i]);
    if (wide == float32) {
      out.mutable_data<float>()[i] = static_cast<float>(value);
    } else if (wide == int8) {
      out.mutable_data<int8_t>()[i] = static_cast<int8_t>(value);
    } else {
      out.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(value);
    }
  }
  return out;
}

Literal canonical_bits(Literal literal) {
  const int width = bit_width(literal.dtype());
  if (!is_narrow(literal.dtype()) || width == 8) return literal;
  std::byte* bytes = literal.mutable_raw();
  for (int64_t i = 0; i < literal.bytes(); ++i) bytes[i] &= static_cast<std::byte>(ones(width));
  return literal;
}

Literal narrowed(const Literal& wide, DType dtype) {
  TESSERA_CHECK(
      wide.dtype() == wide_dtype(dtype) || (wide.dtype() == float64 && is_floating(dtype)),
      "{} as {}", wide.dtype(), dtype);
  Literal out(dtype, wide.shape());
  auto* to = reinterpret_cast<uint8_t*>(out.mutable_raw());
  for (int64_t i = 0; i < wide.elements(); ++i) {
    const double value = wide.dtype() == float64   ? wide.data<double>()[i]
                         : wide.dtype() == float32 ? wide.data<float>()[i]
                         : wide.dtype() == int8    ? wide.data<int8_t>()[i]
                                                   : wide.data<uint8_t>()[i];
    to[i] = narrow_bits(dtype, value);
  }
  return out;
}

}  // namespace tessera
