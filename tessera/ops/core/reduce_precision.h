// reduce_precision: floats rounded to what a format of fewer bits holds, in their own dtype.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

struct ReducePrecisionParams {
  int64_t exponent_bits = 8;   // at least 1; more than x has change nothing
  int64_t mantissa_bits = 23;  // without the leading one; at least 0
};
extern const OpDef& reduce_precision_op;

}  // namespace tessera::ops

namespace tessera::lax {

// To the nearest, ties to even; what is too large becomes infinite, what is below the smallest normal
// number zero (of its sign), NaN stays. Of floating dtypes; UserError for others and for such bits.
Array reduce_precision(const Array& x, int64_t exponent_bits, int64_t mantissa_bits);

}  // namespace tessera::lax
