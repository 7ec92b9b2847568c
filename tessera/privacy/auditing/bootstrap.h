// Quantiles of resampled estimates, plain and corrected. Internal to auditing/.
#pragma once

#include <span>
#include <vector>

namespace tessera::privacy::auditing::internal {

// Returns the quantile, linear between the two nearest values, as numpy.quantile. `sorted` is
// increasing and not empty.
double quantile(std::span<const double> sorted, double q);

// Returns the quantiles that replace the given ones after correction (Efron 1987). They follow from
// the (smoothed) share of resampled values below the estimate itself. `acceleration` is 0 for no
// correction of skewness.
std::vector<double> corrected_quantiles(std::span<const double> values, double estimate,
                                        double acceleration, std::span<const double> quantiles);
// Returns the acceleration, from estimates each of which leaves out one canary.
double acceleration(std::span<const double> jackknife);

}  // namespace tessera::privacy::auditing::internal
