#include "tessera/privacy/matrix_factorization/dense.h"

#include "matrix_factorization.h"

namespace tessera::privacy::matrix_factorization::dense::dense_test {
namespace {

using tessera::test::expect_error;

struct Dense : ::testing::Test {
  const golden::Json& data = golden_of("dense");
  const Matrix C = matrix_of(data["C"]), A = matrix_of(data["A"]);
};

TEST_F(Dense, AgreesWithJaxPrivacy) {
  expect_relative(per_query_error({.strategy_matrix = C}), numbers(data["error"]));
  expect_relative(per_query_error({.strategy_matrix = C, .workload_matrix = A}),
                  numbers(data["error_workload"]));
  Matrix noising = Matrix::zeros(6, 4);
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 4; ++j) noising(i, j) = C(i, j);
  expect_relative(per_query_error({.noising_matrix = noising, .workload_matrix = A}),
                  numbers(data["error_noising"]));
  EXPECT_EQ(get_orthogonal_mask(6, 3), matrix_of(data["mask"]));
  expect_relative(strategy_from_X(gram(C)).values, matrix_of(data["from_X"]).values);
  expect_relative(gram(strategy_from_X(gram(C))).values, gram(C).values);
}

TEST_F(Dense, OptimaAgreeWithJaxPrivacy) {
  for (const golden::Json& c : data["optima"]) {
    SCOPED_TRACE(c.dump());
    const Matrix best = optimize({.n = c["n"],
                                  .epochs = c["epochs"],
                                  .bands = optional_of(c["bands"]),
                                  .equal_norm = c["equal_norm"].get<bool>()});
    expect_relative(mean_error(per_query_error({.strategy_matrix = best})).value, c["loss"], 1e-8);
    expect_relative(sensitivity::fixed_epoch_sensitivity(best, c["epochs"]), 1, 1e-12);
  }
}

// This class of strategies is larger than that of Toeplitz strategies.
TEST_F(Dense, OptimizesOtherReductions) {
  const Matrix best = optimize({.n = 16, .reduction = last_error});
  const double error = last_error(per_query_error({.strategy_matrix = best})).value;
  EXPECT_LT(error, 4);
  EXPECT_LT(error, last_error(per_query_error({.strategy_matrix = optimize({.n = 16})})).value);
}

TEST_F(Dense, OptimizesOtherWorkloadsUntilTold) {
  const Matrix best = optimize({.n = 6, .A = A});
  EXPECT_LT(
      mean_error(per_query_error({.strategy_matrix = best, .workload_matrix = A})).value,
      mean_error(per_query_error({.strategy_matrix = Matrix::identity(6), .workload_matrix = A}))
          .value);
  int64_t steps = 0;
  optimize({.n = 6, .callback = [&](const OptimizerStep&) { return ++steps == 2; }});
  EXPECT_EQ(steps, 2);
}

TEST_F(Dense, RefusesWhatHasNoError) {
  expect_error([] { per_query_error({}); }, "got neither");
  expect_error([&] { per_query_error({.strategy_matrix = C, .noising_matrix = C}); }, "got both");
  expect_error([] { per_query_error({.strategy_matrix = Matrix::zeros(2, 2)}); },
               "invertible strategy_matrix, got one of rank 0 of 2");
  expect_error([] { per_query_error({.strategy_matrix = Matrix::zeros(2, 3)}); }, "to be square");
  expect_error([&] { per_query_error({.strategy_matrix = C, .workload_matrix = transpose(A)}); },
               "expected A to be lower triangular");
  expect_error(
      [&] { per_query_error({.strategy_matrix = Matrix::identity(2), .workload_matrix = A}); },
      "the columns of C to be 6, got 2");
}

TEST_F(Dense, RefusesWhatCannotBeOptimized) {
  expect_error([] { get_orthogonal_mask(6, 4); }, "that divides n = 6, got 4");
  expect_error([] { get_orthogonal_mask(6, 0); }, "that divides n = 6, got 0");
  expect_error([] { strategy_from_X({1, 1, {-1}}); }, "expected a positive definite matrix");
  expect_error([&] { strategy_from_X(C); }, "expected X to be symmetric");
  expect_error([] { optimize({.n = 6, .epochs = 4}); }, "that divides n = 6, got 4");
  expect_error([] { optimize({.n = 0}); }, "divides n = 0");
  expect_error([] { optimize({.n = 6, .bands = 0}); }, "got 6 and 0");
  expect_error([&] { optimize({.n = 5, .A = A}); }, "of n = 5 rows, got 6");
}

}  // namespace
}  // namespace tessera::privacy::matrix_factorization::dense::dense_test
