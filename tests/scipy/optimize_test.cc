// minimize: minima of known functions, what it reports, jit and vmap, errors.
#include "tessera/scipy/optimize.h"

#include <cmath>

#include "../errors.h"
#include "../numpy/run.h"
#include "tessera/compile/jit.h"
#include "tessera/compile/vmap.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"

namespace tessera::optimize_test {
namespace {

using namespace scipy::optimize;
using test::expect_error;

Array rosenbrock(const Array& x) {
  const int64_t n = x.size();
  const Array first = slice_in_dim(x, 0, n - 1), next = slice_in_dim(x, 1, n);
  return sum(100 * square(next - square(first)) + square(1 - first));
}

class Minimize : public ::testing::TestWithParam<Method> {};

TEST_P(Minimize, FindsTheMinimum) {
  const test::X64 x64(true);
  const OptimizeResults r = minimize(rosenbrock, array({-1.2, 1.0, 0.5}), {.method = GetParam()});
  EXPECT_TRUE(static_cast<bool>(r.success));
  EXPECT_EQ(r.status.item<int>(), 0);
  for (double x : to_vector<double>(r.x)) EXPECT_NEAR(x, 1, 1e-5);
  EXPECT_NEAR(r.fun.item<double>(), 0, 1e-10);
  EXPECT_LE(max(abs(r.jac)).item<double>(), 1e-5);
  EXPECT_GT(r.nit.item<int>(), 3);
  EXPECT_GE(r.nfev.item<int>(), r.nit.item<int>());
}

TEST_P(Minimize, TheWholeResultPassesThroughJit) {
  const Array weights = array({1.0f, 4.0f});
  const auto fit = jit([&](const Array& x) {
    return minimize([&](const Array& y) { return 0.5f * sum(weights * square(y - 2)); }, x,
                    {.method = GetParam()});
  });
  const OptimizeResults r = fit(zeros(2));
  for (float x : to_vector<float>(r.x)) EXPECT_NEAR(x, 2, 1e-4);
  ASSERT_EQ(r.hess_inv.has_value(), GetParam() == Method::kBfgs);
  if (!r.hess_inv) return;
  const std::vector<float> inverse = to_vector<float>(*r.hess_inv);
  const std::vector<float> expected{1, 0, 0, 0.25};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(inverse[i], expected[i], 0.05);
}

TEST_P(Minimize, InFloat32) {
  const OptimizeResults r =
      minimize([](const Array& x) { return sum(square(x - 3)); }, zeros(4), {.method = GetParam()});
  EXPECT_TRUE(static_cast<bool>(r.success));
  for (float x : to_vector<float>(r.x)) EXPECT_NEAR(x, 3, 1e-4);
}

TEST_P(Minimize, OverAMap) {
  const test::X64 x64(true);
  const auto at = [&](const Array& target) {
    return minimize([&](const Array& x) { return sum(square(x - target) + square(square(x))); },
                    zeros_like(target), {.method = GetParam()})
        .x;
  };
  const Array targets = array({{1.0, 2.0}, {-3.0, 0.0}});
  const Array all = jit(vmap(at))(targets);
  for (int64_t i = 0; i < 2; ++i)
    test::expect_close(index_in_dim(all, i, 0, false).to_host(),
                       at(index_in_dim(targets, i, 0, false)).to_host(), 1e-5, 1e-5);
}

TEST_P(Minimize, ReportsThatStepsRanOut) {
  const test::X64 x64(true);
  const OptimizeResults r =
      minimize(rosenbrock, array({-1.2, 1.0}), {.method = GetParam(), .maxiter = 2});
  EXPECT_FALSE(static_cast<bool>(r.success));
  EXPECT_EQ(r.status.item<int>(), 1);
  EXPECT_EQ(r.nit.item<int>(), 2);
}

TEST_P(Minimize, ReportsThatASearchFailed) {
  // This function falls without end.
  const OptimizeResults r =
      minimize([](const Array& x) { return -sum(x); }, ones(2), {.method = GetParam(), .maxls = 5});
  EXPECT_FALSE(static_cast<bool>(r.success));
  EXPECT_EQ(r.status.item<int>(), 3);
  EXPECT_EQ(to_vector<float>(r.x), (std::vector<float>{1, 1}));
}

INSTANTIATE_TEST_SUITE_P(Methods, Minimize, ::testing::Values(Method::kBfgs, Method::kLbfgs));

TEST(MinimizeErrors, SayWhatIsExpected) {
  const auto f = [](const Array& x) { return sum(x * x); };
  expect_error([&] { minimize(f, ones({2, 2})); }, "[minimize] expected a floating vector x0");
  expect_error([&] { minimize(f, arange(3)); }, "[minimize] expected a floating vector x0");
  expect_error([&] { minimize([](const Array& x) { return x; }, ones(2)); },
               "[minimize] expected a function that returns a scalar of float32");
  expect_error([&] { minimize(f, ones(2), {.maxiter = 0}); },
               "[minimize] expected positive maxiter, maxls and maxcor, got 0");
}

}  // namespace
}  // namespace tessera::optimize_test
