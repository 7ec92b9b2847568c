// Compares the rows of streaming matrices with jax_privacy's in float64: golden/make_noise.py.
#include <cmath>

#include "../errors.h"
#include "streaming_matrices.h"

namespace tessera::streaming_rows_test {
namespace {

using namespace privacy::matrix_factorization;
using tessera::test::expect_error;
using tessera::test::noise_data;
using tessera::test::streaming_matrices;

TEST(StreamingRows, AreThoseOfJaxPrivacy) {
  const auto matrices = streaming_matrices();
  for (const golden::Json& c : noise_data()["matrices"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const Literal expected = noise_data().array(c["rows"]);
    const std::vector<double> got = matrices.at(c["name"]).materialize(6);
    ASSERT_EQ(got.size(), 36u);
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], expected.data<double>()[i], 1e-14 * std::abs(got[i]) + 1e-15) << i;
  }
}

TEST(StreamingRows, InversesAreInverses) {
  const StreamingMatrix one = buffered_toeplitz_matrix({0.9, 0.3}, {0.4, 0.2}) *
                              buffered_toeplitz_inverse({0.9, 0.3}, {0.4, 0.2});
  const std::vector<double> got = one.materialize(50), expected = identity().materialize(50);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-13) << i;
}

// The noising matrix of a banded inverse is banded; its inverse is the strategy.
TEST(StreamingRows, ToeplitzMatricesEndAfterTheirCoefficients) {
  EXPECT_EQ(toeplitz_matrix({2, -1}).materialize(3),
            (std::vector<double>{2, 0, 0, -1, 2, 0, 0, -1, 2}));
  EXPECT_EQ(toeplitz_matrix({2, -1, 5}).materialize(1), std::vector<double>{2});
  const StreamingMatrix one = toeplitz_matrix({1, -.5, -.125}) * toeplitz_inverse({1, -.5, -.125});
  const std::vector<double> got = one.materialize(40), expected = identity().materialize(40);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-15) << i;
  EXPECT_NE(toeplitz_matrix({1, .5}).tree_static_key(),
            toeplitz_inverse({1, .5}).tree_static_key());
}

TEST(StreamingRows, NormsAreThoseOfTheRows) {
  EXPECT_EQ(prefix_sum().row_norms_squared(4), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(dense_matrix({3, 0, 4, 5}, 2).row_norms_squared(2), (std::vector<double>{9, 41}));
  EXPECT_EQ(identity().row_norms_squared(0), std::vector<double>{});
}

TEST(StreamingRows, ThereMustBeAsMany) {
  expect_error([] { prefix_sum().materialize(-1); },
               "expected a number of rows in [0, ...], got -1");
  expect_error(
      [] {
        dense_matrix({3, 0, 4, 5}, 2).materialize(3);
      },
      "expected a number of rows in [0, 2], got 3");
  expect_error(
      [] {
        dense_matrix({3, 1, 4, 5}, 2).materialize(2);
      },
      "expected a square lower-triangular matrix, got 2 x 2 with elements elsewhere");
}

}  // namespace
}  // namespace tessera::streaming_rows_test
