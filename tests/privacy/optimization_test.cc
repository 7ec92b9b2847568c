#include "tessera/privacy/matrix_factorization/optimization.h"

#include <limits>
#include <stdexcept>

#include "matrix_factorization.h"

namespace tessera::privacy::matrix_factorization::optimization_test {
namespace {

using tessera::test::expect_error;

double rosenbrock(const std::vector<double>& x, std::vector<double>& gradient) {
  const double a = 1 - x[0], b = x[1] - x[0] * x[0];
  gradient = {-2 * a - 400 * x[0] * b, 200 * b};
  return a * a + 100 * b * b;
}

TEST(Optimize, FollowsAValleyToItsEnd) {
  const std::vector<double> x = optimize(rosenbrock, {-1.2, 1});
  EXPECT_NEAR(x[0], 1, 1e-9);
  EXPECT_NEAR(x[1], 1, 1e-9);
}

// Minimises x - log(x) - log(1.5 - x), which is NaN beyond its barriers.
TEST(Optimize, StaysWithinBarriers) {
  const Objective objective = [](const std::vector<double>& x, std::vector<double>& gradient) {
    gradient[0] = 1 - 1 / x[0] + 1 / (1.5 - x[0]);
    return x[0] - std::log(x[0]) - std::log(1.5 - x[0]);
  };
  // 1 - 1/x + 1/(3/2 - x) = 0 at x = 1/2.
  for (double start : {1e-6, .1, 1.4, 1.5 - 1e-9})
    EXPECT_NEAR(optimize(objective, {start})[0], .5, 1e-7) << start;
}

TEST(Optimize, StopsAfterItsStepsOrWhereTheCallbackOrTheToleranceSays) {
  std::vector<int64_t> steps;
  const OptimizerCallback record = [&](const OptimizerStep& step) {
    std::vector<double> gradient(2);
    EXPECT_EQ(step.loss, rosenbrock(step.params, gradient));
    EXPECT_EQ(step.gradient, gradient);
    steps.push_back(step.step);
    return step.step == 4;
  };
  optimize(rosenbrock, {-1.2, 1}, {.callback = record});
  EXPECT_THAT(steps, ::testing::ElementsAre(0, 1, 2, 3, 4));
  steps.clear();
  optimize(rosenbrock, {-1.2, 1}, {.max_optimizer_steps = 3, .callback = record});
  EXPECT_EQ(steps.size(), 3);
  EXPECT_EQ(optimize(rosenbrock, {-1.2, 1}, {.gradient_tolerance = 1e9})[0], -1.2);
  EXPECT_EQ(optimize(rosenbrock, {-1.2, 1}, {.max_optimizer_steps = 0})[0], -1.2);
}

TEST(Optimize, NothingToMoveIsOptimal) { EXPECT_TRUE(optimize(rosenbrock, {}).empty()); }

TEST(Optimize, PassesOnWhatTheObjectiveOrTheCallbackThrows) {
  int evaluations = 0;
  const Objective failing = [&](const std::vector<double>& x, std::vector<double>& gradient) {
    if (++evaluations == 3) throw std::domain_error("third");
    return rosenbrock(x, gradient);
  };
  EXPECT_THROW(optimize(failing, {-1.2, 1}), std::domain_error);
  const OptimizerCallback throwing = [](const OptimizerStep&) -> bool {
    throw std::domain_error("callback");
  };
  EXPECT_THROW(optimize(rosenbrock, {-1.2, 1}, {.callback = throwing}), std::domain_error);
}

TEST(Optimize, RefusesABadStartAndBadOptions) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_error([&] { optimize(rosenbrock, {nan, 1}); }, "finite loss and gradient, got loss inf");
  expect_error([] { optimize(rosenbrock, {0, 0}, {.max_optimizer_steps = -1}); }, "got -1 and 15");
  expect_error([] { optimize(rosenbrock, {0, 0}, {.memory_size = 0}); }, "got 250 and 0");
  expect_error([&] { optimize(rosenbrock, {0, 0}, {.gradient_tolerance = nan}); }, "got nan");
}

}  // namespace
}  // namespace tessera::privacy::matrix_factorization::optimization_test
