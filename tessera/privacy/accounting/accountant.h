// An accountant of either kind as one value, and how to ask for one: jax_privacy.accounting's
// configurations.
//
//   PrivacyAccountant accountant = create_accountant(PldAccountantConfig{});
//   accountant.compose(dpsgd_event(1.0, 1000, {.sampling_prob = 0.01})).get_epsilon(1e-5);
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/privacy/accounting/dp_event.h"
#include "tessera/privacy/accounting/pld.h"
#include "tessera/privacy/accounting/rdp.h"
#include "tessera/privacy/neighboring_relation.h"

namespace tessera::privacy::accounting {

class PrivacyAccountant {
 public:
  PrivacyAccountant(RdpAccountant accountant) : accountant_(std::move(accountant)) {}  // NOLINT
  PrivacyAccountant(PldAccountant accountant) : accountant_(std::move(accountant)) {}  // NOLINT

  NeighboringRelation neighboring_relation() const;
  bool supports(const DpEvent& event) const;
  // Raises a UserError, and changes nothing, where the event is invalid or not supported.
  PrivacyAccountant& compose(const DpEvent& event, int64_t count = 1);
  double get_epsilon(double target_delta) const;
  double get_delta(double target_epsilon) const;
  // All that was composed, as one event.
  DpEvent ledger() const;

 private:
  std::variant<RdpAccountant, PldAccountant> accountant_;
  std::vector<DpEvent> ledger_;
};

// jax_privacy's orders: 50 from 1.01 to 8, 8 to 63, and 10 from 65 to 512.
std::vector<double> training_rdp_orders();

struct RdpAccountantConfig {
  std::vector<double> orders = training_rdp_orders();
  NeighboringRelation neighboring_relation = NeighboringRelation::kAddOrRemoveOne;
  bool operator==(const RdpAccountantConfig&) const = default;
};
struct PldAccountantConfig {
  double value_discretization_interval = 1e-4;
  NeighboringRelation neighboring_relation = NeighboringRelation::kAddOrRemoveOne;
  bool operator==(const PldAccountantConfig&) const = default;
};
using DpAccountantConfig = std::variant<PldAccountantConfig, RdpAccountantConfig>;

PrivacyAccountant create_accountant(const DpAccountantConfig& config);

// Where calibrate_dp_mechanism searches: from `lower`, and up from `guess` by doubling its distance to
// it, at most 2^30 times as far.
struct CalibrationOptions {
  double target_epsilon;
  double target_delta;
  double lower = 0;
  double guess = 1;
  double tolerance = 1e-6;
};
// A parameter within the tolerance of where the event's epsilon is the target, on the side where it is not
// above it. Epsilon is monotone in the parameter, in either direction.
double calibrate_dp_mechanism(const DpAccountantConfig& config,
                              const std::function<DpEvent(double)>& make_event,
                              const CalibrationOptions& options);
// Of an integer parameter: the last one whose epsilon is not above the target.
int64_t calibrate_dp_mechanism_discrete(const DpAccountantConfig& config,
                                        const std::function<DpEvent(int64_t)>& make_event,
                                        const CalibrationOptions& options);

}  // namespace tessera::privacy::accounting
