// Conversion of arrays to other dtypes: of values, or of bits.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

struct ConvertParams {
  DType dtype = float32;
  bool weak = false;  // the result is weakly typed, as when two weak types meet
};
struct BitcastParams {
  DType dtype = float32;
};
extern const OpDef& convert_op;
extern const OpDef& bitcast_convert_op;

// Returns x converted to another dtype, on the host. Floats become integers by truncation, and
// saturate; NaN becomes 0. Integers wrap. A bool says whether the number is not 0. Complex numbers
// lose their imaginary parts, for bool too, as in StableHLO's convert (numpy's astype differs).
Literal convert_literal(const Literal& x, DType dtype);

}  // namespace tessera::ops

namespace tessera::lax {

// Returns x with its elements converted to `dtype`. If dtype and weak type stay the same, that is x
// itself.
Array convert_element_type(const Array& x, DType dtype, bool weak_type = false);
// Returns the bits of x as elements of another dtype. If the widths differ, a wider dtype combines
// the last dimension's elements (first element lowest), and a narrower one adds a last dimension.
Array bitcast_convert_type(const Array& x, DType dtype);

}  // namespace tessera::lax
