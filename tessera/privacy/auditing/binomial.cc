#include "tessera/privacy/auditing/binomial.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>

namespace tessera::privacy::auditing::internal {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

double probability_of(int64_t j, int64_t n, double log_odds) {
  const auto a = static_cast<double>(j + 1), b = static_cast<double>(n - j + 1);
  const double density = log_odds < 0 ? boost::math::ibeta_derivative(a, b, logistic(log_odds))
                                      : boost::math::ibeta_derivative(b, a, logistic(-log_odds));
  return density / static_cast<double>(n + 1);
}

}  // namespace

double clopper_pearson_upper(int64_t k, int64_t n, double significance) {
  if (k >= n) return 1;
  return boost::math::ibetac_inv(static_cast<double>(k + 1), static_cast<double>(n - k),
                                 significance);
}

double clopper_pearson_lower(int64_t k, int64_t n, double significance) {
  if (k <= 0) return 0;
  return boost::math::ibeta_inv(static_cast<double>(k), static_cast<double>(n - k + 1),
                                significance);
}

double binomial_tail(int64_t k, int64_t n, double log_odds) {
  if (k <= 0) return 1;
  if (k > n) return 0;
  const auto a = static_cast<double>(k), b = static_cast<double>(n - k + 1);
  // Of the two probabilities of a trial, the smaller one is computed, because it has all its
  // digits.
  return log_odds < 0 ? boost::math::ibeta(a, b, logistic(log_odds))
                      : boost::math::ibetac(b, a, logistic(-log_odds));
}

double largest_mean_below(int64_t k, int64_t n, double log_odds) {
  if (k <= 0) return 0;
  // Probabilities are computed as ratios to the largest one, from which the sum starts, because the
  // others may be too small for a double.
  const double mode = (static_cast<double>(n) + 1) * logistic(log_odds);
  const auto top = static_cast<int64_t>(std::min(std::floor(mode), static_cast<double>(k - 1)));
  std::vector<double> probability(static_cast<size_t>(k));
  const auto at = [&](int64_t j) -> double& { return probability[static_cast<size_t>(j)]; };
  at(top) = probability_of(top, n, log_odds);
  const double up = std::exp(log_odds), down = std::exp(-log_odds);
  for (int64_t j = top; j > 0; --j)
    at(j - 1) = at(j) * (static_cast<double>(j) / static_cast<double>(n - j + 1)) * down;
  for (int64_t j = top; j + 1 < k; ++j)
    at(j + 1) = at(j) * (static_cast<double>(n - j) / static_cast<double>(j + 1)) * up;
  double best = 0, sum = 0;
  for (int64_t i = 1; i <= k; ++i) {
    sum += at(k - i);
    best = std::max(best, sum / static_cast<double>(i));
  }
  return best;
}

}  // namespace tessera::privacy::auditing::internal
