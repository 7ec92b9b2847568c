// The decimal text of one number: the fewest digits that read back as the same value of the same
// dtype, as NumPy and Python write them. format_array.h uses it for whole arrays.
#pragma once

#include <complex>
#include <string>

#include "tessera/base/dtype.h"

namespace tessera {

// A finite value as decimal digits: d.ddd... x 10^exponent, digits[0] != '0' unless the value is
// zero ("0", 0).
struct Decimal {
  bool negative = false;
  std::string digits;
  int exponent = 0;
};

// Returns the fewest digits that read back as `value` in its own type; if there are several, the
// ones closest to it.
Decimal shortest_decimal(double value);
Decimal shortest_decimal(float value);
Decimal shortest_decimal(Float16 value);

// Returns "1", "-1.25", "0.001": there is a point only if digits follow it.
std::string positional_text(const Decimal& decimal);
// Returns "1e+16", "1.5e-05": the exponent has at least two digits.
std::string scientific_text(const Decimal& decimal);

// Returns Python's str(float(value)): 4.004354476928711, 1.0, 1e+16, nan. Every floating type
// widens to double exactly.
std::string python_float(double value);
// Returns Python's str(complex): (1+2j), 2j, (-0-1j).
std::string python_complex(std::complex<double> value);

// Returns NumPy's str of a scalar of that type: float32 4.0043545, float16 1e+03, bfloat16
// 0.100098, bool True, (1+0.1j).
std::string numpy_scalar(bool value);
std::string numpy_scalar(int64_t value);
std::string numpy_scalar(uint64_t value);
std::string numpy_scalar(Float16 value);
std::string numpy_scalar(Bfloat16 value);
std::string numpy_scalar(float value);
std::string numpy_scalar(double value);
std::string numpy_scalar(std::complex<float> value);
std::string numpy_scalar(std::complex<double> value);

}  // namespace tessera
