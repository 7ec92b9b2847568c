// Conversions between dtypes: of the value, or of the bits.
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

// Returns the value as another dtype, on the host: floats to integers truncate and saturate, NaN
// becomes 0; integers wrap; to bool: whether it is not 0. Complex to any other dtype drops the
// imaginary part, to bool too, as StableHLO's convert does (numpy's astype does not).
Literal convert_literal(const Literal& x, DType dtype);

}  // namespace tessera::ops

namespace tessera::lax {

// Returns x itself if nothing changes.
Array convert_element_type(const Array& x, DType dtype, bool weak_type = false);
// Returns the same bits as another dtype. If the width differs, a wider dtype combines the last
// dimension's elements (first element lowest), and a narrower one adds a last dimension.
Array bitcast_convert_type(const Array& x, DType dtype);

}  // namespace tessera::lax
