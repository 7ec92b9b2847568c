#include "tessera/privacy/accounting/accountant.h"

#include <cmath>
#include <optional>

#include "tessera/privacy/accounting/checks.h"
#include "tessera/privacy/accounting/special_functions.h"

namespace tessera::privacy::accounting {

namespace {

// The factor by which the grid of the first search is coarser than the accountant's.
constexpr double kCoarser = 16;

struct Bracket {
  double lower, upper;
};

using Gap = std::function<double(double)>;  // epsilon less the target

// Returns the first interval in which `gap` changes its sign, from options.lower up, each interval
// twice as long as the one before; nullopt if there is none.
std::optional<Bracket> find_bracket(const Gap& gap, const CalibrationOptions& options) {
  double lower = options.lower, upper = options.guess, width = upper - lower;
  const bool first = gap(lower) <= 0;
  for (int doubling = 0; doubling <= 30; ++doubling, width *= 2) {
    if ((gap(upper) <= 0) != first) return Bracket{lower, upper};
    lower = upper;
    upper += 2 * width;
  }
  return std::nullopt;
}

Bracket bracket_of(const Gap& gap, const CalibrationOptions& options) {
  if (const auto found = find_bracket(gap, options)) return *found;
  value_error("privacy::calibrate_dp_mechanism",
              "expected an epsilon of {} between the parameters {} and {}, got {} at both; choose "
              "another lower, guess or target",
              options.target_epsilon, options.lower,
              options.lower + (options.guess - options.lower) * (std::ldexp(1.0, 31) - 1),
              gap(options.lower) <= 0 ? "no more" : "no less");
}

// Returns a parameter near `start` at which the sign of `gap` changes; nullopt if none is found.
// The search begins within the tolerance around `start` and moves farther away.
std::optional<double> root_near(const Gap& gap, double start, const CalibrationOptions& options) {
  double width = 0.45 * options.tolerance;
  double lower = std::max(start - width, options.lower), upper = start + width;
  bool lower_fits = gap(lower) <= 0, upper_fits = gap(upper) <= 0;
  if (lower_fits != upper_fits) return lower_fits ? lower : upper;
  const bool first_fits = gap(options.lower) <= 0;
  for (int widening = 0; widening < 8; ++widening) {
    width *= 16;
    if (lower_fits == first_fits) {
      lower = upper, upper += width;
      upper_fits = gap(upper) <= 0;
    } else {
      upper = lower, lower = std::max(lower - width, options.lower);
      lower_fits = gap(lower) <= 0;
    }
    if (lower_fits != upper_fits) return internal::find_root(gap, lower, upper, options.tolerance);
  }
  return std::nullopt;
}

// Returns the root for a coarse grid, on which epsilons are cheap and a little too large, improved
// by one step of Newton's method; nullopt if there is none above options.lower.
std::optional<double> rough_root(const Gap& rough_gap, const Gap& gap,
                                 const CalibrationOptions& options) {
  const auto bracket = find_bracket(rough_gap, options);
  if (!bracket) return std::nullopt;
  const double near =
      internal::find_root(rough_gap, bracket->lower, bracket->upper, options.tolerance);
  const double step = 1e-3 * std::max(std::abs(near), options.tolerance);
  const double slope = (rough_gap(near + step) - rough_gap(near)) / step;
  const double start = near - gap(near) / slope;
  return std::isfinite(start) && start > options.lower ? std::optional(start) : std::nullopt;
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
  const auto gap_by = [&](const DpAccountantConfig& by) -> Gap {
    return [&, by](double parameter) {
      PrivacyAccountant accountant = create_accountant(by);
      return accountant.compose(make_event(parameter)).get_epsilon(options.target_delta) -
             options.target_epsilon;
    };
  };
  const Gap gap = gap_by(config);
  if (const auto* pld = std::get_if<PldAccountantConfig>(&config)) {
    PldAccountantConfig rough = *pld;
    rough.value_discretization_interval =
        std::min(kCoarser * pld->value_discretization_interval, 1.0);
    if (const auto start = rough_root(gap_by(rough), gap, options))
      if (const auto root = root_near(gap, *start, options)) return *root;
  }
  const Bracket bracket = bracket_of(gap, options);
  return internal::find_root(gap, bracket.lower, bracket.upper, options.tolerance);
}

int64_t calibrate_dp_mechanism_discrete(const DpAccountantConfig& config,
                                        const std::function<DpEvent(int64_t)>& make_event,
                                        const CalibrationOptions& options) {
  expect_options(options);
  const PrivacyAccountant nothing = create_accountant(config);
  const Gap gap = [&](double parameter) {
    PrivacyAccountant accountant = nothing;
    return accountant.compose(make_event(std::llround(parameter)))
               .get_epsilon(options.target_delta) -
           options.target_epsilon;
  };
  const Bracket bracket = bracket_of(gap, options);
  int64_t low = std::llround(bracket.lower), high = std::llround(bracket.upper);
  const bool low_fits = gap(bracket.lower) <= 0;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    ((gap(static_cast<double>(middle)) <= 0) == low_fits ? low : high) = middle;
  }
  return low_fits ? low : high;
}

}  // namespace tessera::privacy::accounting
