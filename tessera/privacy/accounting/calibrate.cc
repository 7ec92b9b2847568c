#include "tessera/privacy/accounting/calibrate.h"

#include <functional>

#include "tessera/privacy/accounting/checks.h"
#include "tessera/privacy/accounting/special_functions.h"

namespace tessera::privacy::accounting {

namespace {

constexpr int64_t kMaxUpdates = int64_t{1} << 40;

void expect_options(const char* op, const CalibrateOptions& options, bool possible) {
  internal::expect_epsilon(op, options.target_epsilon);
  if (!possible)
    value_error(op,
                "expected an accountant of a run that can be calibrated, got that of a single "
                "release; use get_sigma_gaussian");
}

// Returns the largest n in [1, limit] with fits(n), which is true up to some n and false after it.
int64_t largest(const char* op, int64_t limit, double target_epsilon,
                const std::function<bool(int64_t)>& fits) {
  if (limit < 1 || !fits(1))
    value_error(op,
                "expected a target_epsilon that 1 does not pass, got {}; increase it, or the noise",
                target_epsilon);
  int64_t low = 1, high = 2;
  while (high <= limit && fits(high)) low = high, high *= 2;
  high = std::min(high, limit + 1);
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

double calibrate_noise_multiplier(int64_t num_updates, DpParams params,
                                  const CalibrateOptions& options) {
  constexpr const char* op = "privacy::calibrate_noise_multiplier";
  expect_options(op, options, options.accountant.can_calibrate_noise_multipliers());
  if (!(options.tolerance > 0))
    value_error(op, "expected a tolerance above 0, got {}; 0.01 serves", options.tolerance);
  const auto gap = [&](double noise) {
    params.noise_multipliers = noise;
    return options.accountant.compute_epsilon(num_updates, params) - options.target_epsilon;
  };
  double lower = 0, upper = 1;
  if (gap(lower) <= 0) return lower;
  for (; gap(upper) > 0; upper *= 2) {
    lower = upper;
    if (upper > 1e9)
      value_error(
          op, "expected a target_epsilon that some noise reaches, got {}; increase it, or delta",
          options.target_epsilon);
  }
  return internal::find_root(gap, lower, upper, options.tolerance);
}

int64_t calibrate_num_updates(const DpParams& params, const CalibrateOptions& options) {
  constexpr const char* op = "privacy::calibrate_num_updates";
  expect_options(op, options, options.accountant.can_calibrate_steps());
  const int64_t steps = largest(op, kMaxUpdates, options.target_epsilon, [&](int64_t n) {
    return options.accountant.compute_epsilon(n, params) <= options.target_epsilon;
  });
  if (steps == kMaxUpdates)
    value_error(op,
                "expected a target_epsilon that some number of updates passes, got {} after 2^40; "
                "decrease it",
                options.target_epsilon);
  const int64_t cycle = params.cycle_length.value_or(1);
  return (steps + cycle - 1) / cycle * cycle;
}

int64_t calibrate_batch_size(int64_t num_updates, DpParams params,
                             const CalibrateOptions& options) {
  constexpr const char* op = "privacy::calibrate_batch_size";
  expect_options(op, options, options.accountant.can_calibrate_batch_size());
  const int64_t limit = params.num_samples / std::max<int64_t>(params.cycle_length.value_or(1), 1);
  return largest(op, limit, options.target_epsilon, [&](int64_t size) {
    params.batch_size = size;
    return options.accountant.compute_epsilon(num_updates, params) <= options.target_epsilon;
  });
}

}  // namespace tessera::privacy::accounting
