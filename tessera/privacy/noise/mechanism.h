// Which distribution the noise of a plan (plan.h) has. How the noise of one step depends on that of
// others is a NoiseStrategy.
#pragma once

#include <cstdint>
#include <variant>

namespace tessera::privacy {

// Floating-point numbers of the normal distribution (noise_addition.h). Their last bits tell something
// of what they were added to.
struct Gaussian {};

// Integers of the discrete Gaussian, added to sums of whole numbers (discrete_gaussian.h): each
// example's clipped gradient is rounded to whole steps of a grid on which the clip norm is `grid_scale`
// of them. Between 16 and 2^24; rounding moves each element by at most a step, so let grid_scale be
// well above the square root of the number of parameters.
struct DiscreteGaussian {
  int64_t grid_scale = 65536;
};

using Mechanism = std::variant<Gaussian, DiscreteGaussian>;

}  // namespace tessera::privacy
