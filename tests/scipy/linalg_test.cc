// Compares linear algebra with JAX: golden/make_calls_scipy.py.
#include "tessera/scipy/linalg.h"

#include "../errors.h"
#include "../numpy/calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"

namespace tessera::scipy_linalg_test {
namespace {

using namespace scipy::linalg;
using test::expect_error;
using test::leaves_of;

double largest(const Array& x) { return max(abs(x)).item<double>(); }

TEST(Linalg, GeneralizedEigenvectorsSolveTheirEquations) {
  const Array a = array({{2.0f, 1.0f}, {1.0f, -1.0f}}), b = array({{3.0f, 0.5f}, {0.5f, 2.0f}});
  const Eigh one = eigh(a, {.b = b}), two = eigh(a, {.b = b, .type = 2}),
             three = eigh(a, {.b = b, .type = 3});
  EXPECT_LT(largest(matmul(a, one.v) - matmul(b, one.v) * one.w), 1e-5);
  EXPECT_LT(largest(matmul(matmul(a, b), two.v) - two.v * two.w), 1e-5);
  EXPECT_LT(largest(matmul(matmul(b, a), three.v) - three.v * three.w), 1e-5);
}

TEST(Linalg, TridiagonalEigenvectorsDiagonalize) {
  const Array d = arange(5.0f), e = ones(4);
  const Eigh all = eigh_tridiagonal(d, e), some = eigh_tridiagonal(d, e, SelectRange{1, 3});
  const Array t = diag(d) + diag(e, 1) + diag(e, -1);
  EXPECT_LT(largest(matmul(t, all.v) - all.v * all.w), 1e-5);
  EXPECT_EQ(some.v.shape(), (Shape{5, 3}));
  EXPECT_LT(largest(matmul(t, some.v) - some.v * some.w), 1e-5);
}

TEST(Linalg, TheComplexSchurFormIsTriangular) {
  const Array a = array({{0.0f, 2.0f, 1.0f}, {-2.0f, 0.0f, 3.0f}, {0.5f, 1.0f, 1.0f}});
  const auto [t, z] = schur(a);
  const auto [u, w] = rsf2csf(t, z);
  EXPECT_EQ(largest(tril(u, -1)), 0);
  EXPECT_LT(largest(matmul(matmul(w, u), conj(transpose(w))) - a), 1e-5);
}

TEST(Linalg, ProductsWithTheFactorOfQr) {
  const Array a = array({{1.0f, 2.0f}, {3.0f, 4.0f}, {5.0f, 7.0f}}), v = arange(3.0f);
  const Qr f = qr(a, QrMode::kEconomic);
  EXPECT_LT(largest(qr_multiply(a, v).first - matmul(v, f.q)), 1e-6);
  EXPECT_LT(largest(qr_multiply(a, eye(2), scipy::linalg::Side::kLeft).first - f.q), 1e-6);
  EXPECT_LT(largest(qr_multiply(a, v).second - f.r), 1e-6);
}

TEST(Linalg, EquationsOfNoUnknowns) {
  const Array none = zeros({0, 0});
  EXPECT_EQ(solve(none, zeros({0, 2})).shape(), (Shape{0, 2}));
  EXPECT_EQ(inv(none).shape(), (Shape{0, 0}));
  EXPECT_EQ(sqrtm(none).shape(), (Shape{0, 0}));
  EXPECT_EQ(solve_triangular(none, zeros(0)).shape(), (Shape{0}));
}

Array symmetric(const Array& m) { return matmul(m, swapaxes(m, -1, -2)); }

TEST(Linalg, AsInJax) {
  test::check_calls("calls_scipy", "linalg", {
    TESSERA_CALL("solve", solve(a[0], a[1])),
        TESSERA_CALL("solve_positive", solve(a[0], a[1], {.assume_a = AssumeA::kPositiveDefinite})),
        TESSERA_CALL("solve_positive_vector",
                     solve(a[0], a[1], {.lower = true, .assume_a = AssumeA::kPositiveDefinite})),
        TESSERA_CALL("solve_triangular", solve_triangular(a[0], a[1])),
        TESSERA_CALL("solve_triangular_lower",
                     solve_triangular(a[0], a[1], {.trans = Trans::kT, .lower = true})),
        TESSERA_CALL("solve_triangular_unit",
                     solve_triangular(a[0], a[1], {.trans = Trans::kC, .unit_diagonal = true})),
        TESSERA_CALL("solve_triangular_batch", solve_triangular(a[0], a[1])),
        TESSERA_CALL("cholesky", cholesky(symmetric(a[0]))),
        TESSERA_CALL("cholesky_lower", cholesky(symmetric(a[0]), {.lower = true})),
        TESSERA_CALL("cho_solve", cho_solve(cho_factor(symmetric(a[0])), a[1])),
        TESSERA_CALL("cho_solve_lower",
                     cho_solve(cho_factor(symmetric(a[0]), {.lower = true}), a[1])),
        TESSERA_CALL_MANY("lu_factor", const LuFactor f = lu_factor(a[0]);
                          return {f.lu, f.pivots};),
        TESSERA_CALL("lu_solve_0", lu_solve(lu_factor(a[0]), a[1])),
        TESSERA_CALL("lu_solve_1", lu_solve(lu_factor(a[0]), a[1], Trans::kT)),
        TESSERA_CALL("lu_solve_2", lu_solve(lu_factor(a[0]), a[1], Trans::kC)),
        TESSERA_CALL("lu_solve_vector", lu_solve(lu_factor(a[0]), a[1])),
        TESSERA_CALL_MANY("lu", const Lu f = lu(a[0]); return {f.p, f.l, f.u};),
        TESSERA_CALL_MANY("lu_permuted", return leaves_of(lu_permuted(a[0]));),
        TESSERA_CALL_MANY("qr", const Qr f = qr(a[0], QrMode::kEconomic); return {f.q, f.r};),
        TESSERA_CALL_MANY("qr_product", const Qr f = qr(a[0]); return {matmul(f.q, f.r)};),
        TESSERA_CALL("eigh", eigh(a[0]).w), TESSERA_CALL("eigh_1", eigvalsh(a[0], {.b = a[1]})),
        TESSERA_CALL("eigh_2", eigvalsh(a[0], {.b = a[1], .type = 2})),
        TESSERA_CALL("eigh_3", eigvalsh(a[0], {.b = a[1], .type = 3})),
        TESSERA_CALL("eigvalsh_tridiagonal", eigvalsh_tridiagonal(a[0], a[1])),
        TESSERA_CALL("eigvalsh_tridiagonal_some",
                     eigvalsh_tridiagonal(a[0], a[1], SelectRange{1, 2})),
        TESSERA_CALL_MANY("schur_product", const auto [t, z] = schur(a[0]);
                          return {matmul(matmul(z, t), transpose(z))};),
        TESSERA_CALL_MANY("schur_complex", const auto [t, z] = schur(a[0], SchurOutput::kComplex);
                          return {matmul(matmul(z, t), conj(transpose(z)))};),
        TESSERA_CALL_MANY("hessenberg", const Hessenberg f = hessenberg(a[0]); return {f.h, f.q};),
        TESSERA_CALL_MANY("polar", return leaves_of(polar(a[0]));),
        TESSERA_CALL_MANY("polar_left", return leaves_of(polar(a[0], scipy::linalg::Side::kLeft));),
        TESSERA_CALL("expm", expm(a[0])),
        TESSERA_CALL_MANY("expm_frechet", return leaves_of(expm_frechet(a[0], a[1]));),
        TESSERA_CALL("sqrtm", sqrtm(a[0])), TESSERA_CALL("sqrtm_complex", sqrtm(a[0])),
        TESSERA_CALL("sqrtm_singular", sqrtm(a[0])),
        TESSERA_CALL("funm", funm(a[0], [](const Array& x) { return exp(x); })),
        TESSERA_CALL("solve_sylvester", solve_sylvester(a[0], a[1], a[2])),
        TESSERA_CALL("solve_sylvester_complex", solve_sylvester(a[0], a[1], a[2])),
        TESSERA_CALL("block_diag", block_diag({a[0], a[1], 7.0})),
        TESSERA_CALL("toeplitz", toeplitz(a[0])),
        TESSERA_CALL("toeplitz_row", toeplitz(a[0], a[1])),
        TESSERA_CALL("toeplitz_complex", toeplitz(a[0])), TESSERA_CALL("hilbert", hilbert(4)),
        TESSERA_CALL("pascal", pascal(4), pascal(4, PascalKind::kLower),
                     pascal(4, PascalKind::kUpper)),
        TESSERA_CALL("hankel", hankel(a[0])), TESSERA_CALL("hankel_row", hankel(a[0], a[1])),
        TESSERA_CALL("circulant", circulant(a[0])), TESSERA_CALL("companion", companion(a[0])),
        TESSERA_CALL("fiedler_companion", fiedler_companion(a[0])),
        TESSERA_CALL("fiedler", fiedler(a[0])), TESSERA_CALL("leslie", leslie(a[0], a[1])),
        TESSERA_CALL("convolution_matrix_full", convolution_matrix(a[0], 3)),
        TESSERA_CALL("convolution_matrix_same", convolution_matrix(a[0], 3, MatrixMode::kSame)),
        TESSERA_CALL("convolution_matrix_valid", convolution_matrix(a[0], 3, MatrixMode::kValid)),
        TESSERA_CALL("dft_None", dft(5)), TESSERA_CALL("dft_sqrtn", dft(5, DftScale::kSqrtN)),
        TESSERA_CALL("dft_n", dft(5, DftScale::kN)), TESSERA_CALL("hadamard", hadamard(8)),
        TESSERA_CALL("helmert", helmert(5)), TESSERA_CALL("helmert_full", helmert(4, true)),
        TESSERA_CALL("invhilbert", invhilbert(5)),
        TESSERA_CALL("invpascal", invpascal(5), invpascal(5, PascalKind::kLower),
                     invpascal(5, PascalKind::kUpper)),
  });
}

TEST(Linalg, ErrorsSayWhatIsExpected) {
  const Array v = arange(4.0f), m = ones({2, 3}), s = eye(3);
  expect_error([&] { solve(m, v, {.assume_a = AssumeA::kPositiveDefinite}); },
               "[solve] expected square matrices");
  expect_error([&] { solve(s, v, {.assume_a = AssumeA::kPositiveDefinite}); },
               "[solve] expected b of shape");
  expect_error([&] { solve_triangular(m, v); }, "[solve_triangular] expected square matrices");
  expect_error([&] { solve_triangular(s, v); }, "[solve_triangular] expected b of shape");
  expect_error([&] { cho_solve({m, false}, v); }, "[cho_solve] expected square matrices");
  expect_error([&] { lu_factor(v); }, "[lu_factor] expected matrices");
  expect_error([&] { lu_solve({s, v}, ones({3})); }, "[lu_solve] expected integer pivots");
  expect_error([&] { lu_solve({s, arange(3)}, v); }, "[lu_solve] expected b of shape");
  expect_error([&] { lu(v); }, "[lu] expected matrices");
  expect_error([&] { qr_multiply(s, v); }, "[qr_multiply] expected 3 columns of c");
  expect_error([&] { qr_multiply(s, 1.0); }, "[qr_multiply] expected a vector or matrices c");
  expect_error([&] { eigh(s, {.type = 4}); }, "[eigh] expected type 1, 2 or 3, got 4");
  expect_error([&] { eigh(s, {.b = eye(2)}); }, "[eigh] expected a and b of one extent");
  expect_error([&] { eigh_tridiagonal(v, v); },
               "[eigh_tridiagonal] expected vectors d of n and e of n - 1");
  expect_error([&] { eigh_tridiagonal(arange(2), arange(1)); },
               "[eigh_tridiagonal] expected floating d and e");
  expect_error(
      [&] {
        eigvalsh_tridiagonal(v, ones(3), SelectRange{2, 4});
      },
      "[eigvalsh_tridiagonal] expected indices");
  expect_error([&] { schur(m); }, "[schur] expected square matrices");
  expect_error([&] { rsf2csf(s, eye(2)); }, "[rsf2csf] expected t and z of one shape");
  expect_error([&] { hessenberg(m); }, "[hessenberg] expected square matrices");
  expect_error([&] { polar(v); }, "[polar] expected matrices");
  expect_error([&] { expm_frechet(s, eye(2)); }, "[expm_frechet] expected a and e of one shape");
  expect_error([&] { sqrtm(m); }, "[sqrtm] expected square matrices");
  expect_error(
      [&] {
        funm(ones({2, 3, 3}), [](const Array& x) { return x; });
      },
      "[funm] expected one matrix");
  expect_error([&] { funm(s, [](const Array& x) { return sum(x); }); },
               "[funm] expected a function of vectors");
  expect_error([&] { solve_sylvester(s, s, m); }, "[solve_sylvester] expected c of 3 by 3");
  expect_error(
      [&] {
        block_diag({ones({2, 2, 2})});
      },
      "[block_diag] expected at most 2 dimensions");
  expect_error([&] { hankel(1.0); },
               "[hankel] expected at least 0 elements along the last dimension");
  expect_error([&] { companion(ones(1)); }, "[companion] expected at least 2 elements");
  expect_error([&] { fiedler_companion(zeros(0)); },
               "[fiedler_companion] expected at least 1 elements");
  expect_error([&] { leslie(v, v); }, "[leslie] expected a vector f of n and s of n - 1");
  expect_error([&] { convolution_matrix(v, 0); }, "[convolution_matrix] expected n >= 1, got 0");
  expect_error([&] { convolution_matrix(zeros(0), 1); },
               "[convolution_matrix] expected at least 1 elements");
  expect_error([&] { hadamard(6); }, "[hadamard] expected a power of 2, got 6");
  expect_error([&] { helmert(0); }, "[helmert] expected n >= 1, got 0");
  expect_error([&] { hilbert(-1); }, "[hilbert] expected n >= 0, got -1");
  expect_error([&] { pascal(-1); }, "[pascal] expected n >= 0");
  expect_error([&] { dft(-1); }, "[dft] expected n >= 0");
}

}  // namespace
}  // namespace tessera::scipy_linalg_test
