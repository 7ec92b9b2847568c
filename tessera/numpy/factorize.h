// Factorisations of matrices in the array language, for the library's own use: initialisers and
// random matrices. Of float32 and float64; leading dimensions are batches. About 4 n m min(n, m)
// operations, most of them matrix products.
#pragma once

#include <string_view>

#include "tessera/ir/array.h"

namespace tessera::internal {

// a = q r for a of [..., n, m]: q [..., n, k] with orthonormal columns, r [..., k, m] upper
// triangular, k = min(n, m), any of them 0 too. Householder reflections, by panels (Golub and Van
// Loan, "Matrix Computations", 5.2.3). UserError naming `op` for fewer than 2 dimensions and for
// other dtypes.
struct QrFactors {
  Array q, r;
};
QrFactors qr(std::string_view op, const Array& a);

// The lower triangular l with l l^T = (a + a^T) / 2, for a of [..., n, n]; NaN everywhere in a
// matrix that is not positive definite. It has derivatives of any order. UserError naming `op` for
// matrices that are not square and for other dtypes.
Array cholesky(std::string_view op, const Array& a);

}  // namespace tessera::internal
