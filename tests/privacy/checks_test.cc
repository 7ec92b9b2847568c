#include "tessera/privacy/matrix_factorization/checks.h"

#include <limits>

#include "matrix_factorization.h"

namespace tessera::privacy::matrix_factorization::checks::checks_test {
namespace {

using tessera::test::expect_error;

const Matrix kLower{2, 2, {1, 0, 2, 3}}, kUpper{2, 2, {1, 2, 0, 3}},
    kWide{2, 3, {1, 2, 3, 4, 5, 6}}, kThree = Matrix::identity(3);

TEST(Checks, AcceptAFactorization) {
  const Matrix A = multiply(kLower, kLower), X = gram(kLower);
  check({.A = &A, .B = &kLower, .C = &kLower, .X = &X});
  check({});
  check({.B = &kWide});
  const Matrix tall = transpose(kWide);  // [3, 2] [2, 3]
  check({.A = &kThree, .B = &tall, .C = &kWide});
}

TEST(Checks, RoundingIsNoEntry) {
  const Matrix nearly{2, 2, {1, 1e-9, 2, 3}};
  check_lower_triangular(nearly, "M");
  expect_error([&] { check_lower_triangular(nearly, "M", {.atol = 0}); }, "got 1e-09 in row 0");
}

TEST(Checks, SayWhatIsWrongWhere) {
  expect_error([] { check({.A = &kUpper}); }, "expected A to be lower triangular, got 2 in row 0");
  expect_error([] { check({.B = &kUpper}); }, "expected B to be lower triangular");
  expect_error([] { check({.C = &kUpper}); }, "expected C to be lower triangular");
  expect_error([] { check({.X = &kLower}); }, "expected X to be symmetric, got 2 and 0 in row 1");
  expect_error([] { check({.A = &kWide}); }, "expected A to be square, got [2, 3]");
  expect_error([] { check({.A = &kLower, .C = &kThree}); }, "the columns of C to be 2, got 3");
  expect_error([] { check({.B = &kWide, .C = &kLower}); }, "the columns of B to be 2, got 3");
  for (double bad : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    const Matrix m{1, 2, {1, bad}};
    expect_error([&] { check({.B = &m}); }, "in row 0, column 1");
  }
}

TEST(Checks, RefuseMatricesWithoutTheirValues) {
  const Matrix few{2, 2, {1}}, none;
  expect_error([&] { check_finite(few, "M"); }, "expected rows * cols values in M, got 1");
  expect_error([&] { check_square(none, "M"); }, "at least one row and column in M, got [0, 0]");
}

}  // namespace
}  // namespace tessera::privacy::matrix_factorization::checks::checks_test
