// Tests the measures of growth on artificial costs.
#include "growth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace tessera::costs::growth_test {
namespace {

using Law = std::function<double(double)>;

double excess(const Law& cost, const Law& work, double n = 256) {
  return excess_exponent({cost(n), cost(2 * n), cost(4 * n)}, {work(n), work(2 * n), work(4 * n)});
}

TEST(Growth, LinearCostsOfLinearWorkAreFine) {
  const Law linear = [](double n) { return n; };
  EXPECT_EQ(excess([](double n) { return 3 * n; }, linear), 0);
  EXPECT_EQ(excess([](double n) { return 3 * n + 100000; }, linear), 0);
  EXPECT_EQ(excess([](double n) { return 3 * n; }, [](double n) { return n + 100000; }), 0);
  EXPECT_EQ(excess([](double) { return 7; }, linear), 0);
  EXPECT_EQ(excess([](double n) { return 1e6 / n; }, linear), 0);
}

TEST(Growth, WorkThatGrowsFasterAllowsAsMuch) {
  const Law cubic = [](double n) { return n * n * n; };
  EXPECT_EQ(excess([](double n) { return 9 * n * n * n + n; }, cubic), 0);
  EXPECT_NEAR(excess([](double n) { return n * n * n * n; }, cubic), 1, 1e-9);
  const Law sorting = [](double n) { return n * std::log2(n); };
  EXPECT_NEAR(excess(sorting, sorting), 0, 1e-12);
  EXPECT_GT(excess(sorting, [](double n) { return n; }), kMostExcess);
}

TEST(Growth, SquaresAreFound) {
  const Law linear = [](double n) { return n; };
  EXPECT_NEAR(excess([](double n) { return n * n; }, linear), 1, 1e-9);
  // A copy of the carry in each iteration, in addition to large linear costs.
  EXPECT_GT(excess([](double n) { return 1000 * n + 8 * n * n; }, linear), kMostExcess);
  EXPECT_GT(excess([](double n) { return 1e9 + n * n; }, linear), kMostExcess);
  EXPECT_GT(excess([](double n) { return std::pow(n, 1.06); }, linear), kMostExcess);
  EXPECT_LT(excess([](double n) { return std::pow(n, 1.04); }, linear), kMostExcess);
}

TEST(Growth, WorkThatDoesNotGrowAllowsNoGrowth) {
  const Law constant = [](double) { return 100; };
  EXPECT_EQ(excess([](double) { return 5000; }, constant), 0);
  EXPECT_NEAR(excess([](double n) { return n; }, constant), 1, 1e-9);
  EXPECT_EQ(excess([](double) { return 0; }, constant), 0);
}

TEST(Growth, CostsThatBeginLaterAreFound) {
  // The first step adds nothing, and the second one more than the average.
  EXPECT_GT(excess_exponent({100, 100, 1000}, {100, 200, 400}), kMostExcess);
  EXPECT_EQ(excess_exponent({100, 100, 150}, {100, 200, 400}), 0);
}

TEST(Growth, OfLumpsATableThatDoublesIsNone) {
  EXPECT_EQ(excess_of_lumps({690332, 690337, 691142}, {100, 200, 400}), 0);
  EXPECT_LT(excess_of_lumps({100, 164, 292}, {100, 200, 400}), kMostExcess);
  EXPECT_NEAR(excess_of_lumps({100, 400, 1600}, {100, 200, 400}), 1, 0.01);
  EXPECT_GT(excess_of_lumps({100, 100, 1000}, {100, 200, 400}), kMostExcess);
}

}  // namespace
}  // namespace tessera::costs::growth_test
