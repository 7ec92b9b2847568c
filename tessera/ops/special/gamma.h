// The gamma function of real numbers, and the difference between its logarithm and Stirling's
// formula.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops::special {

// Returns gamma(x) for float32 or float64. It is +-inf at +-0, NaN at negative integers and -inf.
Array gamma(const Array& x);

// Returns log(gamma(x)) - ((x - 1/2) log(x) - x + log(2 pi) / 2) for x >= 10 (DLMF 5.11.1).
Array stirling_rest(const Array& x);

// Returns sin(pi x), exact at integers.
Array sin_pi(const Array& x);

}  // namespace tessera::ops::special
