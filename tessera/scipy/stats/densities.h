// Helpers that distributions share. Only source files of stats/ include this header.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::scipy::stats::internal {

// Returns log(1 - exp(-x)) for x >= 0.
Array log1m_exp(const Array& x);

// Returns log(p) for a probability p, and q = 1 - p, which has digits where p is near 1.
Array log_probability(const Array& p, const Array& q);

// Returns log(1 + x^2), also where the square overflows.
Array log1p_square(const Array& x);

}  // namespace tessera::scipy::stats::internal
