// How well one neighbour can be told from the other, for one mechanism: the curve of delta over epsilon,
// and the range of losses outside of which it is not followed. PLDs (pld.h) are made from these. For the
// source files of accounting/.
//
// Every distribution here is that of the loss log(upper(x) / lower(x)) for x from `upper`, and delta at
// epsilon is upper(A) - exp(epsilon) lower(A) for the A where the loss exceeds epsilon. Of the two
// directions it is that where `upper` has the example and `lower` does not (kRemove of the literature).
// The other one (kAdd) has the excess exp(epsilon) excess(-epsilon).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tessera::privacy::accounting::internal {

// The logarithm of the probability of losses that are cut off on either side, unless a function is given
// another: that of dp_accounting. Those above count as infinite, so a delta that is not far above the
// probability needs a smaller one; down to kLeastLogTail a double still has all of its digits.
constexpr double kLogTail = -50, kLeastLogTail = -700, kLargestLogTail = -10;

struct PrivacyLoss {
  double lower, upper;  // losses above `upper` count as infinite, those below `lower` as `lower`
  bool symmetric;       // both directions are the same
  bool smooth;          // the excess is analytic below 0, and above

  // Fills in the excess at each epsilon of an ascending list: delta less max(0, 1 - exp(epsilon)), which
  // is that of perfect privacy. It vanishes on both sides and keeps its relative accuracy there, where
  // delta itself is too close to 1.
  std::function<void(std::span<const double> epsilons, std::span<double> out)> excess;
};

// The Gaussian mechanism of sensitivity 1.
PrivacyLoss gaussian_loss(double sigma, double log_tail = kLogTail);
// The Laplace mechanism of sensitivity 1.
PrivacyLoss laplace_loss(double scale);
// The discrete Laplace mechanism: noise of mass tanh(a/2) exp(-a |x|).
PrivacyLoss discrete_laplace_loss(double a, int64_t sensitivity);

// A symmetric loss on a Poisson sample.
PrivacyLoss subsampled(PrivacyLoss loss, double sampling_probability);

// The loss whose excess is that of `loss` for losses above 0, in both directions.
PrivacyLoss symmetrized(PrivacyLoss loss);

// The Poisson-sampled Gaussian mechanism where an example moves the sum by 1 from 0 to opposite sides.
PrivacyLoss replaced_gaussian_loss(double sigma, double sampling_probability,
                                   double log_tail = kLogTail);

// The mixture of N(c, sigma^2) over (c, probability) against N(0, sigma^2); not all c zero.
struct MixtureComponent {
  double sensitivity, probability;
};
PrivacyLoss gaussian_mixture_loss(double sigma, std::vector<MixtureComponent> components,
                                  double log_tail = kLogTail);

// With this probability `first`, else `second`, and it is seen which.
PrivacyLoss mixed(double probability, PrivacyLoss first, PrivacyLoss second);

}  // namespace tessera::privacy::accounting::internal
