// Which distribution the noise of a plan (plan.h) has. How the noise of one step depends on that of
// others is a NoiseStrategy.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

namespace tessera::privacy {

// Floating-point numbers of the normal distribution (noise_addition.h). Their last bits tell something
// of what they were added to.
struct Gaussian {};

// Integers of the discrete Gaussian, added to sums of whole numbers (discrete_gaussian.h): each
// example's clipped gradient is rounded to whole steps of a grid on which the clip norm is `grid_scale`
// of them, between 16 and 2^24. Rounding n parameters takes up to sqrt(n) / 2 steps of the clip norm, so
// let grid_scale be well above that. Absent: the plan chooses it (plan_grid.h), and TrainingPlan::mechanism()
// says which one it is.
struct DiscreteGaussian {
  std::optional<int64_t> grid_scale = std::nullopt;
};

using Mechanism = std::variant<Gaussian, DiscreteGaussian>;

}  // namespace tessera::privacy
