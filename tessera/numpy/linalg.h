// Linear algebra, as in jax.numpy.linalg, and expm of jax.scipy.linalg. Matrices are the last two
// dimensions, [..., m, n]; those before are batches. Integers become floating first; float32,
// float64, complex64 and complex128 are computed by LAPACK, with derivatives.
//
//   const auto [u, s, vh] = linalg::svd(x, false);
//   linalg::solve(a, b);
//   linalg::norm(x, {.ord = "nuc"});
//
// A matrix without the factorisation gives NaN, as in JAX. Errors, of all: UserError for fewer than
// two dimensions, matrices that are not square where they must be, shapes that do not fit each
// other, and float16 and bfloat16 where LAPACK is needed.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"

namespace tessera::linalg {

// --- Factorisations ---

// The lower l with l l^H = (a + a^H) / 2, or the upper u = l^H; of a's lower triangle alone unless
// it symmetrizes.
struct CholeskyOptions {
  bool upper = false;
  bool symmetrize_input = true;
};
Array cholesky(const Array& a, const CholeskyOptions& options = {});

// kReduced: q of [..., m, k], r of [..., k, n], k = min(m, n); kComplete: k = m.
enum class QrMode : uint8_t { kReduced, kComplete };
struct Qr {
  Array q, r;
};
Qr qr(const Array& a, QrMode mode = QrMode::kReduced);

// a = u diag(s) vh, s descending; u of [..., m, m] and vh of [..., n, n], or [..., m, k] and
// [..., k, n]. Derivatives are those of the latter.
struct Svd {
  Array u, s, vh;
};
Svd svd(const Array& a, bool full_matrices = true);
Array svdvals(const Array& a);

struct Eigen {
  Array eigenvalues, eigenvectors;  // vectors as columns
};
// Of Hermitian matrices, ascending; of (a + a^H) / 2 unless it does not symmetrize, where `lower`
// says which triangle is read.
struct EighOptions {
  bool lower = true;
  bool symmetrize_input = true;
};
Eigen eigh(const Array& a, const EighOptions& options = {});
Array eigvalsh(const Array& a, const EighOptions& options = {});
// Of any square matrices, complex, in no order.
Eigen eig(const Array& a);
Array eigvals(const Array& a);

// --- Equations ---

// x with a x = b: b a vector [m] for all matrices, or [..., m, k]; batches broadcast.
Array solve(const Array& a, const Array& b);
Array inv(const Array& a);
// The pseudoinverse: singular values up to rtol (10 max(m, n) epsilon unless given) of the largest
// count as 0.
Array pinv(const Array& a, std::optional<double> rtol = {});
// The x of least norm with the least |a x - b|, for a of [m, n] and b of [m] or [m, k]; squares of
// what is left, [k]; a's rank, counting singular values of at least rcond (epsilon max(m, n) unless
// given) of the largest; the singular values.
struct Lstsq {
  Array x, residuals, rank, s;
};
Lstsq lstsq(const Array& a, const Array& b, std::optional<double> rcond = {});

// The x with tensordot(a, x, x.ndim()) = b, for a of [b's dimensions..., x's dimensions...] once
// `axes` are moved to its end, ascending, as in JAX.
Array tensorsolve(const Array& a, const Array& b, const Axes& axes = None);
// The inverse of a as a map from its first `ind` dimensions to the others: of [others..., first...].
Array tensorinv(const Array& a, int64_t ind = 2);

// --- Numbers of a matrix ---

// Of singular matrices too it has the derivative that JAX gives: the matrix of cofactors, 0 where
// the rank is less than n - 1.
Array det(const Array& a);
// det = sign * exp(logabsdet); 0 and -inf of singular matrices.
struct Slogdet {
  Array sign, logabsdet;
};
Slogdet slogdet(const Array& a);
// How many singular values are above rtol times the largest (max(m, n) epsilon unless given).
Array matrix_rank(const Array& a, std::optional<double> rtol = {});
Array trace(const Array& a, int64_t offset = 0);

// Which norm: a number, INFINITY and -INFINITY too; "fro" and "nuc" of matrices.
class Order {
 public:
  Order(double p) : p_(p) {}
  Order(const char* name) : name_(name) {}
  double p() const { return p_; }
  const std::string& name() const { return name_; }  // empty: the number

 private:
  double p_ = 0;
  std::string name_;
};
struct NormOptions {
  std::optional<Order> ord = {};  // none: the root of the sum of squares
  Axes axis = None;               // one: of vectors; two: of matrices; None: all
  bool keepdims = false;
};
Array norm(const Array& x, const NormOptions& options = {});
struct VectorNormOptions {
  Axes axis = None;
  bool keepdims = false;
  double ord = 2;
};
Array vector_norm(const Array& x, const VectorNormOptions& options = {});
Array matrix_norm(const Array& x, const Order& ord = "fro", bool keepdims = false);
// The norm of a times that of its inverse; by the singular values for 2, which is the default.
Array cond(const Array& a, const Order& ord = 2);

// --- Functions and products ---

Array matrix_power(const Array& a, int64_t n);
// Scaling and squaring with the Pade approximants that jax.scipy.linalg.expm takes for large norms;
// NaN where it would square more than 16 times.
Array expm(const Array& a);
// Of vectors of three elements along `axis`, broadcast.
Array cross(const Array& x, const Array& y, int64_t axis = -1);
Array outer(const Array& x, const Array& y);  // of two vectors
// The product of matrices in the order that multiplies least; the first and the last may be vectors.
Array multi_dot(const std::vector<Array>& arrays);
Array matrix_transpose(const Array& a);
Array diagonal(const Array& a, int64_t offset = 0);

}  // namespace tessera::linalg
