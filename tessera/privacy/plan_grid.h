// The grid of whole numbers that a plan of DiscreteGaussian noise takes if its options name none. For the
// source files of plans.
#pragma once

#include <cstdint>

#include "tessera/privacy/batch_selection/sampling_description.h"

namespace tessera::privacy::internal {

// Of messages: the mechanism that a plan has if its options name none, and the one to name instead.
inline constexpr const char* kDefaultMechanism =
    "DiscreteGaussian, which a plan has that names no mechanism";
inline constexpr const char* kNameGaussian =
    ".mechanism = Gaussian{}, whose floating-point noise has no proof (docs/privacy.md)";

// Returns more examples than a batch is likely to have: eight standard deviations of a Poisson sample above
// the mean, four more for padding, and sixteen.
double likely_batch(const batch_selection::SamplingDescription& sampling);

// What has to fit on the grid.
struct GridNeeds {
  double stddev = 0;   // of the integers that are drawn, in clip norms
  double largest = 0;  // the largest magnitude that the noise of a step can have, in clip norms
  double batch = 0;    // how many examples a step may have
  double finest =
      1;  // a step's grid is at most so many times as fine as the plan's (noise_schedule)
};

// Returns the largest power of two up to 2^19 for which sums and noise stay below 2^30 steps each, so that
// what they add up to is an int32, and the standard deviation below 2^24 steps, which is as far as the
// sampler goes. 2^19 steps of a clip norm are as many as two tables draw for a noise multiplier of 1
// (discrete_gaussian_table.h), and rounding a million parameters takes less than 0.1 % of such a norm. If
// there is no such power of two it is 16, the least grid_scale, which the plan's checks refuse then.
int64_t chosen_grid_scale(const GridNeeds& needs);

}  // namespace tessera::privacy::internal
