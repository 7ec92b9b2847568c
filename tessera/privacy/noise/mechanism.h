// The distribution of a plan's noise (plan.h). A NoiseStrategy (plan.h) determines how the noise of
// one step depends on that of others.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

namespace tessera::privacy {

// Noise of floating-point normal numbers (noise_addition.h). The last bits of a sum reveal
// something about the value to which they were added.
struct Gaussian {};

// Noise of integers from the discrete Gaussian, added to sums of whole numbers
// (discrete_gaussian.h): each example's clipped gradient is rounded to whole steps of a grid. The
// clip norm is `grid_scale` of these steps, between 16 and 2^24. Rounding n parameters takes up to
// sqrt(n) / 2 steps of the clip norm, so grid_scale should be well above that. If it is absent, the
// plan chooses it (plan_grid.h), and Plan::mechanism() returns the choice.
struct DiscreteGaussian {
  std::optional<int64_t> grid_scale = std::nullopt;
};

using Mechanism = std::variant<Gaussian, DiscreteGaussian>;

}  // namespace tessera::privacy
