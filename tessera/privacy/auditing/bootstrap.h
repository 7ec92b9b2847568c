// Quantiles, plain and corrected, of what resampling gave. For source files of privacy/.
#pragma once

#include <span>
#include <vector>

namespace tessera::privacy::auditing::internal {

// Linearly between the two values next to it, as numpy.quantile. `sorted` is increasing, not empty.
double quantile(std::span<const double> sorted, double q);

// The quantiles that stand for those asked for (Efron 1987): of resampled values of which a share
// (smoothed) is below the estimate itself. `acceleration` is 0 without one.
std::vector<double> corrected_quantiles(std::span<const double> values, double estimate,
                                        double acceleration, std::span<const double> quantiles);
// From estimates that lack one canary each.
double acceleration(std::span<const double> jackknife);

}  // namespace tessera::privacy::auditing::internal
