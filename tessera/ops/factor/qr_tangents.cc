#include "tessera/ops/factor/qr_tangents.h"

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/factor/matrix_math.h"
#include "tessera/ops/factor/matrix_op.h"
#include "tessera/ops/factor/triangular_solve.h"
#include "tessera/ops/structural/concatenate.h"

namespace tessera::ops::factor {

using namespace array_math;

namespace {

// Returns the tangents for m by n matrices with m >= n
// (https://j-towns.github.io/papers/qr-derivative.pdf). The phase of each column changes such that
// r's diagonal stays real.
QrTangents tall_tangents(const Array& q, const Array& r, const Array& dx) {
  const Array right = lax::linalg::triangular_solve(r, dx);
  const Array inner = matmul(adjoint(q), right);
  const Array below = lower_triangle(inner, -1);
  Array skew = below - adjoint(below);
  if (is_complex(inner.dtype())) {
    const Array diagonal = diagonal_of(inner);
    skew = skew + diagonal_matrix(diagonal - in_dtype_of(lax::real(diagonal), diagonal));
  }
  return {matmul(q, skew - inner) + right, matmul(inner - skew, r)};
}

}  // namespace

QrTangents qr_tangents(const Array& q, const Array& r, const Array& x, const Array& dx) {
  const int64_t m = rows_of(x.type()), n = cols_of(x.type());
  if (m >= n) return tall_tangents(q, r, dx);
  // With x = [x1 x2], r = [r1 r2] and square x1: x1 = q r1 and r2 = q^H x2.
  QrTangents d = tall_tangents(q, block_of(r, 0, m, 0, m), block_of(dx, 0, m, 0, m));
  const Array dr2 =
      matmul(adjoint(d.q), block_of(x, 0, m, m, n)) + matmul(adjoint(q), block_of(dx, 0, m, m, n));
  d.r = lax::concatenate(std::vector{d.r, dr2}, x.ndim() - 1);
  return d;
}

}  // namespace tessera::ops::factor
