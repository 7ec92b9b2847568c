#include "tessera/privacy/matrix_factorization/streaming_matrix.h"

#include <cmath>

#include "../errors.h"
#include "../numpy/run.h"
#include "streaming_matrices.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/operators.h"

namespace tessera::streaming_matrix_test {
namespace {

using namespace privacy::matrix_factorization;
using tessera::test::expect_close;
using tessera::test::expect_error;
using tessera::test::noise_data;
using tessera::test::streaming_matrices;

TEST(StreamingMatrix, ProductsAreThoseOfJaxPrivacy) {
  const Array x(noise_data().array(noise_data()["sequence"]));
  const auto matrices = streaming_matrices();
  for (const golden::Json& c : noise_data()["matrices"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    expect_close(multiply_array(matrices.at(c["name"]), x).to_host(),
                 noise_data().array(c["products"]), 2e-6, 2e-6);
  }
}

TEST(StreamingMatrix, KeysTellMatricesApart) {
  std::map<std::string, std::string> seen;
  for (const auto& [name, matrix] : streaming_matrices())
    EXPECT_TRUE(seen.emplace(matrix.tree_static_key(), name).second) << name;
  EXPECT_EQ(diagonal({1, 2}).tree_static_key(), diagonal({1, 2}).tree_static_key());
  // The list is longer than what a key holds unhashed.
  std::vector<double> many(1000, 1.0), other = many;
  other[500] = std::nextafter(1.0, 2.0);
  EXPECT_EQ(diagonal(many).tree_static_key(), diagonal(many).tree_static_key());
  EXPECT_NE(diagonal(many).tree_static_key(), diagonal(other).tree_static_key());
  EXPECT_LT(diagonal(many).tree_static_key().size(), 100u);
}

TEST(StreamingMatrix, RowsEndWithTheShorterFactor) {
  EXPECT_EQ(prefix_sum().rows(), std::nullopt);
  EXPECT_EQ(diagonal({1, 2}).rows(), std::nullopt);
  EXPECT_EQ(dense_matrix({1, 0, 0, 1}, 2).rows(), 2);
  EXPECT_EQ((prefix_sum() * dense_matrix({1, 0, 0, 1}, 2)).rows(), 2);
  EXPECT_EQ(toeplitz_inverse({1, .5, .25}, {.column_normalize_for_n = 2}).rows(), 2);
  EXPECT_EQ(
      (dense_matrix({1}, 1) * toeplitz_inverse({1, .5, .25}, {.column_normalize_for_n = 2})).rows(),
      1);
  EXPECT_EQ(column_normalized_banded_inverse({1, 1, 1, 1, 1, 1}, 2).rows(), 3);
}

TEST(StreamingMatrix, ImpossibleCoefficientsAreErrors) {
  const double nan = std::nan(""), inf = INFINITY;
  expect_error([] { diagonal(std::vector<double>()); },
               "expected at least one of the diagonal elements, got none");
  expect_error([&] { diagonal({1, nan}); }, "expected finite diagonal elements, got nan");
  expect_error([] { momentum_sgd_matrix(.9, {.1, 0}); }, "expected positive learning rates, got 0");
  expect_error([&] { momentum_sgd_matrix(inf); }, "expected finite momentum, got inf");
  expect_error([] { toeplitz_matrix({}); }, "expected at least one of the coefficients");
  expect_error([&] { toeplitz_matrix({nan}); }, "expected finite coefficients, got nan");
  expect_error([] { toeplitz_inverse({}); }, "expected at least one of the coefficients");
  expect_error([] { toeplitz_inverse({0, 1}); }, "expected a first coefficient other than 0");
  expect_error([] { toeplitz_inverse({1}, {.column_normalize_for_n = 0}); },
               "expected column_normalize_for_n to be at least 1, got 0");
  expect_error(
      [] {
        column_normalized_banded_inverse({1, 2, 3}, 2);
      },
      "expected rows of as many parameters as there are bands, got 3 for 2 bands");
  expect_error([] { column_normalized_banded_inverse({1, 2, 3}, 0); }, "for 0 bands");
  expect_error([] { column_normalized_banded_inverse({1, 2, 0, 1}, 2); }, "got 0 in row 1");
  expect_error([] { buffered_toeplitz_matrix({1}, {}); },
               "expected a decay and a scale for each buffer");
  expect_error([&] { buffered_toeplitz_inverse({nan}, {1}); }, "expected finite decays, got nan");
  expect_error(
      [] {
        dense_matrix({1, 2, 3}, 2);
      },
      "expected elements of whole rows, got 3 for 2 rows");
  expect_error(
      [] {
        dense_matrix({1, 2, 3}, 1) * identity();
      },
      "got 1 x 3 with elements elsewhere");
  expect_error([] { multiply_array(identity(), Array(1.0f)); }, "got a scalar");
  expect_error(
      [] {
        multiply_array(dense_matrix({1}, 1), ones({2, 3}));
      },
      "expected a sequence of at most 1 elements");
}

}  // namespace
}  // namespace tessera::streaming_matrix_test
