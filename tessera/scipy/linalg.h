// Linear algebra with the names of jax.scipy.linalg: equations, factorisations, functions of
// matrices and special matrices.
//
//   const auto factors = scipy::linalg::cho_factor(a);
//   scipy::linalg::cho_solve(factors, b);
//
// Matrices are the last two dimensions, [..., m, n]; dimensions before them are batches. Integers
// become floating. All functions throw UserError for fewer dimensions, for matrices that are not
// square but must be, and for shapes that do not fit each other. tessera/tessera.h does not include
// this header.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/linalg.h"

namespace tessera::scipy::linalg {

using tessera::linalg::det;
using tessera::linalg::expm;
using tessera::linalg::inv;
using tessera::linalg::Svd;
using tessera::linalg::svd;

// --- Equations ---

enum class AssumeA : uint8_t { kGeneral, kSymmetric, kHermitian, kPositiveDefinite };
struct SolveOptions {
  bool lower = false;  // which triangle of a positive definite matrix is read
  AssumeA assume_a = AssumeA::kGeneral;
};
// Returns x with a x = b. b is a vector [m] or [..., m, k]. kPositiveDefinite solves by a Cholesky
// factorisation, which is NaN if the matrix is not positive definite.
Array solve(const Array& a, const Array& b, const SolveOptions& options = {});

// The equation: a x = b, a^T x = b or a^H x = b.
enum class Trans : uint8_t { kN, kT, kC };
struct SolveTriangularOptions {
  Trans trans = Trans::kN;
  bool lower = false;
  bool unit_diagonal = false;  // the diagonal is taken as ones and not read
};
// Returns x with a x = b for triangular a. b is as for solve. A singular matrix gives infinities
// and NaN.
Array solve_triangular(const Array& a, const Array& b, const SolveTriangularOptions& options = {});

struct CholeskyOptions {
  bool lower = false;
};
// Returns the upper triangular u with u^H u = a, or the lower l with l l^H = a. Only that triangle
// of a is read.
Array cholesky(const Array& a, const CholeskyOptions& options = {});
struct ChoFactor {
  Array c;
  bool lower = false;
};
ChoFactor cho_factor(const Array& a, const CholeskyOptions& options = {});
Array cho_solve(const ChoFactor& c_and_lower, const Array& b);

// The LU factorisation of a with rows exchanged: l below the diagonal of `lu`, u on and above it.
// Row i was exchanged with row pivots[i].
struct LuFactor {
  Array lu, pivots;
};
LuFactor lu_factor(const Array& a);
Array lu_solve(const LuFactor& lu_and_piv, const Array& b, Trans trans = Trans::kN);

// --- Factorisations ---

// a = p l u, where p is a permutation matrix.
struct Lu {
  Array p, l, u;
};
Lu lu(const Array& a);
// Returns l and u with a = l u, where l has permuted rows.
std::pair<Array, Array> lu_permuted(const Array& a);

enum class QrMode : uint8_t { kFull, kEconomic };
struct Qr {
  Array q, r;
};
// Returns q and r with a = q r. With kFull q is [..., m, m] and r [..., m, n]; with kEconomic they
// are [..., m, k] and [..., k, n], where k = min(m, n).
Qr qr(const Array& a, QrMode mode = QrMode::kFull);
// Returns c q (for c of [..., m], or vectors), or with kLeft q c, where q is the economic factor of
// a; and r.
enum class Side : uint8_t { kRight, kLeft };
std::pair<Array, Array> qr_multiply(const Array& a, const Array& c, Side mode = Side::kRight);

struct EighOptions {
  std::optional<Array> b = std::nullopt;
  bool lower = true;  // which triangle is read
  int type = 1;       // with b: type 1: a v = w b v; 2: a b v = w v; 3: b a v = w v
};
struct Eigh {
  Array w, v;  // eigenvalues, ascending, and eigenvectors as columns
};
// Return the eigenvalues and eigenvectors of Hermitian matrices. b is positive definite. Throw
// UserError for another type.
Eigh eigh(const Array& a, const EighOptions& options = {});
Array eigvalsh(const Array& a, const EighOptions& options = {});
// Return the eigenvalues in ascending order, and the eigenvectors as columns, of the real symmetric
// or Hermitian tridiagonal matrix with the diagonal d, [n], and e above it, [n - 1] (its conjugate
// below). `select` restricts them to the indices first to last, both included. The matrix is formed
// and passed to eigh, so they take n^3 operations.
struct SelectRange {
  int64_t first, last;
};
Array eigvalsh_tridiagonal(const Array& d, const Array& e,
                           const std::optional<SelectRange>& select = std::nullopt);
Eigh eigh_tridiagonal(const Array& d, const Array& e,
                      const std::optional<SelectRange>& select = std::nullopt);

enum class SchurOutput : uint8_t { kReal, kComplex };
// Returns t and z with a = z t z^H, where z is unitary and t upper triangular. With kReal, t of a
// real matrix has a block of two rows for each pair of complex eigenvalues.
std::pair<Array, Array> schur(const Array& a, SchurOutput output = SchurOutput::kReal);
// Returns the complex Schur form of a real one. (t, z) are as schur returns them.
std::pair<Array, Array> rsf2csf(const Array& t, const Array& z);
struct Hessenberg {
  Array h, q;
};
// a = q h q^H, where h is zero below its first subdiagonal and q is unitary.
Hessenberg hessenberg(const Array& a);

// Returns u and p with a = u p (kRight) or a = p u (kLeft), where u is unitary and p positive
// semidefinite. It computes a singular value decomposition.
std::pair<Array, Array> polar(const Array& a, Side side = Side::kRight);

// --- Functions of matrices ---

// Returns expm(a) and its derivative at a in the direction e.
std::pair<Array, Array> expm_frechet(const Array& a, const Array& e);
// Returns the principal square root as a complex matrix (Bjorck and Hammarling, "A Schur method for
// the square root of a matrix", 1983). It is NaN if there is none.
Array sqrtm(const Array& a);
// Returns as a complex matrix the function of a matrix that is `func` of its eigenvalues, by the
// recurrence of Parlett (Golub and Van Loan, "Matrix Computations", 9.1.4). It is imprecise if
// eigenvalues are close, since it divides by their differences.
Array funm(const Array& a, const std::function<Array(const Array&)>& func);
struct SylvesterOptions {
  double tol = 1e-8;  // NaN if an eigenvalue of a is closer to one of -b
};
// Returns x with a x + x b = c, for a of [..., m, m], b of [..., n, n] and c of [..., m, n]
// (Bartels and Stewart, "Solution of the matrix equation AX + XB = C", 1972).
Array solve_sylvester(const Array& a, const Array& b, const Array& c,
                      const SylvesterOptions& options = {});

// --- Special matrices. Vectors are the last dimension; dimensions before it are batches. ---

// Returns the matrix with these matrices along its diagonal and zeros elsewhere. A vector is a row.
Array block_diag(const std::vector<Array>& arrays);
// Returns the matrix with the first column c and the first row r (absent: conj(c)). Each diagonal
// has one value.
Array toeplitz(const Array& c, const std::optional<Array>& r = std::nullopt);
// Returns the matrix with the first column c and the last row r (absent: zeros). Each antidiagonal
// has one value.
Array hankel(const Array& c, const std::optional<Array>& r = std::nullopt);
// Returns the matrix with the first column c. Every other column is the one before it rolled by
// one.
Array circulant(const Array& c);
// Returns the matrix whose product with a vector of n elements is the convolution of the vector
// with `a`.
enum class MatrixMode : uint8_t { kFull, kSame, kValid };
Array convolution_matrix(const Array& a, int64_t n, MatrixMode mode = MatrixMode::kFull);
// Return matrices whose characteristic polynomial has the coefficients a, the highest power first.
Array companion(const Array& a);
Array fiedler_companion(const Array& a);
// Returns the matrix with elements |a[i] - a[j]|.
Array fiedler(const Array& a);
// Returns the matrix with f in its first row and s below its diagonal.
Array leslie(const Array& f, const Array& s);
// Returns the matrix of fft, whose elements are roots of unity. It is divided by 1, by the square
// root of n, or by n.
enum class DftScale : uint8_t { kNone, kSqrtN, kN };
Array dft(int64_t n, DftScale scale = DftScale::kNone);
// Returns a matrix of 1 and -1 with orthogonal rows. n is a power of 2.
Array hadamard(int64_t n, OptionalDType dtype = {});
// Returns orthonormal rows that are orthogonal to a row of ones: [n - 1, n]. With `full` a constant
// row comes first: [n, n].
Array helmert(int64_t n, bool full = false);
// Return the matrix with elements 1 / (i + j + 1), and its inverse.
Array hilbert(int64_t n);
Array invhilbert(int64_t n);
// Return the matrix of the binomial coefficients (i + j over i) (kSymmetric), (i over j) (kLower)
// or (j over i) (kUpper), and its inverse.
enum class PascalKind : uint8_t { kSymmetric, kLower, kUpper };
Array pascal(int64_t n, PascalKind kind = PascalKind::kSymmetric);
Array invpascal(int64_t n, PascalKind kind = PascalKind::kSymmetric);

}  // namespace tessera::scipy::linalg
