// An accountant of either kind as one value, and the configurations from which it is made
// (jax_privacy.accounting).
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
  // Adds the event. Throws UserError, and changes nothing, if it is invalid or not supported.
  PrivacyAccountant& compose(const DpEvent& event, int64_t count = 1);
  double get_epsilon(double target_delta) const;
  double get_delta(double target_epsilon) const;
  // Returns all that was composed, as one event.
  DpEvent ledger() const;

 private:
  std::variant<RdpAccountant, PldAccountant> accountant_;
  std::vector<DpEvent> ledger_;
};

// Returns jax_privacy's orders: 50 from 1.01 to 8, 8 to 63, and 10 from 65 to 512.
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

// The target, and the range in which calibrate_dp_mechanism searches. The first interval is from
// `lower` to `guess`; each of up to 30 further ones is twice as long as the one before it.
struct CalibrationOptions {
  double target_epsilon;
  double target_delta;
  double lower = 0;
  double guess = 1;
  double tolerance = 1e-6;
};
// Returns the parameter at which the event's epsilon is the target, to within the tolerance and on
// the side where epsilon is not above the target. Epsilon must increase or decrease with the
// parameter. Throws UserError if the range has no such parameter.
double calibrate_dp_mechanism(const DpAccountantConfig& config,
                              const std::function<DpEvent(double)>& make_event,
                              const CalibrationOptions& options);
// Returns the last integer parameter whose epsilon is not above the target.
int64_t calibrate_dp_mechanism_discrete(const DpAccountantConfig& config,
                                        const std::function<DpEvent(int64_t)>& make_event,
                                        const CalibrationOptions& options);

}  // namespace tessera::privacy::accounting
