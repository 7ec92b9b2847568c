// A PrivacyLoss describes how well the result of one mechanism distinguishes two neighbours: it has
// the curve of delta over epsilon, and the range of losses outside of which it is truncated. PLDs
// (pld.h) are made from these. Internal to accounting/.
//
// Let `upper` and `lower` be the two distributions of a mechanism's result. The loss is
// log(upper(x) / lower(x)) for x drawn from `upper`, and delta at epsilon is upper(A) -
// exp(epsilon) lower(A) for the set A of results whose loss exceeds epsilon. The direction is the
// one in which `upper` has the example and `lower` does not (kRemove in the literature). The other
// one (kAdd) has the excess exp(epsilon) excess(-epsilon).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tessera::privacy::accounting::internal {

// The default logarithm, dp_accounting's, of the probability of the losses that are truncated on
// either side. Losses above count as infinite, so a delta that is not far above this probability
// needs a smaller one; down to kLeastLogTail a double still has all of its digits.
constexpr double kLogTail = -50, kLeastLogTail = -700, kLargestLogTail = -10;

struct PrivacyLoss {
  double lower, upper;  // losses above `upper` count as infinite, those below `lower` as `lower`
  bool symmetric;       // whether both directions are the same
  bool smooth;          // whether the excess is analytic, both below 0 and above

  // Computes the excess at each epsilon of an ascending list: delta minus max(0, 1 - exp(epsilon)),
  // the delta of perfect privacy. It vanishes on both sides and keeps its relative accuracy there,
  // where delta itself is too close to 1.
  std::function<void(std::span<const double> epsilons, std::span<double> out)> excess;
};

// Returns the loss of the Gaussian mechanism of sensitivity 1.
PrivacyLoss gaussian_loss(double sigma, double log_tail = kLogTail);
// Returns the loss of the Laplace mechanism of sensitivity 1.
PrivacyLoss laplace_loss(double scale);
// Returns the loss of the discrete Laplace mechanism, whose noise x has the probability tanh(a/2)
// exp(-a |x|).
PrivacyLoss discrete_laplace_loss(double a, int64_t sensitivity);

// Returns the loss of a mechanism on a Poisson sample; `loss` is its loss on all data and must be
// symmetric.
PrivacyLoss subsampled(PrivacyLoss loss, double sampling_probability);

// Returns a symmetric loss: in both directions its excess for losses above 0 is that of `loss`.
PrivacyLoss symmetrized(PrivacyLoss loss);

// Returns the loss of the Poisson-sampled Gaussian mechanism for replacement: the two examples move
// the sum by 1 in opposite directions.
PrivacyLoss replaced_gaussian_loss(double sigma, double sampling_probability,
                                   double log_tail = kLogTail);

// A component of the mixture of N(c, sigma^2) over (c, probability), compared with N(0, sigma^2).
// Not all c are zero.
struct MixtureComponent {
  double sensitivity, probability;
};
PrivacyLoss gaussian_mixture_loss(double sigma, std::vector<MixtureComponent> components,
                                  double log_tail = kLogTail);

// Returns the loss of a mechanism that is `first` with this probability, else `second`, and reveals
// which.
PrivacyLoss mixed(double probability, PrivacyLoss first, PrivacyLoss second);

}  // namespace tessera::privacy::accounting::internal
