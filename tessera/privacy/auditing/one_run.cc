#include "tessera/privacy/auditing/one_run.h"

#include <algorithm>
#include <cmath>

#include "tessera/privacy/auditing/binomial.h"
#include "tessera/privacy/auditing/gaussian_privacy.h"
#include "tessera/privacy/auditing/root.h"

namespace tessera::privacy::auditing::internal {
namespace {

// Returns the largest epsilon for which `excluded` is positive.
template <class F>
double largest_excluded(const F& excluded, double least) {
  if (!(excluded(least) > 0)) return least;
  double low = least, high = std::max(1.0, 2 * least);
  while (excluded(high) > 0) {
    low = high;
    high *= 2;
  }
  return last_positive(excluded, low, high);
}

// Returns by how much the guesses exceed what the mu-GDP mechanism allows, as a share of the
// canaries. It is positive if the guesses exclude the mechanism. r and h are the shares of right
// and wrong guesses.
double excess(const Guesses& g, double mu, double significance) {
  const auto m = static_cast<double>(g.canaries);
  double r = significance * static_cast<double>(g.correct) / m;
  double h = significance * static_cast<double>(g.guesses - g.correct) / m;
  for (int64_t i = g.correct - 1; i >= 0; --i) {
    const double next = std::max(h, normal_cdf(normal_quantile(r) - mu));
    if (next == h) break;  // neither share changes any more
    r = std::min(r + static_cast<double>(i) / static_cast<double>(g.guesses - i) * (next - h), 1.0);
    h = next;
  }
  return r + h - static_cast<double>(g.guesses) / m;
}

}  // namespace

double one_run_p_value(const Guesses& g, double epsilon, double delta) {
  const double beta = binomial_tail(g.correct, g.guesses, epsilon);
  if (delta == 0) return beta;
  const double alpha = largest_mean_below(g.correct, g.guesses, epsilon);
  return std::min(beta + alpha * delta * 2 * static_cast<double>(g.canaries), 1.0);
}

double epsilon_one_run(const Guesses& g, double least, double significance, double delta) {
  // The test with delta = 0 is cheaper. If it does not exclude `least`, neither does the test with
  // a larger delta.
  if (one_run_p_value(g, least, 0) > significance) return least;
  return largest_excluded(
      [&](double epsilon) { return significance - one_run_p_value(g, epsilon, delta); }, least);
}

double epsilon_one_run_fdp(const Guesses& g, double least, double significance, double delta) {
  if (delta == 1) return least;  // delta = 1 excludes no epsilon
  return largest_excluded(
      [&](double epsilon) { return excess(g, mu_of(epsilon, delta), significance); }, least);
}

}  // namespace tessera::privacy::auditing::internal
