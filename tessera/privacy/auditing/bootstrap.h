// Quantiles of resampled estimates, plain and corrected. For source files of privacy/.
#pragma once

#include <span>
#include <vector>

namespace tessera::privacy::auditing::internal {

// Returns the quantile, linear between the two nearest values, as numpy.quantile. `sorted` is
// increasing and not empty.
double quantile(std::span<const double> sorted, double q);

// Returns the quantiles to take instead of those that are asked for (Efron 1987), from the
// (smoothed) share of resampled values that are below the estimate itself. `acceleration` is 0
// without one.
std::vector<double> corrected_quantiles(std::span<const double> values, double estimate,
                                        double acceleration, std::span<const double> quantiles);
// Returns the acceleration, from estimates that each leave out one canary.
double acceleration(std::span<const double> jackknife);

}  // namespace tessera::privacy::auditing::internal
