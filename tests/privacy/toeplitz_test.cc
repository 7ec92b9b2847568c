#include "tessera/privacy/matrix_factorization/toeplitz.h"

#include <limits>

#include "matrix_factorization.h"

namespace tessera::privacy::matrix_factorization::toeplitz::toeplitz_test {
namespace {

using tessera::test::expect_error;
using ::testing::ElementsAre;

struct Toeplitz : ::testing::Test {
  const golden::Json& data = golden_of("toeplitz");
  const Coefs coef = numbers(data["coef"]), workload = numbers(data["workload"]);
};

TEST_F(Toeplitz, AgreesWithJaxPrivacy) {
  expect_relative(optimal_max_error_strategy_coefs(12), numbers(data["strategy_coefs"]), 1e-14);
  expect_relative(optimal_max_error_noising_coefs(12), numbers(data["noising_coefs"]), 1e-14);
  expect_relative(solve_banded(coef, numbers(data["rhs"])), numbers(data["solve"]), 1e-14);
  expect_relative(multiply(coef, workload, 7), pad_coefs_to_n(numbers(data["product"]), 7), 1e-14);
  expect_relative(inverse_coef(coef, 7), numbers(data["inverse"]), 1e-14);
  for (const bool strategy : {true, false})
    for (const bool prefix : {true, false}) {
      const std::string key =
          std::string("error") + (strategy ? "" : "_noising") + (prefix ? "" : "_workload");
      Mechanism mechanism{.n = 7, .workload_coef = prefix ? Coefs{} : workload};
      (strategy ? mechanism.strategy_coef : mechanism.noising_coef) = coef;
      std::vector<double> errors = per_query_error(mechanism);
      EXPECT_EQ(errors.size(), 7);
      // jax_privacy stops at the last noising coefficient and leaves the larger errors out.
      errors.resize(data[key.c_str()].size());
      expect_relative(errors, numbers(data[key.c_str()]), 1e-13);
    }
}

TEST_F(Toeplitz, MinSepSensitivitiesAgreeWithJaxPrivacy) {
  for (const golden::Json& c : data["minsep"]) {
    SCOPED_TRACE(c.dump());
    const int64_t n = c["n"];
    const Coefs full = optimal_max_error_strategy_coefs(n);
    const Participation participation = participation_of(c);
    expect_relative(minsep_sensitivity_squared(coef, participation, n), c["short"]);
    expect_relative(minsep_sensitivity_squared(full, participation), c["full"]);
  }
}

TEST(ToeplitzMinSep, IsExact) {
  for (int64_t n : {6, 9})
    for (int64_t min_sep : {1, 2, 3, 7})
      for (const std::optional<int64_t> most :
           {std::optional<int64_t>(), std::optional<int64_t>(2)}) {
        const Coefs coef = optimal_max_error_strategy_coefs(n);
        const Participation participation{min_sep, most};
        const double exact = by_definition(materialize_lower_triangular(coef), participation);
        expect_relative(minsep_sensitivity_squared(coef, participation), exact * exact);
      }
}

TEST(ToeplitzError, IsThatOfAllQueriesWhereTheNoisingMatrixIsBanded) {
  const Coefs noising = {1, -.5};
  expect_relative(per_query_error({.noising_coef = noising, .n = 5}),
                  per_query_error({.strategy_coef = inverse_coef(noising, 5)}), 1e-14);
}

TEST(ToeplitzReference, HasItsValues) {
  const Coefs best = optimal_max_error_strategy_coefs(128), c = {1, .5, .25, .125};
  EXPECT_THAT(optimal_max_error_strategy_coefs(4), ElementsAre(1, .5, .375, .3125));
  expect_relative(loss(best, 128, max_error), 6.812642184913268);
  expect_relative(loss(best), 5.9967473737552766);
  expect_relative(loss(c, 64), 13.128869099491647);
  EXPECT_EQ(minsep_sensitivity_squared(c, {.min_sep = 4}, 64), 21.25);
}

TEST_F(Toeplitz, OptimaAgreeWithJaxPrivacy) {
  for (const golden::Json& c : data["optima"]) {
    SCOPED_TRACE(c.dump());
    const Coefs best = optimize_banded_toeplitz(
        {.n = c["n"], .bands = c["bands"], .reduction = reduction_of(c["reduction"])});
    EXPECT_EQ(static_cast<int64_t>(best.size()), c["bands"]);
    expect_relative(sensitivity_squared(best), 1, 1e-14);
    expect_relative(loss(best, c["n"].get<int64_t>(), reduction_of(c["reduction"])), c["loss"],
                    1e-12);
  }
}

TEST(ToeplitzOptimize, AnyReductionAndStart) {
  const Reduction median = [](const std::vector<double>& errors) {
    Reduced out{errors[8], std::vector<double>(errors.size())};
    out.gradient[8] = 1;
    return out;
  };
  const Coefs best = optimize_banded_toeplitz({.n = 16, .bands = 3, .reduction = median});
  EXPECT_LT(loss(best, 16, median),
            loss(optimize_banded_toeplitz({.n = 16, .bands = 3}), 16, median));
  const Coefs again = optimize_banded_toeplitz(
      {.n = 16, .bands = 3, .strategy_coef = {-2, .1, .1}, .reduction = median});
  expect_relative(again, best, 1e-5);
}

TEST(ToeplitzMatrix, SizesCutAndFill) {
  EXPECT_THAT(pad_coefs_to_n({1, 2, 3}, 2), ElementsAre(1, 2));
  EXPECT_THAT(pad_coefs_to_n({1, 2}, 4), ElementsAre(1, 2, 0, 0));
  EXPECT_EQ(materialize_lower_triangular({1, 2}, 3), (Matrix{3, 3, {1, 0, 0, 2, 1, 0, 0, 2, 1}}));
  EXPECT_EQ(sensitivity_squared({1, 2, 3}, 2), 5);
  EXPECT_THAT(column_norms({3, 4}, 3), ElementsAre(5, 5, 3));
  EXPECT_THAT(multiply({1, 2, 3}, {1, 1}, 2), ElementsAre(1, 3));
}

TEST(ToeplitzBound, IsThatOfAMajorantForAnyCoefficients) {
  const Coefs rising = {1, .2, -.6, .1};
  const Participation participation{2, 3};
  EXPECT_EQ(minsep_sensitivity_squared_upper_bound(rising, participation, 8),
            minsep_sensitivity_squared({1, .6, .6, .1}, participation, 8));
  const double exact = by_definition(materialize_lower_triangular(rising, 8), participation);
  EXPECT_GE(minsep_sensitivity_squared_upper_bound(rising, participation, 8), exact * exact);
}

TEST(ToeplitzErrors, OfCoefficientsAndSizes) {
  const double inf = std::numeric_limits<double>::infinity();
  expect_error([] { pad_coefs_to_n({1}, 0); }, "n of at least 1, got 0");
  expect_error([] { pad_coefs_to_n({}, 4); }, "at least one coefficient, got none");
  expect_error([&] { sensitivity_squared({1, inf}); }, "finite coefficients, got inf at index 1");
  expect_error([] { optimal_max_error_strategy_coefs(0); }, "n of at least 1, got 0");
  expect_error([] { solve_banded({0, 1}, {1, 2}); }, "the matrix is singular");
  expect_error([] { solve_banded({1}, {}); }, "expected a right-hand side");
  expect_error([] { multiply({1, 2}, {1}); }, "of the same length, got 2 and 1");
}

TEST(ToeplitzErrors, OfParticipationsAndMechanisms) {
  const Participation every_second{.min_sep = 2};
  expect_error(
      [&] {
        minsep_sensitivity_squared({1, 2}, every_second);
      },
      "do not increase, got 2 after 1 at index 1");
  expect_error(
      [&] {
        minsep_sensitivity_squared({1, -.5}, every_second);
      },
      "at least 0, got -0.5 at index 1");
  expect_error([] { minsep_sensitivity_squared({1}, {.min_sep = 0}); }, "min_sep of at least 1");
  expect_error([] { per_query_error({}); }, "got neither");
  expect_error([] { per_query_error({.strategy_coef = {1}, .noising_coef = {1}}); }, "got both");
}

// The values are jax_privacy's, at the head of its repository, for strategies with any
// coefficients.
TEST(ToeplitzBound, IsJaxPrivacys) {
  static const golden::Topic topic("privacy_head");
  for (const golden::Json& c : topic["sensitivities"])
    expect_relative(
        minsep_sensitivity_squared_upper_bound(numbers(c["coef"]), participation_of(c), c["n"]),
        c["squared"]);
}

// jax_privacy takes the noise multiplier as the standard deviation, although it multiplies it by
// the norm.
TEST(ToeplitzRmse, IsJaxPrivacysTimesTheNorm) {
  static const golden::Topic topic("privacy_head");
  for (const golden::Json& c : topic["rmse"]) {
    const Coefs strategy = numbers(c["strategy"]);
    const double factor =
        c["noise_multiplier"].get<double>() / c["expected_participations"].get<double>();
    expect_relative(factor * rmse({.strategy_coef = strategy, .n = c["iterations"]}),
                    c["rmse"].get<double>() * std::sqrt(sensitivity_squared(strategy)));
  }
}

TEST(ToeplitzRmse, DoesNotChangeWithScaleOrSide) {
  const Coefs strategy = {1, .5, .25};
  const double error = rmse({.strategy_coef = strategy, .n = 12});
  expect_relative(rmse({.strategy_coef = {2, 1, .5}, .n = 12}), error);
  expect_relative(rmse({.noising_coef = inverse_coef(strategy, 12), .n = 12}), error);
  expect_relative(rmse({.strategy_coef = {1}, .n = 9}), std::sqrt(5.0));
  expect_relative(rmse({.strategy_coef = {1}, .n = 9}, {.min_sep = 3}), std::sqrt(15.0));
  expect_error([] { rmse({}); }, "got neither");
}

TEST(ToeplitzWorkload, IsThatOfSgd) {
  EXPECT_EQ(sgd_workload_coefs(4), Coefs(4, 1.0));
  expect_relative(sgd_workload_coefs(4, {.momentum = .5}), {1, 1.5, 1.75, 1.875}, 1e-15);
  // Computes step after step m = momentum m + g, p = decay p + m, for a gradient at the first step.
  double m = 1, p = 0;
  const Coefs coefs = sgd_workload_coefs(10, {.momentum = .9, .decay = .99});
  for (size_t k = 0; k < coefs.size(); ++k, m *= .9) {
    p = .99 * p + m;
    EXPECT_NEAR(coefs[k], p, 1e-14);
  }
  expect_error([] { sgd_workload_coefs(0); }, "expected n of at least 1, got 0");
  expect_error([] { sgd_workload_coefs(3, {.momentum = 1}); }, "a momentum in [0, 1), got 1");
  expect_error([] { sgd_workload_coefs(3, {.decay = 0}); }, "a decay in (0, 1], got 0");
}

TEST(ToeplitzErrors, OfOptimization) {
  expect_error([] { optimize_banded_toeplitz({.n = 4, .bands = 5}); },
               "between 1 and n = 4, got 5");
  expect_error([] { optimize_banded_toeplitz({.n = 4, .bands = 0}); }, "got 0");
  expect_error([] { optimize_banded_toeplitz({.n = 4, .bands = 2, .strategy_coef = {1}}); },
               "of bands = 2 entries, got 1");
  expect_error(
      [] {
        optimize_banded_toeplitz({.n = 4, .bands = 2, .strategy_coef = {0, 1}});
      },
      "the matrix is singular");
}

}  // namespace
}  // namespace tessera::privacy::matrix_factorization::toeplitz::toeplitz_test
