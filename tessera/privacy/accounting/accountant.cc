#include "tessera/privacy/accounting/accountant.h"

#include <cmath>

#include "tessera/privacy/accounting/checks.h"
#include "tessera/privacy/accounting/special_functions.h"

namespace tessera::privacy::accounting {

namespace {

struct Bracket {
  double lower, upper;
};

// The first of doubling intervals from options.lower in which `gap` changes its sign.
Bracket find_bracket(const std::function<double(double)>& gap, const CalibrationOptions& options) {
  double lower = options.lower, upper = options.guess, width = upper - lower;
  const bool first = gap(lower) <= 0;
  for (int doubling = 0; doubling <= 30; ++doubling, width *= 2) {
    if ((gap(upper) <= 0) != first) return {lower, upper};
    lower = upper;
    upper += 2 * width;
  }
  value_error("privacy::calibrate_dp_mechanism",
              "expected an epsilon of {} between the parameters {} and {}, got {} at both; choose "
              "another lower, guess or target",
              options.target_epsilon, options.lower, lower, first ? "no more" : "no less");
}

void expect_options(const CalibrationOptions& options) {
  constexpr const char* op = "privacy::calibrate_dp_mechanism";
  internal::expect_epsilon(op, options.target_epsilon);
  internal::expect_delta(op, options.target_delta);
  if (!(options.lower < options.guess))
    value_error(op, "expected a guess above lower = {}, got {}; the search goes up from it",
                options.lower, options.guess);
  if (!(options.tolerance > 0))
    value_error(op, "expected a tolerance above 0, got {}; 1e-6 serves", options.tolerance);
}

}  // namespace

NeighboringRelation PrivacyAccountant::neighboring_relation() const {
  return std::visit([](const auto& a) { return a.neighboring_relation(); }, accountant_);
}
bool PrivacyAccountant::supports(const DpEvent& event) const {
  return std::visit([&](const auto& a) { return a.supports(event); }, accountant_);
}
PrivacyAccountant& PrivacyAccountant::compose(const DpEvent& event, int64_t count) {
  std::visit([&](auto& a) { a.compose(event, count); }, accountant_);
  if (count > 0) ledger_.push_back(count == 1 ? event : SelfComposedDpEvent{event, count});
  return *this;
}
double PrivacyAccountant::get_epsilon(double target_delta) const {
  return std::visit([&](const auto& a) { return a.get_epsilon(target_delta); }, accountant_);
}
double PrivacyAccountant::get_delta(double target_epsilon) const {
  return std::visit([&](const auto& a) { return a.get_delta(target_epsilon); }, accountant_);
}
DpEvent PrivacyAccountant::ledger() const {
  if (ledger_.empty()) return NoOpDpEvent{};
  return ledger_.size() == 1 ? ledger_[0] : ComposedDpEvent{ledger_};
}

std::vector<double> training_rdp_orders() {
  std::vector<double> orders;
  for (int i = 0; i < 50; ++i) orders.push_back(1.01 + i * (8 - 1.01) / 49);
  for (int order = 8; order < 64; ++order) orders.push_back(order);
  for (int i = 0; i < 10; ++i) orders.push_back(std::floor(65 + i * (512 - 65) / 9.0));
  return orders;
}

PrivacyAccountant create_accountant(const DpAccountantConfig& config) {
  if (const auto* rdp = std::get_if<RdpAccountantConfig>(&config))
    return RdpAccountant(rdp->neighboring_relation, rdp->orders);
  const auto& pld = std::get<PldAccountantConfig>(config);
  return PldAccountant(pld.neighboring_relation, pld.value_discretization_interval);
}

double calibrate_dp_mechanism(const DpAccountantConfig& config,
                              const std::function<DpEvent(double)>& make_event,
                              const CalibrationOptions& options) {
  expect_options(options);
  const auto gap = [&](double parameter) {
    return create_accountant(config)
               .compose(make_event(parameter))
               .get_epsilon(options.target_delta) -
           options.target_epsilon;
  };
  const Bracket bracket = find_bracket(gap, options);
  return internal::find_root(gap, bracket.lower, bracket.upper, options.tolerance);
}

int64_t calibrate_dp_mechanism_discrete(const DpAccountantConfig& config,
                                        const std::function<DpEvent(int64_t)>& make_event,
                                        const CalibrationOptions& options) {
  expect_options(options);
  const auto gap = [&](double parameter) {
    return create_accountant(config)
               .compose(make_event(std::llround(parameter)))
               .get_epsilon(options.target_delta) -
           options.target_epsilon;
  };
  const Bracket bracket = find_bracket(gap, options);
  int64_t low = std::llround(bracket.lower), high = std::llround(bracket.upper);
  const bool low_fits = gap(bracket.lower) <= 0;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    ((gap(static_cast<double>(middle)) <= 0) == low_fits ? low : high) = middle;
  }
  return low_fits ? low : high;
}

}  // namespace tessera::privacy::accounting
