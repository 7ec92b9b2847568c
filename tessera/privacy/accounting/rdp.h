// Renyi differential privacy (Mironov 2017): the divergence of a mechanism at a list of orders,
// which composition adds up. It is fast, but its epsilons are some ten percent above those of PLDs
// (pld.h).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tessera/privacy/accounting/dp_event.h"
#include "tessera/privacy/neighboring_relation.h"

namespace tessera::privacy::accounting {

// Returns dp_accounting's orders: 1.1 to 10.9 by 0.1, 11 to 63, 128, 256, 512, 1024.
const std::vector<double>& default_rdp_orders();

// Returns the divergences at `orders` (each at least 1) of one Gaussian mechanism on a Poisson
// sample, where sigma is the noise in units of the sensitivity. Integer orders are exact (Mironov,
// Talwar and Zhang 2019, section 3.3). At fractional orders the result is an upper bound: the
// absolute values of an alternating series are added up, as in dp_accounting. It is infinite if
// 1000 terms do not converge.
std::vector<double> rdp_poisson_subsampled_gaussian(double sampling_probability, double sigma,
                                                    std::span<const double> orders);

// Returns the same on a sample without replacement of this fraction of the data, for data sets that
// differ in one example's value (Wang, Balle and Kasiviswanathan 2019, theorem 27; fractional
// orders by their corollary 10).
std::vector<double> rdp_sample_without_replacement_gaussian(double fraction, double sigma,
                                                            std::span<const double> orders);

// Returns the divergences of the Laplace mechanism of scale noise_multiplier for sensitivity 1
// (Mironov 2017, proposition 6).
std::vector<double> rdp_laplace(double noise_multiplier, std::span<const double> orders);

struct EpsilonAndOrder {
  double epsilon;
  double order;  // the order of the least bound; 0 if no order determines it
};
struct DeltaAndOrder {
  double delta;
  double order;
};
// Return the least epsilon, or the least delta, that the divergences imply, and its order (Canonne,
// Kamath and Steinke 2020, proposition 12).
EpsilonAndOrder rdp_to_epsilon(std::span<const double> orders, std::span<const double> rdp,
                               double delta);
DeltaAndOrder rdp_to_delta(std::span<const double> orders, std::span<const double> rdp,
                           double epsilon);

// An accountant that adds up the divergences of the events that it composes. It supports Gaussian
// (alone or Poisson-sampled), Laplace and zCDP events, and samples without replacement under
// kReplaceOne and kReplaceSpecial.
//
// The noise multipliers of events are in units of the largest norm, as everywhere in
// tessera::privacy; under kReplaceOne neighbours differ by twice that. (dp_accounting's RDP, unlike
// its PLDs, takes multipliers in units of the sensitivity there. So its values for half the
// multiplier equal these.)
class RdpAccountant {
 public:
  explicit RdpAccountant(NeighboringRelation relation = NeighboringRelation::kAddOrRemoveOne,
                         std::vector<double> orders = default_rdp_orders());

  NeighboringRelation neighboring_relation() const { return relation_; }
  // Returns why an event that is not a composition is not supported; an empty text if it is.
  std::string unsupported(const DpEvent& leaf) const;
  bool supports(const DpEvent& event) const;
  RdpAccountant& compose(const DpEvent& event, int64_t count = 1);

  double get_epsilon(double target_delta) const {
    return get_epsilon_and_optimal_order(target_delta).epsilon;
  }
  double get_delta(double target_epsilon) const {
    return get_delta_and_optimal_order(target_epsilon).delta;
  }
  EpsilonAndOrder get_epsilon_and_optimal_order(double target_delta) const;
  DeltaAndOrder get_delta_and_optimal_order(double target_epsilon) const;

  const std::vector<double>& orders() const { return orders_; }
  const std::vector<double>& rdp() const { return rdp_; }

 private:
  std::vector<double> divergences(const DpEvent& leaf) const;

  NeighboringRelation relation_;
  std::vector<double> orders_, rdp_;
};

}  // namespace tessera::privacy::accounting
