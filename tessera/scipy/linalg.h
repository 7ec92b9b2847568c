// Linear algebra with the names of jax.scipy.linalg: equations, factorisations, functions of
// matrices and special matrices.
//
//   const auto factors = scipy::linalg::cho_factor(a);
//   scipy::linalg::cho_solve(factors, b);
//
// Matrices are the last two dimensions, [..., m, n], those before are batches; integers become
// floating. Errors, of all: UserError for fewer dimensions, matrices that are not square where they
// must be, and shapes that do not fit each other. tessera/tessera.h does not include this header.
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
// x with a x = b: b a vector [m] or [..., m, k]. Positive definite matrices take a Cholesky
// factorisation, NaN where they are not.
Array solve(const Array& a, const Array& b, const SolveOptions& options = {});

// a x = b, a^T x = b or a^H x = b.
enum class Trans : uint8_t { kN, kT, kC };
struct SolveTriangularOptions {
  Trans trans = Trans::kN;
  bool lower = false;
  bool unit_diagonal = false;  // the diagonal is of ones and is not read
};
// x with a x = b for triangular a. b as for solve. A singular matrix gives infinities and NaN.
Array solve_triangular(const Array& a, const Array& b, const SolveTriangularOptions& options = {});

struct CholeskyOptions {
  bool lower = false;
};
// The upper triangular u with u^H u = a, or the lower l with l l^H = a. It reads that triangle of a.
Array cholesky(const Array& a, const CholeskyOptions& options = {});
struct ChoFactor {
  Array c;
  bool lower = false;
};
ChoFactor cho_factor(const Array& a, const CholeskyOptions& options = {});
Array cho_solve(const ChoFactor& c_and_lower, const Array& b);

// l below the diagonal and u on and above it, of a with its rows exchanged; row i with pivots[i].
struct LuFactor {
  Array lu, pivots;
};
LuFactor lu_factor(const Array& a);
Array lu_solve(const LuFactor& lu_and_piv, const Array& b, Trans trans = Trans::kN);

// --- Factorisations ---

// a = p l u, p a matrix of zeros and ones.
struct Lu {
  Array p, l, u;
};
Lu lu(const Array& a);
// a = l u, l with permuted rows.
std::pair<Array, Array> lu_permuted(const Array& a);

enum class QrMode : uint8_t { kFull, kEconomic };
struct Qr {
  Array q, r;
};
// a = q r: q of [..., m, m] and r of [..., m, n], or [..., m, k] and [..., k, n], k = min(m, n).
Qr qr(const Array& a, QrMode mode = QrMode::kFull);
// c q (c of [..., m], or vectors) or, from the left, q c, of the economic q of a; and r.
enum class Side : uint8_t { kRight, kLeft };
std::pair<Array, Array> qr_multiply(const Array& a, const Array& c, Side mode = Side::kRight);

struct EighOptions {
  std::optional<Array> b = std::nullopt;
  bool lower = true;  // which triangle is read
  int type = 1;       // with b: 1: a v = w b v; 2: a b v = w v; 3: b a v = w v
};
struct Eigh {
  Array w, v;  // eigenvalues, ascending, and eigenvectors as columns
};
// Of Hermitian matrices; b is positive definite. UserError for another type.
Eigh eigh(const Array& a, const EighOptions& options = {});
Array eigvalsh(const Array& a, const EighOptions& options = {});
// The eigenvalues, ascending, of the real symmetric or Hermitian tridiagonal matrix with the diagonal
// d, [n], and e above it, [n - 1] (its conjugate below); all, or those from the first to the last
// index, both in. With vectors as columns. The matrix is made and eigh called: n^3 operations.
struct SelectRange {
  int64_t first, last;
};
Array eigvalsh_tridiagonal(const Array& d, const Array& e,
                           const std::optional<SelectRange>& select = std::nullopt);
Eigh eigh_tridiagonal(const Array& d, const Array& e,
                      const std::optional<SelectRange>& select = std::nullopt);

enum class SchurOutput : uint8_t { kReal, kComplex };
// a = z t z^H with unitary z and t upper triangular; of real matrices with kReal with blocks of two
// where eigenvalues are complex.
std::pair<Array, Array> schur(const Array& a, SchurOutput output = SchurOutput::kReal);
// The complex Schur form of a real one: (t, z) as schur returns them.
std::pair<Array, Array> rsf2csf(const Array& t, const Array& z);
struct Hessenberg {
  Array h, q;
};
// a = q h q^H with h zero below its first subdiagonal and unitary q.
Hessenberg hessenberg(const Array& a);

// a = u p (or p u from the left) with unitary u and positive semidefinite p, by a singular value
// decomposition.
std::pair<Array, Array> polar(const Array& a, Side side = Side::kRight);

// --- Functions of matrices ---

// expm(a), and its derivative at a in the direction e.
std::pair<Array, Array> expm_frechet(const Array& a, const Array& e);
// The principal square root, complex (Bjorck and Hammarling, "A Schur method for the square root of
// a matrix", 1983). NaN where there is none.
Array sqrtm(const Array& a);
// The function of a matrix that is `func` of its eigenvalues, complex, by the recurrence of Parlett
// (Golub and Van Loan, "Matrix Computations", 9.1.4). Imprecise where eigenvalues are close, since it divides
// by their differences.
Array funm(const Array& a, const std::function<Array(const Array&)>& func);
struct SylvesterOptions {
  double tol = 1e-8;  // NaN where eigenvalues of a and -b are closer
};
// x with a x + x b = c, for a of [..., m, m], b of [..., n, n] and c of [..., m, n] (Bartels and
// Stewart, "Solution of the matrix equation AX + XB = C", 1972).
Array solve_sylvester(const Array& a, const Array& b, const Array& c,
                      const SylvesterOptions& options = {});

// --- Special matrices. Vectors are the last dimension, those before are batches. ---

// Matrices one after the other along the diagonal, zeros elsewhere; vectors count as one row.
Array block_diag(const std::vector<Array>& arrays);
// The first column c and the first row r (absent: conj(c)); every diagonal has one value.
Array toeplitz(const Array& c, const std::optional<Array>& r = std::nullopt);
// The first column c and the last row r (absent: zeros); every antidiagonal has one value.
Array hankel(const Array& c, const std::optional<Array>& r = std::nullopt);
// Every column is the one before it rolled by one place.
Array circulant(const Array& c);
// The matrix whose product with a vector of n elements is its convolution with `a`.
enum class MatrixMode : uint8_t { kFull, kSame, kValid };
Array convolution_matrix(const Array& a, int64_t n, MatrixMode mode = MatrixMode::kFull);
// The matrices whose characteristic polynomial has the coefficients a, the highest power first.
Array companion(const Array& a);
Array fiedler_companion(const Array& a);
// |a[i] - a[j]|.
Array fiedler(const Array& a);
// f in the first row, s below the diagonal.
Array leslie(const Array& f, const Array& s);
// The roots of unity: what fft multiplies by; over the root of n, or n.
enum class DftScale : uint8_t { kNone, kSqrtN, kN };
Array dft(int64_t n, DftScale scale = DftScale::kNone);
// +-1 with orthogonal rows, n a power of 2.
Array hadamard(int64_t n, OptionalDType dtype = {});
// Orthonormal rows that are orthogonal to ones, [n - 1, n]; with these as a first row, [n, n].
Array helmert(int64_t n, bool full = false);
// 1 / (i + j + 1), and its inverse.
Array hilbert(int64_t n);
Array invhilbert(int64_t n);
// Binomial coefficients: (i + j over i), or (i over j), or (j over i); and their inverses.
enum class PascalKind : uint8_t { kSymmetric, kLower, kUpper };
Array pascal(int64_t n, PascalKind kind = PascalKind::kSymmetric);
Array invpascal(int64_t n, PascalKind kind = PascalKind::kSymmetric);

}  // namespace tessera::scipy::linalg
