// The factorisations of ops/factor: products of factors give the matrix again, whatever signs and
// phases LAPACK chose; derivatives of complex vectors, which are only determined up to a phase;
// errors; text.
#include <cmath>

#include "tessera/interchange/text/parser.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/factor/cholesky.h"
#include "tessera/ops/factor/eig.h"
#include "tessera/ops/factor/eigh.h"
#include "tessera/ops/factor/lu.h"
#include "tessera/ops/factor/matrix_math.h"
#include "tessera/ops/factor/qr.h"
#include "tessera/ops/factor/reflectors.h"
#include "tessera/ops/factor/schur.h"
#include "tessera/ops/factor/svd.h"
#include "tessera/ops/factor/triangular_solve.h"
#include "tessera/ops/factor/tridiagonal.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/slice.h"
#include "tests/ops/host_executor.h"

namespace tessera::testing_ops::factor_test {

using namespace interchange;

namespace {

using namespace array_math;
using namespace factor;

class FactorizationTest : public HostTest {
 protected:
  Array random(DType dtype, const Shape& shape) {
    return Array(random_literal({.dtype = dtype, .shape = shape}, rng_));
  }
  std::mt19937 rng_{11};
};

// Returns the largest difference of two arrays, relative to the dtype's epsilon.
double difference(const Array& a, const Array& b) {
  const DType dtype = a.dtype();
  const Literal x = convert_literal(a.to_host(), complex128),
                y = convert_literal(b.to_host(), complex128);
  EXPECT_EQ(x.shape(), y.shape());
  double worst = 0;
  for (int64_t i = 0; i < x.elements(); ++i) {
    const double d =
        std::abs(x.data<std::complex<double>>()[i] - y.data<std::complex<double>>()[i]);
    worst = std::isnan(d) ? INFINITY : std::max(worst, d);
  }
  return worst / epsilon(dtype);
}

void expect_same(const Array& a, const Array& b, double epsilons = 200) {
  EXPECT_LE(difference(a, b), epsilons) << describe(a.type());
}
void expect_orthonormal(const Array& q) {
  const Array product = matmul(adjoint(q), q);
  expect_same(product, identity_like(product, product.shape().back()));
}

const std::vector<DType> dtypes{float32, float64, complex64, complex128};

TEST_F(FactorizationTest, Cholesky) {
  for (DType dtype : dtypes) {
    const Array x = random(dtype, {2, 4, 4});
    const Array a = matmul(x, adjoint(x)) + identity_like(x, 4);
    const Array l = lax::linalg::cholesky(a);
    expect_same(matmul(l, adjoint(l)), a);
    expect_same(lower_triangle(l), l, 0);
    const Array u = bind_op1(cholesky_op, CholeskyParams{false}, {a});
    expect_same(matmul(adjoint(u), u), a);
    const Literal bad = lax::linalg::cholesky(-a).to_host();
    EXPECT_TRUE(std::isnan(convert_literal(bad, float64).data<double>()[0]));
  }
}

TEST_F(FactorizationTest, Lu) {
  for (DType dtype : dtypes)
    for (const Shape& shape : {Shape{2, 4, 4}, Shape{5, 3}, Shape{3, 5}}) {
      const Array a = random(dtype, shape);
      const lax::linalg::Lu f = lax::linalg::lu(a);
      const int64_t m = shape[shape.rank() - 2], n = shape.back(), k = std::min(m, n);
      const Array right = block_of(f.lu, 0, k, 0, n);
      Array unit = lower_triangle(block_of(f.lu, 0, m, 0, k), -1);
      // The unit diagonal of a matrix of m rows and k columns.
      unit = unit + block_of(identity_like(a, std::max(m, k)), 0, m, 0, k);
      // A matrix of zeros and ones permutes the rows of a.
      Shape square = shape;
      square.back() = m;
      const Array order = in_dtype_of(
          as_columns(f.permutation, square) == lax::iota(int32, square, square.rank() - 1), a);
      expect_same(matmul(unit, upper_triangle(right)), matmul(order, a));
    }
  const Array a = random(float64, {3, 4, 4}), b = random(float64, {3, 4, 2});
  expect_same(matmul(a, lax::linalg::solve(a, b)), b, 5000);
  const lax::linalg::Lu f = lax::linalg::lu(a);
  expect_same(matmul(transposed(a), lax::linalg::lu_solve(f.lu, f.permutation, b, 1)), b, 5000);
}

TEST_F(FactorizationTest, Qr) {
  for (DType dtype : dtypes)
    for (bool full : {false, true})
      for (const Shape& shape : {Shape{2, 4, 4}, Shape{5, 3}, Shape{3, 5}}) {
        const Array a = random(dtype, shape);
        const lax::linalg::Qr f = lax::linalg::qr(a, full);
        expect_same(matmul(f.q, f.r), a);
        expect_orthonormal(f.q);
        expect_same(upper_triangle(f.r), f.r, 0);
        const lax::linalg::Qr p = lax::linalg::qr(a, full, true);
        Shape square = shape;
        square[square.rank() - 2] = shape.back();
        const Array order =
            in_dtype_of(as_rows(p.p, square) == lax::iota(int32, square, square.rank() - 2), a);
        expect_same(matmul(p.q, p.r), matmul(a, order));
        if (full || shape[shape.rank() - 2] < shape.back()) continue;
        const auto [reflectors, taus] = lax::linalg::geqrf(a);
        expect_same(lax::linalg::householder_product(reflectors, taus), f.q);
      }
}

TEST_F(FactorizationTest, Eigh) {
  for (DType dtype : dtypes)
    for (bool lower : {true, false}) {
      const Array x = random(dtype, {2, 4, 4});
      const lax::linalg::Eigh f = lax::linalg::eigh(x, lower, false);
      const Array w = in_dtype_of(as_rows(f.w, x.shape()), x);
      expect_same(matmul(hermitian_of(x, lower), f.v), f.v * w, 500);
      expect_orthonormal(f.v);
    }
}

TEST_F(FactorizationTest, Svd) {
  for (DType dtype : dtypes)
    for (bool full : {false, true})
      for (const Shape& shape : {Shape{2, 4, 4}, Shape{5, 3}, Shape{3, 5}})
        for (auto algorithm :
             {lax::linalg::SvdAlgorithm::kDivideAndConquer, lax::linalg::SvdAlgorithm::kQr}) {
          const Array a = random(dtype, shape);
          const lax::linalg::Svd f = lax::linalg::svd(a, full, algorithm);
          expect_orthonormal(f.u);
          expect_orthonormal(adjoint(f.vh));
          const int64_t m = shape[shape.rank() - 2], n = shape.back(), k = std::min(m, n);
          const Array u = block_of(f.u, 0, m, 0, k);
          expect_same(
              matmul(u * in_dtype_of(as_rows(f.s, u.shape()), a), block_of(f.vh, 0, k, 0, n)), a,
              500);
          expect_same(lax::linalg::svdvals(a), f.s);
        }
}

TEST_F(FactorizationTest, EigAndSchur) {
  for (DType dtype : dtypes) {
    const Array a = random(dtype, {2, 4, 4});
    const lax::linalg::Eig f = lax::linalg::eig(a);
    const Array z = lax::convert_element_type(a, f.w.dtype());
    const Array w = as_rows(f.w, z.shape());
    expect_same(matmul(z, f.vr), f.vr * w, 1000);
    expect_same(matmul(adjoint(z), f.vl), f.vl * lax::conj(w), 1000);
    const lax::linalg::Schur s = lax::linalg::schur(a);
    expect_orthonormal(s.q);
    expect_same(matmul(matmul(s.q, s.t), adjoint(s.q)), a, 1000);
    const lax::linalg::Hessenberg h = lax::linalg::hessenberg(a);
    expect_same(block_of(h.h, 0, 1, 0, 1), block_of(a, 0, 1, 0, 1), 10);
  }
  const double inf = INFINITY;
  const Literal w =
      lax::linalg::eig(Array(literal<double>({2, 2}, {1, inf, 0, 1})), false, false).w.to_host();
  EXPECT_TRUE(std::isnan(w.data<std::complex<double>>()[0].real()));
}

TEST_F(FactorizationTest, Tridiagonal) {
  for (DType dtype : dtypes) {
    const Array x = random(dtype, {2, 4, 4});
    const lax::linalg::Tridiagonal t = lax::linalg::tridiagonal(x);
    // Similar matrices have the same trace.
    expect_same(lax::reduce_sum(t.d, {-1}),
                lax::reduce_sum(real_part(diagonal_of(hermitian_of(x, true))), {-1}), 100);
    const Array dl = random(dtype, {2, 4}), d = random(dtype, {2, 4}) + 6,
                du = random(dtype, {2, 4}), b = random(dtype, {2, 4, 3});
    Shape square{2, 4, 4};
    const Array i = lax::iota(int32, square, 1), j = lax::iota(int32, square, 2);
    auto at = [&](const Array& diagonal, int64_t k) {
      return in_dtype_of(i + k == j, diagonal) * as_columns(diagonal, square);
    };
    const Array a = at(dl, -1) + at(d, 0) + at(du, 1);
    expect_same(matmul(a, lax::linalg::tridiagonal_solve(dl, d, du, b)), b);
    expect_same(matmul(a, lax::linalg::tridiagonal_solve(dl, d, du, b, true)), b);
  }
  const Array zero(Literal(float32, {2})), one = Array(Literal(float32, {2, 1})) + 1;
  EXPECT_TRUE(
      std::isnan(lax::linalg::tridiagonal_solve(zero, zero, zero, one).to_host().data<float>()[0]));
  EXPECT_TRUE(std::isfinite(
      lax::linalg::tridiagonal_solve(zero, zero, zero, one, true).to_host().data<float>()[0]));
}

// The phases of complex vectors are free, so this tests a product that does not depend on them.
TEST_F(FactorizationTest, DerivativesOfComplexVectorsUpToTheirPhases) {
  const double h = 1e-6;
  const Array x = random(complex128, {4, 3}), t = random(complex128, {4, 3});
  auto low_rank = [](const lax::linalg::Svd& f) {  // the product for the largest singular value
    const int64_t m = f.u.shape()[0], n = f.vh.shape()[1];
    return matmul(block_of(f.u, 0, m, 0, 1), block_of(f.vh, 0, 1, 0, n));
  };
  const JvpResult d = svd_op.jvp(std::vector{x}, std::vector{t}, OpParams(SvdParams{false, true}));
  const Array u = block_of(d.primals[1], 0, 4, 0, 1), vh = block_of(d.primals[2], 0, 1, 0, 3),
              du = block_of(d.tangents[1], 0, 4, 0, 1), dvh = block_of(d.tangents[2], 0, 1, 0, 3);
  const Array slope = (low_rank(lax::linalg::svd(x + t * h, false)) -
                       low_rank(lax::linalg::svd(x + t * -h, false))) *
                      (0.5 / h);
  expect_same(matmul(du, vh) + matmul(u, dvh), slope, 1e-7 / epsilon(float64));

  const Array a = random(complex128, {3, 3}), ta = random(complex128, {3, 3});
  auto projection = [](const Array& v) {
    return matmul(block_of(v, 0, 3, 0, 1), adjoint(block_of(v, 0, 3, 0, 1)));
  };
  auto vectors = [&](double step) { return lax::linalg::eigh(a + ta * step, true, false).v; };
  const JvpResult e = eigh_op.jvp(std::vector{a}, std::vector{ta}, OpParams(EighParams{true}));
  const Array v = block_of(e.primals[0], 0, 3, 0, 1), dv = block_of(e.tangents[0], 0, 3, 0, 1);
  expect_same(matmul(dv, adjoint(v)) + matmul(v, adjoint(dv)),
              (projection(vectors(h)) - projection(vectors(-h))) * (0.5 / h),
              1e-7 / epsilon(float64));

  for (bool left : {false, true}) {
    const OpParams params(EigParams{left, !left});
    auto outer = [&](double step) {
      return projection(bind_op(eig_op, params, std::vector{a + ta * step})[1]);
    };
    const JvpResult g = eig_op.jvp(std::vector{a}, std::vector{ta}, params);
    const Array z = block_of(g.primals[1], 0, 3, 0, 1), dz = block_of(g.tangents[1], 0, 3, 0, 1);
    expect_same(matmul(dz, adjoint(z)) + matmul(z, adjoint(dz)), (outer(h) - outer(-h)) * (0.5 / h),
                1e-7 / epsilon(float64));
    auto values = [&](double step) {
      return bind_op(eig_op, params, std::vector{a + ta * step})[0];
    };
    expect_same(g.tangents[0], (values(h) - values(-h)) * (0.5 / h), 1e-7 / epsilon(float64));
  }
}

// --- Errors ---

const Type square{.dtype = float32, .shape = {3, 3}}, wide{.dtype = float32, .shape = {3, 4}},
    vector{.dtype = float32, .shape = {3}}, integers{.dtype = int32, .shape = {3, 3}};

std::vector<Type> infer(const OpDef& def, const std::vector<Type>& operands, const OpParams& p) {
  return def.infer(operands, p);
}

TEST(FactorErrors, OperandsThatAreNoMatrices) {
  EXPECT_USER_ERROR(infer(lu_op, {integers}, NoParams{}),
                    "[lu] expected float32, float64, complex64 or complex128, got int32[3,3]");
  EXPECT_USER_ERROR(infer(qr_op, {vector}, QrParams{}),
                    "[qr] expected a matrix, or a batch of them: rank 2 or more, got float32[3]");
  EXPECT_USER_ERROR(infer(cholesky_op, {wide}, CholeskyParams{}),
                    "[cholesky] expected square matrices [..., n, n], got float32[3,4]");
  EXPECT_USER_ERROR(infer(eigh_op, {wide}, EighParams{}), "[eigh] expected square matrices");
  EXPECT_USER_ERROR(infer(eig_op, {wide}, EigParams{}), "[eig] expected square matrices");
  EXPECT_USER_ERROR(infer(schur_op, {wide}, SchurParams{}), "[schur] expected square matrices");
  EXPECT_USER_ERROR(infer(svd_op, {vector}, SvdParams{}), "[svd] expected a matrix");
  EXPECT_USER_ERROR(infer(hessenberg_op, {Type{.dtype = float32, .shape = {0, 0}}}, NoParams{}),
                    "[hessenberg] expected matrices of a row or more");
  EXPECT_USER_ERROR(
      infer(tridiagonal_op, {Type{.dtype = float32, .shape = {0, 0}}}, TridiagonalParams{}),
      "[tridiagonal] expected matrices of a row or more");
}

TEST(FactorErrors, OperandsThatDoNotFitEachOther) {
  const Type doubles{.dtype = float64, .shape = {3, 3}}, taus{.dtype = float32, .shape = {4}};
  EXPECT_USER_ERROR(infer(triangular_solve_op, {square, doubles}, TriangularSolveParams{true}),
                    "[triangular_solve] expected operands of one dtype (C1)");
  EXPECT_USER_ERROR(infer(triangular_solve_op, {square, wide}, TriangularSolveParams{false}),
                    "[triangular_solve] expected b of shape [..., n, m] with float32[3,3] (C3)");
  EXPECT_USER_ERROR(infer(geqp3_op, {square, vector}, NoParams{}), "[geqp3] expected int32 pivots");
  EXPECT_USER_ERROR(infer(householder_product_op, {square, taus}, NoParams{}),
                    "[householder_product] expected as many rows as columns");
  EXPECT_USER_ERROR(infer(householder_product_op, {doubles, taus}, NoParams{}),
                    "[householder_product] expected operands of one dtype");
  EXPECT_USER_ERROR(infer(ormqr_op, {square, taus, square}, OrmqrParams{}),
                    "[ormqr] expected no more taus");
  EXPECT_USER_ERROR(
      infer(ormqr_op, {square, vector, Type{.dtype = float32, .shape = {4, 3}}}, OrmqrParams{}),
      "[ormqr] expected an operand of shape (3, 3) with float32[3,3]");
  EXPECT_USER_ERROR(
      infer(tridiagonal_solve_op, {vector, vector, taus, wide}, TridiagonalSolveParams{}),
      "[tridiagonal_solve] expected an operand of shape (3,)");
}

TEST_F(FactorizationTest, RefusesDerivativesOfFullSingularVectors) {
  const std::vector<Array> x{random(float64, {4, 3})};
  EXPECT_USER_ERROR(svd_op.jvp(x, x, OpParams(SvdParams{true, true})),
                    "[svd] expected full_matrices = false where it is differentiated");
  const Array a = random(float64, {3, 3});
  EXPECT_USER_ERROR(lax::linalg::lu_solve(a, Array(Literal(int32, {3})), a, 3),
                    "[lu_solve] expected trans 0, 1 or 2, got 3");
}

// --- Text ---

Function program(const std::string& line, const std::string& operands, const std::string& result) {
  return parse_mlir("func.func @main(" + operands + ") -> " + result + " {\n" + line +
                    "\nreturn %0 : " + result + "\n}");
}

TEST(FactorText, CholeskyAndTriangularSolve) {
  const std::string matrix = "tensor<3x3xf32>";
  const Function pretty =
      program("%0 = stablehlo.cholesky %a, lower = true : " + matrix, "%a: " + matrix, matrix);
  EXPECT_TRUE(pretty == program("%0 = \"stablehlo.cholesky\"(%a) <{lower = true}> : (" + matrix +
                                    ") -> " + matrix,
                                "%a: " + matrix, matrix));
  EXPECT_NE(to_mlir(pretty).find("stablehlo.cholesky %arg0, lower = true : tensor<3x3xf32>"),
            std::string::npos)
      << to_mlir(pretty);
  const Function upper = program("%0 = \"stablehlo.cholesky\"(%a) : (" + matrix + ") -> " + matrix,
                                 "%a: " + matrix, matrix);
  EXPECT_FALSE(upper.ops[0].params.as<CholeskyParams>().lower);
  const std::string solve =
      "\"stablehlo.triangular_solve\"(%a, %b) <{left_side = true, lower = false, transpose_a = "
      "#stablehlo<transpose ADJOINT>, unit_diagonal = false}> : (tensor<3x3xf32>, "
      "tensor<3x2xf32>) -> tensor<3x2xf32>";
  const Function solved =
      program("%0 = " + solve, "%a: " + matrix + ", %b: tensor<3x2xf32>", "tensor<3x2xf32>");
  EXPECT_NE(to_mlir(solved).find("transpose_a = #stablehlo<transpose ADJOINT>"), std::string::npos)
      << to_mlir(solved);
}

std::string call(const std::string& target, const std::string& config) {
  return "%0:3 = stablehlo.custom_call @" + target + "(%a) {mhlo.backend_config = {" + config +
         "}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> "
         ": "
         "tensor<2xindex>, dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>]} : "
         "(tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>, tensor<i32>)";
}
Function calls(const std::string& line) {
  return parse_mlir("func.func @main(%a: tensor<3x3xf32>) -> tensor<3x3xf32> {\n" + line +
                    "\nreturn %0#0 : tensor<3x3xf32>\n}");
}

TEST(FactorText, CallsOfLapackSayWhatTheyDoNotUnderstand) {
  EXPECT_NO_THROW(calls(call("lapack_ssyevd_ffi", "mode = 86 : ui8, uplo = 85 : ui8")));
  EXPECT_USER_ERROR(calls(call("lapack_ssyevd_ffi", "mode = 86 : ui8, uplo = 90 : ui8")),
                    "expected uplo to be the code of one of the letters LU, got 90");
  EXPECT_USER_ERROR(calls(call("lapack_ssyevd_ffi", "mode = 78 : ui8, uplo = 85 : ui8")),
                    "expected mode to be the code of one of the letters V, got 78");
  EXPECT_USER_ERROR(calls(call("lapack_cheevx_ffi", "")),
                    "expected a custom call that Tessera has, got @lapack_cheevx_ffi");
  EXPECT_USER_ERROR(
      calls("%0:2 = stablehlo.custom_call @lapack_sgeqp3_ffi(%a) : (tensor<3x3xf32>) -> "
            "(tensor<3x3xf32>, tensor<3xf32>)"),
      "expected 2 operands, got 1");
  EXPECT_USER_ERROR(
      calls("%0:3 = stablehlo.custom_call @lapack_sgehrd_ffi(%a) {mhlo.backend_config = {low = 2 : "
            "i32, high = 3 : i32}} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<2xf32>, "
            "tensor<i32>)"),
      "expected low 1 and high 3, all rows, got 2 and 3");
  EXPECT_USER_ERROR(calls("%0:1 = stablehlo.custom_call @ApproxTopK(%a, %a) : (tensor<3x3xf32>, "
                          "tensor<3x3xf32>) -> (tensor<3x3xf32>)"),
                    "called_computations");
}

}  // namespace
}  // namespace tessera::testing_ops::factor_test
