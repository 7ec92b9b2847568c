#include "tessera/privacy/matrix_factorization/banded_inverse.h"

#include "matrix_factorization.h"

namespace tessera::privacy::matrix_factorization::banded_inverse {
namespace {

using tessera::testing::expect_error;

constexpr Participation kTenEpochs = {.min_sep = 40, .max_participations = 10};

TEST(BandedInverse, SquareRootIsThatOfThePrefixSum) {
  EXPECT_THAT(square_root_coefs(4), ::testing::ElementsAre(1, -.5, -.125, -.0625));
  const toeplitz::Coefs root = toeplitz::inverse_coef(square_root_coefs(50));
  expect_relative(toeplitz::multiply(root, root), toeplitz::Coefs(50, 1.0), 1e-12);
}

TEST(BandedInverse, SensitivityIsThatOfTheInverse) {
  for (int64_t bands : {1, 2, 5}) {
    const toeplitz::Coefs noising = square_root_coefs(bands);
    const toeplitz::Coefs strategy = toeplitz::inverse_coef(noising, 9);
    const Participation participation{2, 3};
    const double squared = minsep_sensitivity_squared(noising, participation, 9);
    EXPECT_EQ(squared, toeplitz::minsep_sensitivity_squared(strategy, participation));
    const double exact =
        by_definition(toeplitz::materialize_lower_triangular(strategy), participation);
    expect_relative(squared, exact * exact);
  }
}

// One band is the identity: k participations of sqrt(n (n + 1) / 2) noise.
TEST(BandedInverse, OptimizationMakesItBetterThanTheSquareRootAndThanABandedStrategy) {
  expect_relative(optimize({.n = 400, .bands = 1, .participation = kTenEpochs}), {1});
  double previous = loss({1}, kTenEpochs, 400);
  expect_relative(previous, 10 * 401 / 2.0);
  for (int64_t bands : {2, 4, 8}) {
    const toeplitz::Coefs best = optimize({.n = 400, .bands = bands, .participation = kTenEpochs});
    EXPECT_EQ(best[0], 1);
    const double optimum = loss(best, kTenEpochs, 400);
    EXPECT_LT(optimum, previous);
    EXPECT_LT(optimum, loss(square_root_coefs(bands), kTenEpochs, 400));
    const toeplitz::Coefs banded = toeplitz::optimize_banded_toeplitz({.n = 400, .bands = bands});
    EXPECT_LT(optimum, 10 * toeplitz::loss(banded, 400));
    previous = optimum;
  }
}

// With one participation and all bands the class is that of all Toeplitz matrices.
TEST(BandedInverse, AllBandsReachTheOptimalToeplitzStrategy) {
  const Participation once{1, 1};
  const toeplitz::Coefs best =
      optimize({.n = 16, .bands = 16, .participation = once, .reduction = max_error});
  expect_relative(loss(best, once, 16, max_error),
                  toeplitz::loss(toeplitz::optimal_max_error_strategy_coefs(16), 16, max_error));
}

TEST(BandedInverse, StartsWhereItIsToldTo) {
  const toeplitz::Coefs start = {2, -1.2};
  const toeplitz::Coefs same =
      optimize({.n = 20, .bands = 2, .noising_coef = start, .max_optimizer_steps = 0});
  expect_relative(same, {1, -.6}, 1e-15);
}

TEST(BandedInverse, RefusesBandsAndStartsThatDoNotFit) {
  expect_error([] { optimize({.n = 4, .bands = 5}); }, "between 1 and n = 4, got 5");
  expect_error([] { optimize({.n = 4, .bands = 2, .noising_coef = {1}}); },
               "of bands = 2 entries, got 1");
  expect_error([] { optimize({.n = 4, .bands = 2, .noising_coef = {0, 1}}); }, "other than 0");
}

}  // namespace
}  // namespace tessera::privacy::matrix_factorization::banded_inverse
