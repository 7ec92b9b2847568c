// Gaussian differential privacy (Dong, Roth and Su, arXiv 1905.02383): a mechanism is mu-GDP if
// distinguishing neighbouring datasets is at least as hard as distinguishing N(0, 1) from N(mu, 1).
// Internal to auditing/.
#pragma once

namespace tessera::privacy::auditing::internal {

double normal_cdf(double x);
double normal_quantile(double p);  // -inf for 0, inf for 1

// Returns the logarithm of the delta for which mu-GDP is (epsilon, delta)-DP (Corollary 2.13), mu >
// 0, epsilon >= 0.
double log_delta(double epsilon, double mu);
// epsilon_of returns the epsilon for which mu-GDP has this delta, or 0 if even epsilon = 0 has a
// smaller delta. mu_of returns the mu for which it has (epsilon, delta). 0 < delta < 1.
double epsilon_of(double mu, double delta);
double mu_of(double epsilon, double delta);

}  // namespace tessera::privacy::auditing::internal
