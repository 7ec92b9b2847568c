#include "tessera/privacy/matrix_factorization/banded.h"

#include "matrix_factorization.h"
#include "tessera/privacy/matrix_factorization/banded_adjoint.h"
#include "tessera/privacy/matrix_factorization/dense.h"

namespace tessera::privacy::matrix_factorization::banded::banded_test {
namespace {

using tessera::test::expect_error;

struct Banded : ::testing::Test {
  const golden::Json& data = golden_of("banded");
  const ColumnNormalizedBanded strategy = ColumnNormalizedBanded::from_optimal_toeplitz(8, 3);
  const Matrix workload = matrix_of(data["workload"]);

  // Returns a strategy with entries of different sizes and signs.
  static ColumnNormalizedBanded uneven(int64_t n, int64_t bands) {
    ColumnNormalizedBanded out{Matrix::zeros(n, bands)};
    for (int64_t j = 0; j < n; ++j)
      for (int64_t r = 0; r < std::min(bands, n - j); ++r)
        out.params(j, r) = (r == 0 ? 1.5 : 0) + std::sin(double(5 * j + 3 * r + 1));
    return out;
  }
};

TEST_F(Banded, AgreesWithJaxPrivacy) {
  expect_relative(strategy.params.values, matrix_of(data["params"]).values, 1e-14);
  expect_relative(strategy.materialize().values, matrix_of(data["matrix"]).values, 1e-14);
  expect_relative(per_query_error(strategy), numbers(data["error"]), 1e-13);
  expect_relative(per_query_error(strategy, workload), numbers(data["error_workload"]), 1e-13);
}

TEST_F(Banded, ErrorsAreThoseOfTheMatrix) {
  for (int64_t bands : {1, 3, 8}) {
    const ColumnNormalizedBanded C = uneven(8, bands);
    expect_relative(
        per_query_error(C, workload),
        dense::per_query_error({.strategy_matrix = C.materialize(), .workload_matrix = workload}),
        1e-12);
  }
}

TEST_F(Banded, GradientsAreThoseOfDifferences) {
  for (const Reduction& reduction : {Reduction(mean_error), Reduction(max_error)})
    for (const std::optional<Matrix>& A : {std::optional<Matrix>(), std::optional(workload)}) {
      const ColumnNormalizedBanded C = uneven(8, 3);
      const auto value = [&](const std::vector<double>& params) {
        return reduced_error({{8, 3, params}}, A, reduction).value;
      };
      const ErrorAndGradient error = reduced_error(C, A, reduction);
      expect_relative(error.value, reduction(per_query_error(C, A)).value);
      expect_relative(error.gradient.values, differences(value, C.params.values), 1e-7);
    }
}

TEST_F(Banded, OptimaAgreeWithJaxPrivacy) {
  for (const golden::Json& c : data["optima"]) {
    SCOPED_TRACE(c.dump());
    const ColumnNormalizedBanded best = optimize({.n = c["n"],
                                                  .bands = c["bands"],
                                                  .max_optimizer_steps = 200,
                                                  .reduction = reduction_of(c["reduction"])});
    expect_relative(sensitivity::single_participation_sensitivity(best.materialize()), 1, 1e-14);
    const double loss = reduction_of(c["reduction"])(per_query_error(best)).value;
    EXPECT_LT(loss, c["loss"].get<double>() * (1 + 1e-6));
    // The largest error has kinks, where searches end at different points.
    if (c["reduction"] == "mean") expect_relative(loss, c["loss"], 1e-6);
  }
}

TEST_F(Banded, SensitivityIsTheNumberOfParticipations) {
  EXPECT_EQ(minsep_sensitivity_squared(strategy, {.min_sep = 3}), 3);
  EXPECT_EQ(minsep_sensitivity_squared(strategy, {.min_sep = 4, .max_participations = 1}), 1);
  EXPECT_EQ(minsep_sensitivity_squared(strategy, {.min_sep = 4}, 4), 1);
  expect_relative(sensitivity::get_sensitivity_banded(uneven(8, 3).materialize(), {.min_sep = 3}),
                  std::sqrt(3), 1e-14);
}

TEST_F(Banded, OptimizesWorkloadsFromAnyStart) {
  const ColumnNormalizedBanded start = uneven(8, 3);
  int64_t steps = 0;
  const ColumnNormalizedBanded best = optimize(
      {.n = 8, .bands = 3, .initial = start, .workload = workload, .callback = [&](const auto&) {
         ++steps;
         return false;
       }});
  EXPECT_GT(steps, 3);
  EXPECT_LT(mean_error(per_query_error(best, workload)).value,
            mean_error(per_query_error(strategy, workload)).value);
}

TEST_F(Banded, RefusesWhatHasNoInverseOrOtherShapes) {
  using Self = ColumnNormalizedBanded;
  expect_error([] { Self::from_banded_toeplitz(2, {1, 1, 1}); }, "between 1 and n = 2, got 3");
  expect_error([] { Self::from_optimal_toeplitz(2, 0); }, "between 1 and n = 2, got 0");
  expect_error(
      [] {
        Self{Matrix{2, 1, {1, 0}}}.materialize();
      },
      "positive, finite norm, got 0 in column 1");
  expect_error([] { Self{Matrix{2, 1, {1, std::nan("")}}}.materialize(); }, "finite entries");
  expect_error([] { per_query_error({Matrix{2, 2, {0, 1, 1, 0}}}); }, "got 0 in column 0");
  expect_error([&] { per_query_error(strategy, Matrix::identity(3)); }, "of n = 8 rows, got 3");
  expect_error([&] { per_query_error(strategy, transpose(workload)); }, "lower triangular");
  expect_error([&] { minsep_sensitivity_squared(strategy, {.min_sep = 2}); },
               "at least the number of bands = 3, got 2");
  expect_error([&] { minsep_sensitivity_squared(strategy, {.min_sep = 3}, 9); },
               "at most the strategy's 8, got 9");
  expect_error([&] { optimize({.n = 8, .bands = 2, .initial = strategy}); },
               "of [8, 2] parameters, got [8, 3]");
  expect_error([] { optimize({.n = 2, .bands = 3}); }, "between 1 and n = 2, got 3");
}

}  // namespace
}  // namespace tessera::privacy::matrix_factorization::banded::banded_test
