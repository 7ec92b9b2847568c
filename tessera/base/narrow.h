// Elements narrower than what is computed with: integers of 2 and 4 bits, floats of 4, 6 and 8.
//
// In memory each is a byte: its bits, and zeros above them, as ml_dtypes has them. What the bits
// mean is here, for the host; code for it is emitted by ops/core/convert_narrow.h. Rounding is to
// nearest even, and what is too large becomes what JAX makes of it: infinity where the format has
// one, else NaN, else the largest number.
#pragma once

#include <cstdint>

#include "tessera/base/literal.h"

namespace tessera {

struct NarrowFloat {
  enum class Special : uint8_t {
    kInfinity,  // the largest exponent is that of infinity and NaNs, as IEEE has it
    kOneNan,    // all bits set are NaN; no infinity
    kNoZero,    // ... and the bits of -0 are NaN; the only zero is +0
    kFinite,    // neither infinity nor NaN; NaN becomes -0
    kExponent,  // powers of two alone, 2^-127 up; all bits set are NaN
  };
  int exponent_bits, fraction_bits, bias;
  Special special;

  // All bits but the sign.
  int magnitude_bits() const { return exponent_bits + fraction_bits; }
  // The largest magnitude that is a number, as bits.
  uint32_t largest() const;
};
// Of a narrow floating-point dtype.
const NarrowFloat& narrow_float(DType dtype);

// The value of an element of a narrow dtype, and the element nearest to a value. An integer wraps;
// its value is a whole number.
double narrow_value(DType dtype, uint8_t bits);
uint8_t narrow_bits(DType dtype, double value);

// The bits of the smallest and the largest values, infinities where the dtype has them.
uint8_t narrow_lowest(DType dtype);
uint8_t narrow_highest(DType dtype);

// The same values in wide_dtype(), those of other dtypes as they are.
Literal widened(const Literal& literal);
// With zeros above the bits of elements of a narrow dtype, whatever else is there.
Literal canonical_bits(Literal literal);
// A literal of wide_dtype(dtype), or of float64 for narrow floats, in `dtype`.
Literal narrowed(const Literal& wide, DType dtype);

}  // namespace tessera
