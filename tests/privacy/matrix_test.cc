#include "tessera/privacy/matrix_factorization/matrix.h"

#include "matrix_factorization.h"

namespace tessera::privacy::matrix_factorization::matrix_test {
namespace {

using tessera::test::expect_error;

const Matrix kWide{2, 3, {1, 2, 3, 4, 5, 6}};

TEST(Matrix, IsMadeOfItsEntries) {
  EXPECT_EQ(Matrix::identity(2), (Matrix{2, 2, {1, 0, 0, 1}}));
  EXPECT_EQ(Matrix::prefix_sum(3), (Matrix{3, 3, {1, 0, 0, 1, 1, 0, 1, 1, 1}}));
  EXPECT_EQ(Matrix::zeros(0, 4), (Matrix{0, 4, {}}));
  EXPECT_EQ(kWide(1, 0), 4);
}

TEST(Matrix, MultipliesAndTransposes) {
  EXPECT_EQ(transpose(kWide), (Matrix{3, 2, {1, 4, 2, 5, 3, 6}}));
  EXPECT_EQ(multiply(kWide, transpose(kWide)), (Matrix{2, 2, {14, 32, 32, 77}}));
}

TEST(Matrix, GramIsExactlySymmetric) {
  const Matrix X = gram(kWide);
  EXPECT_EQ(X, multiply(transpose(kWide), kWide));
  EXPECT_EQ(X, transpose(X));
}

TEST(Matrix, Prints) { EXPECT_EQ(to_string(kWide), "[[1, 2, 3]\n [4, 5, 6]]"); }

TEST(Matrix, RefusesExtentsThatDoNotFit) {
  expect_error([] { Matrix::zeros(-1, 2); }, "expected extents of at least 0, got [-1, 2]");
  expect_error([] { multiply(kWide, kWide); }, "got [2, 3] and [2, 3]");
}

}  // namespace
}  // namespace tessera::privacy::matrix_factorization::matrix_test
