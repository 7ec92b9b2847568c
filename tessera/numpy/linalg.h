// Linear algebra, as in jax.numpy.linalg, and expm of jax.scipy.linalg. Matrices are the last two
// dimensions, [..., m, n]; dimensions before them are batches. Integers first become floating.
// float32, float64, complex64 and complex128 are computed by LAPACK, with derivatives.
//
//   const auto [u, s, vh] = linalg::svd(x, false);
//   linalg::solve(a, b);
//   linalg::norm(x, {.ord = "nuc"});
//
// A matrix that does not have the factorisation gives NaN, as in JAX. All functions throw UserError
// for fewer than two dimensions, for matrices that are not square but must be, for shapes that do
// not fit each other, and for float16 and bfloat16 if LAPACK is needed.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"

namespace tessera::linalg {

// --- Factorisations ---

// Returns the lower triangular l with l l^H = (a + a^H) / 2, or the upper u = l^H. Without
// symmetrize_input only a's lower triangle is read.
struct CholeskyOptions {
  bool upper = false;
  bool symmetrize_input = true;
};
Array cholesky(const Array& a, const CholeskyOptions& options = {});

// With kReduced q is [..., m, k] and r [..., k, n], where k = min(m, n). With kComplete k = m.
enum class QrMode : uint8_t { kReduced, kComplete };
struct Qr {
  Array q, r;
};
Qr qr(const Array& a, QrMode mode = QrMode::kReduced);

// a = u diag(s) vh, with s descending. u is [..., m, m] and vh [..., n, n]; without full_matrices
// they are [..., m, k] and [..., k, n], with k = min(m, n). If m != n, only the latter have
// derivatives.
struct Svd {
  Array u, s, vh;
};
Svd svd(const Array& a, bool full_matrices = true);
Array svdvals(const Array& a);

struct Eigen {
  Array eigenvalues, eigenvectors;  // eigenvectors are columns
};
// Return the eigenvalues (ascending) and eigenvectors of the Hermitian matrices (a + a^H) / 2.
// Without symmetrize_input only one triangle of a is read: the lower one if `lower` is set.
struct EighOptions {
  bool lower = true;
  bool symmetrize_input = true;
};
Eigen eigh(const Array& a, const EighOptions& options = {});
Array eigvalsh(const Array& a, const EighOptions& options = {});
// Return the eigenvalues and eigenvectors of square matrices, as complex numbers in no order.
Eigen eig(const Array& a);
Array eigvals(const Array& a);

// --- Equations ---

// Returns x with a x = b. b is a vector [m] for all matrices, or [..., m, k]. Batches broadcast.
Array solve(const Array& a, const Array& b);
Array inv(const Array& a);
// Returns the pseudoinverse. Singular values up to rtol times the largest count as 0; the default
// is 10 max(m, n) epsilon.
Array pinv(const Array& a, std::optional<double> rtol = {});
// The result of lstsq for a of [m, n] and b of [m] or [m, k]: the x of least norm that minimises |a
// x - b|; the squared norms of what is left, [k]; a's rank, which counts singular values of at
// least rcond times the largest (the default is epsilon max(m, n)); and the singular values.
struct Lstsq {
  Array x, residuals, rank, s;
};
Lstsq lstsq(const Array& a, const Array& b, std::optional<double> rcond = {});

// Returns the x with tensordot(a, x, x.ndim()) = b. a has the dimensions [b's..., x's...] after
// `axes`, in ascending order, are moved to its end, as in JAX.
Array tensorsolve(const Array& a, const Array& b, const Axes& axes = None);
// Returns the inverse of a as a map from its last dimensions to its first `ind` dimensions: an
// array of [last..., first...].
Array tensorinv(const Array& a, int64_t ind = 2);

// --- Numbers of a matrix ---

// Returns the determinant. Its derivative is defined for singular matrices too, as in JAX: it is
// the matrix of cofactors, or 0 if the rank is less than n - 1.
Array det(const Array& a);
// det = sign * exp(logabsdet). For singular matrices these are 0 and -inf.
struct Slogdet {
  Array sign, logabsdet;
};
Slogdet slogdet(const Array& a);
// Returns the number of singular values above rtol, an absolute bound as in JAX. The default is
// max(m, n) epsilon times the largest one.
Array matrix_rank(const Array& a, std::optional<double> rtol = {});
Array trace(const Array& a, int64_t offset = 0);

// The kind of a norm: a number, also INFINITY and -INFINITY, or for matrices "fro" and "nuc".
class Order {
 public:
  Order(double p) : p_(p) {}
  Order(const char* name) : name_(name) {}
  double p() const { return p_; }
  const std::string& name() const { return name_; }  // empty: p is the order

 private:
  double p_ = 0;
  std::string name_;
};
struct NormOptions {
  std::optional<Order> ord = {};  // none: the square root of the sum of squares
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
// Returns the norm of a times the norm of its inverse. For 2, the default, it is computed from the
// singular values.
Array cond(const Array& a, const Order& ord = 2);

// --- Functions and products ---

Array matrix_power(const Array& a, int64_t n);
// Returns exp(a) by scaling and squaring, with the Pade approximants that jax.scipy.linalg.expm
// uses for large norms. It is NaN if more than 16 squarings would be needed.
Array expm(const Array& a);
// Returns the cross product of vectors of three elements along `axis`. The other dimensions
// broadcast.
Array cross(const Array& x, const Array& y, int64_t axis = -1);
Array outer(const Array& x, const Array& y);  // of two vectors
// Returns the product of matrices, multiplied in the order that needs the fewest operations. The
// first and the last may be vectors.
Array multi_dot(const std::vector<Array>& arrays);
Array matrix_transpose(const Array& a);
Array diagonal(const Array& a, int64_t offset = 0);

}  // namespace tessera::linalg
