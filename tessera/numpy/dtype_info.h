// The limits of dtypes: numpy.finfo and numpy.iinfo.
#pragma once

#include <cstdint>

#include "tessera/base/dtype.h"

namespace tessera {

struct FloatInfo {
  int bits;           // of the whole number
  int mantissa_bits;  // explicit ones
  double max, min;    // largest and smallest finite values
  double eps;         // distance from 1 to the next larger number
  double tiny;        // smallest positive normal number
  double smallest_subnormal;
};
// Returns the limits of a floating dtype, or of the parts of a complex one. Throws UserError for
// others.
FloatInfo finfo(DType dtype);

struct IntInfo {
  int bits;
  int64_t min;
  uint64_t max;
};
// Returns the limits of an integer dtype. Throws UserError for others.
IntInfo iinfo(DType dtype);

}  // namespace tessera
