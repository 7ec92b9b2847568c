#include "tessera/numpy/dtype_info.h"

#include <cmath>

#include "tessera/ir/format.h"

namespace tessera {

FloatInfo finfo(DType dtype) {
  const auto make = [](int bits, int mantissa, int max_exponent) {
    const double eps = std::ldexp(1, -mantissa), max = std::ldexp(2 - eps, max_exponent);
    const double tiny = std::ldexp(1, 1 - max_exponent);
    return FloatInfo{bits, mantissa, max, -max, eps, tiny, tiny * eps};
  };
  switch (real_dtype(dtype)) {
    case float16:
      return make(16, 10, 15);
    case bfloat16:
      return make(16, 7, 127);
    case float32:
      return make(32, 23, 127);
    case float64:
      return make(64, 52, 1023);
    default:
      type_error("finfo",
                 "expected a floating-point or complex dtype, got {}; iinfo describes integers",
                 dtype);
  }
}

IntInfo iinfo(DType dtype) {
  if (!is_integer(dtype))
    type_error("iinfo", "expected an integer dtype, got {}; finfo describes floating-point dtypes",
               dtype);
  const int bits = static_cast<int>(itemsize(dtype)) * 8;
  if (is_signed(dtype))
    return {bits, static_cast<int64_t>(~uint64_t{0} << (bits - 1)), ~uint64_t{0} >> (65 - bits)};
  return {bits, 0, ~uint64_t{0} >> (64 - bits)};
}

}  // namespace tessera
