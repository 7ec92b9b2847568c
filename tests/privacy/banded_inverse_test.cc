#include "tessera/privacy/matrix_factorization/banded_inverse.h"

#include "matrix_factorization.h"

namespace tessera::privacy::matrix_factorization::banded_inverse::banded_inverse_test {
namespace {

using tessera::test::expect_error;

const golden::Json& head_of(const char* key) {
  static const golden::Topic topic("privacy_head");
  return topic["banded_inverse"][key];
}

constexpr Participation kTenEpochs = {.min_sep = 40, .max_participations = 10};

TEST(BandedInverse, SquareRootIsThatOfThePrefixSum) {
  EXPECT_THAT(square_root_coefs(4), ::testing::ElementsAre(1, -.5, -.125, -.0625));
  const toeplitz::Coefs root = toeplitz::inverse_coef(square_root_coefs(50));
  expect_relative(toeplitz::multiply(root, root), toeplitz::Coefs(50, 1.0), 1e-12);
}

TEST(BandedInverse, SquareRootsOfWorkloadsAreJaxPrivacys) {
  for (const golden::Json& c : head_of("roots")) {
    const toeplitz::Coefs workload =
        c["workload"].is_null() ? toeplitz::Coefs() : numbers(c["workload"]);
    expect_relative(square_root_coefs(c["bands"], workload), numbers(c["coefs"]));
  }
}

TEST(BandedInverse, SquareRootOfAWorkloadIsOne) {
  const toeplitz::Coefs workload = toeplitz::sgd_workload_coefs(30, {.momentum = .8, .decay = .95});
  const toeplitz::Coefs root = toeplitz::inverse_coef(square_root_coefs(30, workload));
  expect_relative(toeplitz::multiply(root, root), workload, 1e-12);
  expect_relative(square_root_coefs(30, toeplitz::Coefs(30, 1.0)), square_root_coefs(30), 1e-12);
}

TEST(BandedInverse, SensitivitiesAreJaxPrivacys) {
  for (const golden::Json& c : head_of("sensitivities")) {
    const toeplitz::Coefs noising = numbers(c["noising"]);
    expect_relative(minsep_sensitivity_squared(noising, participation_of(c), c["n"]),
                    c["majorant"]);
    expect_relative(
        minsep_sensitivity_squared(noising, participation_of(c), c["n"], SensitivityBound::kMatrix),
        c["matrix"]);
  }
}

TEST(BandedInverse, BothBoundsAreBounds) {
  for (const toeplitz::Coefs& noising :
       {toeplitz::Coefs{1, -1.2}, {1, .4, -.3}, {2, -1.5, .25}, {1, -.5}}) {
    const Participation participation{2, 3};
    const double exact = by_definition(
        toeplitz::materialize_lower_triangular(toeplitz::inverse_coef(noising, 8)), participation);
    for (const SensitivityBound bound : {SensitivityBound::kMajorant, SensitivityBound::kMatrix})
      EXPECT_GE(minsep_sensitivity_squared(noising, participation, 8, bound),
                exact * exact * (1 - 1e-12));
  }
}

// The largest error has kinks, which limit how close a search comes to the optimum.
TEST(BandedInverse, OptimaAreJaxPrivacysOrBetter) {
  for (const golden::Json& c : head_of("optima")) {
    const int64_t n = c["n"];
    const Participation participation = participation_of(c);
    toeplitz::Coefs workload;
    if (!c["momentum"].is_null())
      workload = toeplitz::sgd_workload_coefs(n, {.momentum = c["momentum"], .decay = c["decay"]});
    const toeplitz::Coefs best = optimize({.n = n,
                                           .bands = c["bands"],
                                           .participation = participation,
                                           .reduction = reduction_of(c["reduction"]),
                                           .workload = workload});
    const double optimum = loss(best, participation, n, reduction_of(c["reduction"]), workload);
    EXPECT_LE(optimum, c["loss"].get<double>() * (1 + 1e-5)) << c.dump();
    EXPECT_GE(optimum, c["loss"].get<double>() * .9) << c.dump();
  }
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

// One band is the identity: for k participations the loss is k (n + 1) / 2.
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

// With one participation and all bands, the strategies are all Toeplitz matrices.
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
  const toeplitz::Coefs inverse =
      optimize({.n = 20, .bands = 3, .strategy_coef = {2, 1, .5}, .max_optimizer_steps = 0});
  expect_relative(inverse, {1, -.5, 0}, 1e-15);
}

TEST(BandedInverse, RefusesBandsAndStartsThatDoNotFit) {
  expect_error([] { optimize({.n = 4, .bands = 5}); }, "between 1 and n = 4, got 5");
  expect_error([] { optimize({.n = 4, .bands = 2, .noising_coef = {1}}); },
               "of bands = 2 entries, got 1");
  expect_error(
      [] {
        optimize({.n = 4, .bands = 2, .noising_coef = {1, 0}, .strategy_coef = {1}});
      },
      "expected one of noising_coef and strategy_coef to begin with, got both");
  expect_error(
      [] {
        optimize({.n = 4, .bands = 2, .strategy_coef = {0, 1}});
      },
      "expected a first strategy_coef other than 0, got 0");
  expect_error(
      [] {
        optimize({.n = 4, .bands = 2, .workload = {1, 1}});
      },
      "expected a workload of n = 4 coefficients, got 2");
  expect_error(
      [] {
        square_root_coefs(2, {-1, 1});
      },
      "expected a workload whose first coefficient is above 0, got -1");
  expect_error([] { square_root_coefs(0); }, "n of at least 1, got 0");
  expect_error([] { square_root_coefs(2, {1, std::nan("")}); }, "expected finite coefficients");
  expect_error([] { optimize({.n = 4, .bands = 2, .noising_coef = {0, 1}}); }, "other than 0");
}

}  // namespace
}  // namespace tessera::privacy::matrix_factorization::banded_inverse::banded_inverse_test
