#include "tessera/ops/factor/reflector_tangents.h"

#include <algorithm>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/factor/matrix_math.h"
#include "tessera/ops/factor/matrix_op.h"
#include "tessera/ops/factor/qr_tangents.h"
#include "tessera/ops/factor/reflectors.h"
#include "tessera/ops/factor/triangular_solve.h"
#include "tessera/ops/structural/concatenate.h"

namespace tessera::ops::factor {

using namespace array_math;
using lax::linalg::triangular_solve;

namespace {

// Returns the reflectors' vectors [..., m, count]: they have ones on the diagonal and zeros above
// it.
Array vectors_of(const Array& packed, int64_t count) {
  const int64_t m = rows_of(packed.type());
  const Array columns = lower_triangle(block_of(packed, 0, m, 0, count), -1);
  const Array ones = identity_like(columns, std::max(m, count));
  return columns + block_of(ones, 0, m, 0, count);
}

Array below(const Array& top, const Array& bottom) {
  if (rows_of(bottom.type()) == 0) return top;
  return lax::concatenate(std::vector{top, bottom}, top.ndim() - 2);
}

}  // namespace

// q = E - V T V1^H for the identity's first columns E and the top V1 of V, so that q - E = V U with
// upper triangular U = -T V1^H is an LU factorisation, whose diagonal is -taus. With q - E = M,
//   V1^-1 dM1 = (V1^-1 dV1) U + dU, strictly lower and upper.
// A zero tau (the last one of a real square matrix) has no column in the strictly lower part.
ReflectorTangents reflector_tangents(const Array& packed, const Array& taus, const Array& x,
                                     const Array& dx) {
  const int64_t m = rows_of(x.type()), n = cols_of(x.type()), k = std::min(m, n),
                last = x.ndim() - 1;
  const Array vectors = vectors_of(packed, k), v1 = block_of(vectors, 0, k, 0, k),
              v2 = block_of(vectors, k, m, 0, k);
  const Array q = lax::linalg::householder_product(block_of(packed, 0, m, 0, k), taus);
  const Array r = upper_triangle(block_of(packed, 0, k, 0, n));
  const QrTangents d = qr_tangents(q, r, x, dx);
  auto over_v1 = [&](const Array& b) {
    return triangular_solve(v1, b, {.left_side = true, .lower = true, .unit_diagonal = true});
  };
  const Array m1 = block_of(q, 0, k, 0, k) - identity_like(v1, k);
  const Array upper = upper_triangle(over_v1(m1));
  const Array zero = lax::convert_element_type(diagonal_of(upper) == 0, x.dtype());
  const Array divisor = upper + diagonal_matrix(zero);
  auto over_u = [&](const Array& b) { return triangular_solve(divisor, b); };
  const Array sides = over_v1(block_of(d.q, 0, k, 0, k));
  const Array lower = lower_triangle(over_u(sides), -1);
  const Array du = upper_triangle(sides - matmul(lower, upper));
  Array dv = matmul(v1, lower);
  if (m > k) dv = below(dv, over_u(block_of(d.q, k, m, 0, k) - matmul(v2, du)));
  dv = lower_triangle(dv, -1);
  if (n > k) {
    const Array zeros = lax::zeros_like(block_of(packed, 0, m, k, n).type());
    dv = lax::concatenate(std::vector{dv, zeros}, last);
  }
  const Array dr = below(upper_triangle(d.r), lax::zeros_like(block_of(packed, k, m, 0, n).type()));
  return {dr + dv, -diagonal_of(du)};
}

// The product is E - V T V1^H with T = (1 + D N)^-1 D, where D = diag(taus) and N is the strictly
// upper part of V^H V.
Array product_tangent(const Array& packed, const Array& taus, const Array& dpacked,
                      const Array& dtaus) {
  const int64_t m = rows_of(packed.type()), n = cols_of(packed.type()),
                count = taus.shape()[taus.ndim() - 1];
  const Array v = vectors_of(packed, count), d = diagonal_matrix(taus);
  const Array inner = upper_triangle(matmul(adjoint(v), v), 1);
  const Array one = identity_like(d, count);
  auto solved = [&](const Array& b) {
    return triangular_solve(one + matmul(d, inner), b, {.left_side = true, .unit_diagonal = true});
  };
  const Array t = solved(d), top = adjoint(block_of(v, 0, n, 0, count));
  Array dt = lax::zeros_like(t.type());
  if (dtaus.defined()) {
    const Array dd = diagonal_matrix(dtaus);
    dt = solved(matmul(dd, one - matmul(inner, t)));
  }
  if (!dpacked.defined()) return -matmul(v, matmul(dt, top));
  const Array dv = lower_triangle(block_of(dpacked, 0, m, 0, count), -1);
  const Array change = matmul(adjoint(dv), v);
  const Array dinner = upper_triangle(change + adjoint(change), 1);
  dt = dt - solved(matmul(d, matmul(dinner, t)));
  const Array dtop = adjoint(block_of(dv, 0, n, 0, count));
  return -(matmul(dv, matmul(t, top)) + matmul(v, matmul(dt, top) + matmul(t, dtop)));
}

}  // namespace tessera::ops::factor
