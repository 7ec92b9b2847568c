// Sums of series with known coefficients, at every element of an array.
#pragma once

#include <span>

#include "tessera/ir/array.h"

namespace tessera::ops::special {

// Returns sum_k coefficients[k] T_k(t), with Chebyshev's polynomials T_k, by Clenshaw's recurrence
// (DLMF 3.11.16). t is in [-1, 1].
Array chebyshev(std::span<const double> coefficients, const Array& t);

// Returns sum_k coefficients[k] t^k by Horner's rule.
Array polynomial(std::span<const double> coefficients, const Array& t);

}  // namespace tessera::ops::special
