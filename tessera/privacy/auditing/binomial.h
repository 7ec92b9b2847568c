// Binomial counts: tail probabilities, and the bounds of Clopper and Pearson on a probability.
// Internal to privacy/.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::privacy::auditing::internal {

// Returns the p for which k successes or fewer in n trials have probability `significance`: an
// upper bound on p that fails with at most that probability. It is 1 for k = n.
double clopper_pearson_upper(int64_t k, int64_t n, double significance);
// Returns the corresponding lower bound on p, which is 0 for k = 0. It is 1 minus the upper bound
// on the probability of failure, computed without cancellation.
double clopper_pearson_lower(int64_t k, int64_t n, double significance);

// Returns P(X >= k) for X ~ Binomial(n, 1 / (1 + exp(-log_odds))).
double binomial_tail(int64_t k, int64_t n, double log_odds);
// Returns the largest mean of P(X = k - 1), ..., P(X = k - i) over i = 1, ..., k; 0 for k = 0.
double largest_mean_below(int64_t k, int64_t n, double log_odds);

}  // namespace tessera::privacy::auditing::internal
