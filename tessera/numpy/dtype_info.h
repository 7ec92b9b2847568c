// What a dtype can hold: numpy.finfo and numpy.iinfo.
#pragma once

#include <cstdint>

#include "tessera/base/dtype.h"

namespace tessera {

struct FloatInfo {
  int bits;           // of the whole number
  int mantissa_bits;  // explicit ones
  double max, min;    // largest and smallest finite values
  double eps;         // from 1 to the next number
  double tiny;        // smallest positive normal number
  double smallest_subnormal;
};
// Of a floating or (its parts) complex dtype; UserError for others.
FloatInfo finfo(DType dtype);

struct IntInfo {
  int bits;
  int64_t min;
  uint64_t max;
};
// Of an integer dtype; UserError for others.
IntInfo iinfo(DType dtype);

}  // namespace tessera
