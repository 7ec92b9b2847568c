// Checks of the matrices of a factorization A = B C (workload, decoder, strategy; X = C^T C): they
// must be finite, of matching shapes, and lower triangular if A, B and C are square. Each check
// throws UserError or does nothing.
#pragma once

#include <optional>

#include "tessera/privacy/matrix_factorization/matrix.h"

namespace tessera::privacy::matrix_factorization::checks {

// Entries are equal if |a - b| <= atol + rtol |b|, as in numpy's allclose.
struct Tolerance {
  double rtol = 1e-5;
  double atol = 1e-8;
};

void check_finite(const Matrix& m, const char* name);
void check_square(const Matrix& m, const char* name);
void check_lower_triangular(const Matrix& m, const char* name, Tolerance tolerance = {});
void check_symmetric(const Matrix& m, const char* name, Tolerance tolerance = {});

// The matrices of one factorization over n iterations: A [n, n], B [n, k], C [k, n], X [n, n]. Null
// pointers are not checked.
struct Factorization {
  const Matrix* A = nullptr;
  const Matrix* B = nullptr;
  const Matrix* C = nullptr;
  const Matrix* X = nullptr;
};
void check(const Factorization& matrices, Tolerance tolerance = {});

}  // namespace tessera::privacy::matrix_factorization::checks
