// reduce_precision: rounds floats to a format of fewer bits, in their own dtype.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

struct ReducePrecisionParams {
  int64_t exponent_bits = 8;   // at least 1; bits beyond those of x change nothing
  int64_t mantissa_bits = 23;  // at least 0; the leading 1 does not count
};
extern const OpDef& reduce_precision_op;

}  // namespace tessera::ops

namespace tessera::lax {

// Returns x rounded to the nearest number of the format, ties to even: numbers that are too large
// become infinite, those below the smallest normal number zero (with their sign), NaN stays. Throws
// UserError for dtypes that are not floating, and for numbers of bits out of range.
Array reduce_precision(const Array& x, int64_t exponent_bits, int64_t mantissa_bits);

}  // namespace tessera::lax
