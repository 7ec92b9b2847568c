#include "tessera/privacy/plan_rmse.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "tessera/privacy/matrix_factorization/streaming_node.h"

namespace tessera::privacy {
namespace {

namespace mf = matrix_factorization;
using Column = std::vector<double>;

// Returns the factors by which the noise of each step is multiplied before it is summed.
std::vector<double> factors_of(const Plan& plan) {
  std::vector<double> out;
  const bool unit = plan.clip_options().rescale_to_unit_norm;
  for (int64_t step = 0; step < plan.steps(); ++step)
    out.push_back(plan.noise_factor(step) * plan.update_factor(step) *
                  (unit ? 1 : plan.clip_norm_factor(step)));
  return out;
}

double expected_participations(const Plan& plan) {
  const batch_selection::SamplingDescription& d = plan.sampling();
  double examples = 0;
  int64_t from = 0;
  const auto until = [&](int64_t step) {
    if (step <= from) return;
    examples += static_cast<double>(step - from) * expected_batch_size(at_step(d, from));
    from = step;
  };
  for (const auto& [step, probability] : d.sampling_prob_changes)
    until(std::min(step, d.iterations));
  until(d.iterations);
  return examples / static_cast<double>(d.num_examples);
}

// Returns the sum of the squares of the running sums down the columns of the lower-triangular n x n
// matrix with these elements.
double squared_sums(int64_t n, const std::function<double(int64_t i, int64_t j)>& element) {
  double total = 0;
  for (int64_t j = 0; j < n; ++j) {
    double running = 0;
    for (int64_t i = j; i < n; ++i) {
      running += element(i, j);
      total += running * running;
    }
  }
  return total;
}

// Returns the same for the Toeplitz matrix with this first column: each of its columns is the
// beginning of the first one.
double squared_toeplitz_sums(const Column& column) {
  double total = 0, running = 0, to_here = 0;
  for (const double element : column) {
    running += element;
    to_here += running * running;
    total += to_here;
  }
  return total;
}

// Returns the sum over all steps of the expected squared error of prefix sums of the noise, at a
// stddev of 1.
double squared_error(const Plan& plan) {
  const int64_t n = plan.steps();
  const std::vector<double> factors = factors_of(plan);
  const auto factor = [&](int64_t step) { return factors[static_cast<size_t>(step)]; };
  const auto column = mf::internal::toeplitz_column(plan.noising_matrix().node(), n);
  if (!column) {
    const std::vector<double> rows = plan.noising_matrix().materialize(n);
    return squared_sums(
        n, [&](int64_t i, int64_t j) { return factor(i) * rows[static_cast<size_t>(i * n + j)]; });
  }
  if (std::all_of(factors.begin(), factors.end(), [](double f) { return f == 1; }))
    return squared_toeplitz_sums(*column);
  return squared_sums(
      n, [&](int64_t i, int64_t j) { return factor(i) * (*column)[static_cast<size_t>(i - j)]; });
}

}  // namespace

double rmse(const Plan& plan) {
  if (plan.noise_multiplier() == 0) return 0;  // also if nothing is clipped
  const double stddev = plan.stddev() / plan.clipped_norm();
  const double mean = squared_error(plan) / static_cast<double>(plan.steps());
  return stddev * std::sqrt(mean) / expected_participations(plan);
}

}  // namespace tessera::privacy
