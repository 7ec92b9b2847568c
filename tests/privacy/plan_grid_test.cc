#include "tessera/privacy/plan_grid.h"

#include <gtest/gtest.h>

#include "tessera/privacy/batch_selection/strategies.h"

namespace tessera::privacy::internal::plan_grid_test {
namespace {

TEST(PlanGrid, IsTheFinestThatFits) {
  EXPECT_EQ(chosen_grid_scale({.stddev = 1, .largest = 16, .batch = 464}), 1 << 19);
  // Sums have at most 2^30 steps: 2,048 examples of 2^19 steps fit, and one more does not.
  EXPECT_EQ(chosen_grid_scale({.stddev = 1, .largest = 16, .batch = 2048}), 1 << 19);
  EXPECT_EQ(chosen_grid_scale({.stddev = 1, .largest = 16, .batch = 2049}), 1 << 18);
  // Noise has at most 2^30 steps, and its standard deviation at most 2^24.
  EXPECT_EQ(chosen_grid_scale({.stddev = 1, .largest = 2049, .batch = 1}), 1 << 18);
  EXPECT_EQ(chosen_grid_scale({.stddev = 33, .largest = 528, .batch = 1}), 1 << 18);
  // The grid of a step may be finer.
  EXPECT_EQ(chosen_grid_scale({.stddev = 1, .largest = 16, .batch = 1, .finest = 4}), 1 << 19);
  EXPECT_EQ(chosen_grid_scale({.stddev = 1, .largest = 16, .batch = 1, .finest = 5}), 1 << 18);
  EXPECT_EQ(chosen_grid_scale({.stddev = 1, .largest = 16, .batch = 1024, .finest = 3}), 1 << 18);
  // No grid fits.
  EXPECT_EQ(chosen_grid_scale({.stddev = 1e9, .largest = 16e9, .batch = 1}), 16);
}

TEST(PlanGrid, BatchesAreOfTheLargestProbability) {
  batch_selection::CyclicPoissonSampling sampler{
      .num_examples = 10'000, .sampling_prob = .01, .iterations = 10};
  EXPECT_EQ(likely_batch(description(sampler)), 100 + 120 + 16);
  sampler.sampling_prob_changes = {{5, .04}};
  EXPECT_EQ(likely_batch(description(sampler)), 400 + 240 + 16);
}

}  // namespace
}  // namespace tessera::privacy::internal::plan_grid_test
