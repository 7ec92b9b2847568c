// Chooses the grid for a plan with DiscreteGaussian noise whose options name none. Only source
// files of plans include this header.
#pragma once

#include <cstdint>

#include "tessera/privacy/batch_selection/sampling_description.h"

namespace tessera::privacy::internal {

// Texts for messages: the mechanism that a plan has if its options name none, and the one to name
// instead.
inline constexpr const char* kDefaultMechanism =
    "DiscreteGaussian, which a plan has that names no mechanism";
inline constexpr const char* kNameGaussian =
    ".mechanism = Gaussian{}, whose floating-point noise has no proof (docs/privacy.md)";

// Returns a number of examples that a batch is unlikely to exceed: eight standard deviations of a
// Poisson sample above the mean, four more for padding, and sixteen.
double likely_batch(const batch_selection::SamplingDescription& sampling);

// The quantities that must fit on the grid.
struct GridNeeds {
  double stddev = 0;   // the largest standard deviation of drawn integers, in clip norms
  double largest = 0;  // the largest magnitude that the noise of a step can have, in clip norms
  double batch = 0;    // the number of examples that a step may have
  double finest = 1;   // how much finer a step's grid may be than the plan's (noise_schedule)
};

// Returns the largest power of two up to 2^19 for which sums and noise stay below 2^30 steps each,
// so that their sum is an int32, and the standard deviation below 2^24 steps, which is the limit of
// the sampler. With 2^19 steps in a clip norm, two tables draw noise of multiplier 1
// (discrete_gaussian_table.h), and rounding a million parameters takes less than 0.1 % of such a
// norm. If there is no such power of two it returns 16, the least grid_scale, which the plan's
// checks then reject.
int64_t chosen_grid_scale(const GridNeeds& needs);

}  // namespace tessera::privacy::internal
