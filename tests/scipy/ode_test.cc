// odeint: known solutions, trees, derivatives by y0, times and captured arrays, errors.
#include "tessera/scipy/ode.h"

#include <cmath>

#include "../errors.h"
#include "../numpy/run.h"
#include "tessera/compile/grad.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"

namespace tessera::ode_test {
namespace {

using experimental::ode::odeint;
using test::expect_error;

Array times() { return linspace(0.0, 2.0, 5); }

TEST(Odeint, FollowsKnownSolutions) {
  const test::X64 x64(true);
  const Array decay =
      odeint([](const Array& y, const Array&) { return -y; }, array({1.0, 3.0}), times());
  test::expect_close(decay.to_host(), (expand_dims(exp(-times()), 1) * array({1.0, 3.0})).to_host(),
                     1e-7, 1e-7);
  const auto circle = [](const std::pair<Array, Array>& y, const Array&) {
    return std::pair(y.second, -y.first);
  };
  const auto [x, v] = jit([&](const Array& t) {
    return odeint(circle, std::pair(Array(zeros(1)), Array(ones(1))), t);
  })(times());
  test::expect_close(ravel(x).to_host(), sin(times()).to_host(), 1e-7, 1e-7);
  test::expect_close(ravel(v).to_host(), cos(times()).to_host(), 1e-7, 1e-7);
}

TEST(Odeint, DerivativesByTheStartTheTimesAndTheRate) {
  const test::X64 x64(true);
  const auto last = [](const Array& y0, const Array& rate, const Array& t) {
    const Array ys = odeint([&](const Array& y, const Array&) { return rate * y; }, y0, t);
    return sum(index_in_dim(ys, -1, 0, false));
  };
  const Array y0 = array({2.0}), rate = array(-0.7, float64);
  const auto [by_start, by_rate, by_times] = grad<0, 1, 2>(last)(y0, rate, times());
  const double end = std::exp(-1.4);
  EXPECT_NEAR(by_start.item<double>(), end, 1e-6);
  EXPECT_NEAR(by_rate.item<double>(), 2 * 2 * end, 1e-6);
  const std::vector<double> t = to_vector<double>(by_times);
  EXPECT_NEAR(t.front(), 1.4 * end, 1e-6);
  EXPECT_NEAR(t[2], 0, 1e-9);
  EXPECT_NEAR(t.back(), -1.4 * end, 1e-6);
}

TEST(Odeint, ErrorsSayWhatIsExpected) {
  const auto f = [](const Array& y, const Array&) { return y; };
  const Array y = ones(2);
  expect_error([&] { odeint(f, y, arange(3)); }, "[odeint] expected a floating vector of times");
  expect_error([&] { odeint(f, arange(2), times()); }, "[odeint] expected floating y0");
  expect_error([&] { odeint(f, y, times(), {.rtol = -1}); }, "[odeint] expected rtol, atol >= 0");
  expect_error([&] { odeint([](const Array& x, const Array&) { return sum(x); }, y, times()); },
               "[odeint] expected func to return arrays of the shapes of y0");
}

}  // namespace
}  // namespace tessera::ode_test
