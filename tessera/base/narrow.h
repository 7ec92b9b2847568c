// Dtypes that are narrower than those in which arithmetic is done: integers of 2 and 4 bits, floats
// of 4, 6 and 8.
//
// In memory an element is one byte: its bits, with zeros above them, as in ml_dtypes. This file
// decodes and encodes the bits on the host; ops/core/convert_narrow.h emits code that does so.
// Rounding is to the nearest, ties to even. A value that is too large becomes, as in JAX, infinity
// if the format has one, otherwise NaN if it has one, otherwise the largest number.
#pragma once

#include <cstdint>

#include "tessera/base/literal.h"

namespace tessera {

struct NarrowFloat {
  enum class Special : uint8_t {
    kInfinity,  // the largest exponent means infinity and NaN, as in IEEE 754
    kOneNan,    // if all bits are set it is NaN; there is no infinity
    kNoZero,    // like kOneNan, and the bits of -0 are NaN; the only zero is +0
    kFinite,    // there is neither infinity nor NaN; a NaN becomes -0
    kExponent,  // only powers of two, from 2^-127 up; if all bits are set it is NaN
  };
  int exponent_bits, fraction_bits, bias;
  Special special;

  // Returns the number of bits without the sign.
  int magnitude_bits() const { return exponent_bits + fraction_bits; }
  // Returns the bits of the largest magnitude that is a number.
  uint32_t largest() const;
};
// Returns the format of a narrow floating-point dtype.
const NarrowFloat& narrow_float(DType dtype);

// narrow_value returns the value of an element of a narrow dtype, and narrow_bits the element
// nearest to a value. Integers wrap; their values are whole numbers.
double narrow_value(DType dtype, uint8_t bits);
uint8_t narrow_bits(DType dtype, double value);

// Return the bits of the smallest and the largest value, which are infinities if the dtype has
// them.
uint8_t narrow_lowest(DType dtype);
uint8_t narrow_highest(DType dtype);

// Returns the literal with the same values in wide_dtype(); if its dtype is not narrow, it is
// returned unchanged.
Literal widened(const Literal& literal);
// Returns the literal with the unused upper bits of its elements, of a narrow dtype, set to zero.
Literal canonical_bits(Literal literal);
// Returns a literal of wide_dtype(dtype), or of float64 for narrow floats, converted to `dtype`.
Literal narrowed(const Literal& wide, DType dtype);

}  // namespace tessera
