// Changes of dtype: of the value, or of what the bits mean.
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

// The value as another dtype, on the host: floats to integers truncate and saturate, NaN gives 0;
// integers wrap; to bool: whether it is not 0. Complex to any other drops the imaginary part, to bool
// too, as StableHLO's convert does (numpy's astype does not).
Literal convert_literal(const Literal& x, DType dtype);

}  // namespace tessera::ops

namespace tessera::lax {

// No op where nothing changes.
Array convert_element_type(const Array& x, DType dtype, bool weak_type = false);
// The same bits. Of another width: a wider dtype takes the last dimension's elements together
// (first element lowest), a narrower one adds a last dimension.
Array bitcast_convert_type(const Array& x, DType dtype);

}  // namespace tessera::lax
