// Distributions of losses on grids, never better than those that they represent, and their
// composition. PLDs (pld.h) consist of these. Internal to accounting/.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tessera/privacy/accounting/privacy_loss.h"

namespace tessera::privacy::accounting::internal {

// The loss (lowest + i) * interval has the probability probs[i]; an infinite loss has
// infinity_mass.
struct PldPmf {
  double interval;
  int64_t lowest;
  std::vector<double> probs;
  double infinity_mass;
};

// Returns the number of grid points that connect_the_dots would need.
double grid_points(const PrivacyLoss& loss, double interval);

// Returns, for each direction, the least distribution on the grid whose delta is nowhere below the
// delta of the loss. On the grid both are equal (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi
// 2022, algorithm 1). If the loss is symmetric, both are the same object.
struct BothDirections {
  std::shared_ptr<const PldPmf> remove, add;
};
BothDirections connect_the_dots(const PrivacyLoss& loss, double interval);

// A distribution, composed with itself `count` times (at least once).
struct RepeatedPmf {
  std::shared_ptr<const PldPmf> pmf;
  int64_t count;
};

// Return the delta, or the least epsilon, of the composition of all parts; without parts, that of
// perfect privacy. All parts have the same interval.
//
// The distributions are convolved by one FFT after each has been multiplied by exp(theta loss),
// which moves the bulk of the sum to the losses that determine the result (a saddle point). So the
// relative accuracy of the result does not depend on its size: a delta of 1e-30 is as accurate as
// one of 1e-3. The window of the FFT is bounded by Chernoff's inequality; losses above it count as
// infinite, and those that wrap around only add to delta.
double delta_of_composition(std::span<const RepeatedPmf> parts, double epsilon);
double epsilon_of_composition(std::span<const RepeatedPmf> parts, double delta);

// Returns roughly the number of grid points of the FFT of the sum, estimated from the variance.
double composition_points(std::span<const RepeatedPmf> parts);

}  // namespace tessera::privacy::accounting::internal
