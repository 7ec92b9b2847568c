// Factorisations of float32 and float64 matrices, written in the array language for the library's
// initialisers and random matrices. Leading dimensions are batches. They take about 4 n m min(n, m)
// operations, most of them in matrix products.
#pragma once

#include <string_view>

#include "tessera/ir/array.h"

namespace tessera::internal {

// qr returns a = q r for a of [..., n, m]: q [..., n, k] has orthonormal columns and r [..., k, m]
// is upper triangular, with k = min(n, m). Extents may be 0. It computes Householder reflections in
// panels (Golub and Van Loan, "Matrix Computations", 5.2.3). Throws UserError naming `op` for fewer
// than 2 dimensions and for other dtypes.
struct QrFactors {
  Array q, r;
};
QrFactors qr(std::string_view op, const Array& a);

// Returns the lower triangular l with l l^T = (a + a^T) / 2, for a of [..., n, n]. A matrix that is
// not positive definite gives NaN everywhere. The result has derivatives of any order. Throws
// UserError naming `op` for matrices that are not square and for other dtypes.
Array cholesky(std::string_view op, const Array& a);

}  // namespace tessera::internal
