// Which distribution the noise of a plan (plan.h) has. How the noise of one step depends on that of
// others is a NoiseStrategy.
#pragma once

#include <cstdint>
#include <variant>

namespace tessera::privacy {

// Floating-point numbers of the normal distribution (noise_addition.h).
struct Gaussian {};

// Integers of the discrete Gaussian, added to sums of whole numbers (discrete_gaussian.h): each
// example's clipped gradient is whole steps of a grid on which the clip norm is `grid_scale` of them.
struct DiscreteGaussian {
  int64_t grid_scale = 65536;
};

using Mechanism = std::variant<Gaussian, DiscreteGaussian>;

}  // namespace tessera::privacy
