#include "tessera/privacy/accounting/monte_carlo.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "tessera/base/format.h"
#include "tessera/privacy/accounting/monte_carlo_epsilon.h"
#include "tessera/privacy/accounting/special_functions.h"
#include "tessera/privacy/infinity.h"

namespace tessera::privacy::accounting {

namespace {

using internal::log_add;
using Generator = std::mt19937_64;

constexpr const char* kMonteCarloOp = "privacy::monte_carlo";

int64_t iterations_of(const SelectionLaw& law) {
  return std::visit([](const auto& l) { return l.iterations; }, law);
}

void expect_at_least_one(const char* what, int64_t value) {
  if (value < 1)
    value_error(kMonteCarloOp, "expected {} of at least 1, got {}; give the run's", what, value);
}

void expect_law(const BallsInBinsLaw& law, size_t) {
  expect_at_least_one("a cycle_length", law.cycle_length);
}
void expect_sampling_prob(double p) {
  if (!(p > 0 && p <= 1))
    value_error(kMonteCarloOp,
                "expected a sampling_prob in (0, 1], got {}; at 0 no example is seen", p);
}
void expect_law(const BMinSepLaw& law, size_t bands) {
  expect_sampling_prob(law.sampling_prob);
  expect_at_least_one("a min_sep", law.min_sep);
  if (static_cast<int64_t>(bands) > std::min(law.min_sep, law.iterations))
    value_error(kMonteCarloOp, "expected at most min_sep = {} bands, got {}; separate by more",
                law.min_sep, bands);
  if (!law.truncated_batch_size) return;
  expect_at_least_one("a truncated_batch_size", *law.truncated_batch_size);
  expect_at_least_one("a dataset_size with truncation", law.dataset_size);
}
void expect_law(const RandomAllocationLaw& law, size_t bands) {
  if (law.selections < 1 || law.selections > law.iterations)
    value_error(
        kMonteCarloOp,
        "expected between 1 and {} selections, got {}; an example is at most once in a batch",
        law.iterations, law.selections);
  if (bands != 1)
    value_error(kMonteCarloOp,
                "expected one band with random allocation, got {}; its loss is known without "
                "correlated noise alone",
                bands);
}

void expect_law(const CyclicPoissonLaw& law, size_t bands) {
  expect_sampling_prob(law.sampling_prob);
  expect_at_least_one("a cycle_length", law.cycle_length);
  if (static_cast<int64_t>(bands) > law.cycle_length)
    value_error(kMonteCarloOp,
                "expected at most cycle_length = {} bands, got {}; take a longer cycle",
                law.cycle_length, bands);
}

// Returns c_col, cut to the number of iterations. Throws UserError if c_col, the noise or the law
// is invalid.
std::vector<double> checked_column(const SelectionLaw& law, std::span<const double> c_col,
                                   double noise_multiplier) {
  expect_at_least_one("iterations", iterations_of(law));
  if (!(noise_multiplier > 0 && std::isfinite(noise_multiplier)))
    value_error(kMonteCarloOp,
                "expected a finite noise_multiplier above 0, got {}; without noise the loss is "
                "infinite",
                noise_multiplier);
  if (c_col.empty())
    value_error(kMonteCarloOp, "expected a c_col of at least one entry, got none; {{1}} is DP-SGD");
  for (double c : c_col)
    if (!(c >= 0 && std::isfinite(c)))
      value_error(kMonteCarloOp,
                  "expected entries of c_col that are finite and not negative, got {}; the pair of "
                  "runs dominates for these alone",
                  c);
  const size_t used = std::min(c_col.size(), static_cast<size_t>(iterations_of(law)));
  std::visit([&](const auto& l) { expect_law(l, used); }, law);
  return {c_col.begin(), c_col.begin() + static_cast<std::ptrdiff_t>(used)};
}

// Adds weight * C e_step to the output.
void add_column(std::vector<double>& output, std::span<const double> c_col, int64_t step,
                double weight) {
  for (size_t i = 0; i < c_col.size() && static_cast<size_t>(step) + i < output.size(); ++i)
    output[static_cast<size_t>(step) + i] += weight * c_col[i];
}

// Returns C' output: the inner product of the output with each column of C.
std::vector<double> along_columns(std::span<const double> output, std::span<const double> c_col) {
  std::vector<double> out(output.size());
  for (size_t step = 0; step < output.size(); ++step)
    for (size_t i = 0; i < c_col.size() && step + i < output.size(); ++i)
      out[step] += c_col[i] * output[step + i];
  return out;
}

// Returns the squared norms of the n columns of C. The last columns have fewer entries, because
// they end at row n.
std::vector<double> squared_column_norms(size_t n, std::span<const double> c_col) {
  std::vector<double> out(n);
  for (size_t step = 0; step < n; ++step)
    for (size_t i = 0; i < c_col.size() && step + i < n; ++i) out[step] += c_col[i] * c_col[i];
  return out;
}

// --- Balls in bins

void select(const BallsInBinsLaw& law, Generator& random, std::span<const double> c_col,
            bool positive, MonteCarloSample& out) {
  if (!positive) return;
  std::uniform_int_distribution<int64_t> first(0, law.cycle_length - 1);
  for (int64_t step = first(random); step < law.iterations; step += law.cycle_length)
    add_column(out.output, c_col, step, 1);
}

double loss_of(const BallsInBinsLaw& law, const MonteCarloSample& sample, double variance,
               std::span<const double> c_col) {
  const std::vector<double> along = along_columns(sample.output, c_col);
  // `mode` is C x for an example that takes part from step 0 on. For a later first step C x is the
  // same, shifted and cut at the end.
  std::vector<double> mode(sample.output.size()), norms(sample.output.size() + 1);
  for (int64_t step = 0; step < law.iterations; step += law.cycle_length)
    add_column(mode, c_col, step, 1);
  for (size_t i = 0; i < mode.size(); ++i) norms[i + 1] = norms[i] + mode[i] * mode[i];
  double total = -kInfinity;
  for (int64_t first = 0; first < law.cycle_length; ++first) {
    double dot = 0;
    for (int64_t step = first; step < law.iterations; step += law.cycle_length)
      dot += along[static_cast<size_t>(step)];
    const double norm = norms[static_cast<size_t>(std::max<int64_t>(law.iterations - first, 0))];
    total = log_add(total, (dot - norm / 2) / variance);
  }
  return total - std::log(static_cast<double>(law.cycle_length));
}

// --- b-min-sep

// Returns the last step before the run that sampled the example, a negative number. For a warm
// start it is drawn; otherwise it is so long ago that the example may be sampled at step 0.
int64_t last_participation(const BMinSepLaw& law, Generator& random) {
  if (!law.warm_start) return -law.min_sep;
  std::vector<double> weights(static_cast<size_t>(law.min_sep), law.sampling_prob);
  weights[0] = 1;
  return std::discrete_distribution<int64_t>(weights.begin(), weights.end())(random) - law.min_sep;
}

int64_t binomial(int64_t n, double p, Generator& random) {
  return std::binomial_distribution<int64_t>(n, p)(random);
}

// Returns how many of the other examples are sampled at each step, before truncation.
std::vector<int64_t> sample_rest(const BMinSepLaw& law, Generator& random) {
  const size_t separation = static_cast<size_t>(law.min_sep);
  std::vector<int64_t> sizes(separation + static_cast<size_t>(law.iterations));
  int64_t available = law.dataset_size - 1;
  if (law.warm_start) {
    // The other examples are treated as in last_participation: each was last sampled at one of the
    // min_sep steps before the run.
    const double waiting = 1 / (1 + static_cast<double>(law.min_sep - 1) * law.sampling_prob);
    int64_t left = available;
    double mass = 1;
    for (size_t i = 0; i < separation && left > 0; ++i) {
      const double weight = i == 0 ? waiting : waiting * law.sampling_prob;
      sizes[i] = i + 1 == separation ? left : binomial(left, std::min(1.0, weight / mass), random);
      left -= sizes[i];
      mass -= weight;
    }
    available = 0;
  }
  for (size_t i = 0; i + separation < sizes.size(); ++i) {
    available += sizes[i];
    sizes[i + separation] = binomial(available, law.sampling_prob, random);
    available -= sizes[i + separation];
  }
  return {sizes.begin() + static_cast<std::ptrdiff_t>(separation), sizes.end()};
}

// Returns by how much the example moves the sum of a step that samples it. If the other examples
// fill the batch, it stays in the batch with probability truncated_batch_size / (rest + 1), and
// then replaces another example.
double participation(const BMinSepLaw& law, int64_t rest, bool positive, Generator& random) {
  if (!law.truncated_batch_size || rest < *law.truncated_batch_size) return positive ? 1 : 0;
  const double kept =
      static_cast<double>(*law.truncated_batch_size) / static_cast<double>(rest + 1);
  if (!std::bernoulli_distribution(kept)(random)) return 0;
  return positive ? 2 : -1;
}

void select(const BMinSepLaw& law, Generator& random, std::span<const double> c_col, bool positive,
            MonteCarloSample& out) {
  if (law.truncated_batch_size) out.rest_batch_sizes = sample_rest(law, random);
  std::geometric_distribution<int64_t> missed(law.sampling_prob);
  int64_t step = last_participation(law, random);
  while ((step += law.min_sep + (law.sampling_prob < 1 ? missed(random) : 0)) < law.iterations) {
    const int64_t rest =
        law.truncated_batch_size ? out.rest_batch_sizes[static_cast<size_t>(step)] : 0;
    add_column(out.output, c_col, step, participation(law, rest, positive, random));
  }
}

// Returns the logarithm of a ratio of densities of the output: of a run, to the noise alone. It is
// a recursion from the last step. ratio(step) is the logarithm of that ratio for a participation in
// one step; the next min_sep - 1 steps cannot have another one.
double suffix_loss(const BMinSepLaw& law, const std::function<double(size_t)>& ratio) {
  const size_t n = static_cast<size_t>(law.iterations),
               separation = static_cast<size_t>(law.min_sep);
  const double log_p = std::log(law.sampling_prob), log_1mp = std::log1p(-law.sampling_prob);
  std::vector<double> suffix(n + separation, 0.0);
  for (size_t step = n; step-- > 0;)
    suffix[step] =
        log_add(log_1mp + suffix[step + 1], log_p + ratio(step) + suffix[step + separation]);
  if (!law.warm_start) return suffix[0];
  double total = suffix[0];
  for (size_t step = 1; step < separation; ++step) total = log_add(total, log_p + suffix[step]);
  return total - std::log1p(static_cast<double>(law.min_sep - 1) * law.sampling_prob);
}

double loss_of(const BMinSepLaw& law, const MonteCarloSample& sample, double variance,
               std::span<const double> c_col) {
  const std::vector<double> along = along_columns(sample.output, c_col);
  const std::vector<double> norms = squared_column_norms(along.size(), c_col);
  // Returns the logarithm of the ratio for a participation that moves the sum by `weight`.
  const auto moved = [&](size_t step, double weight) {
    return weight * (along[step] - weight * norms[step] / 2) / variance;
  };
  if (!law.truncated_batch_size)
    return suffix_loss(law, [&](size_t step) { return moved(step, 1); });
  const auto truncated = [&](double open_weight, double full_weight) {
    return [&, open_weight, full_weight](size_t step) {
      const int64_t rest = sample.rest_batch_sizes[step];
      if (rest < *law.truncated_batch_size) return moved(step, open_weight);
      const double kept =
          static_cast<double>(*law.truncated_batch_size) / static_cast<double>(rest + 1);
      return log_add(std::log(kept) + moved(step, full_weight), std::log1p(-kept));
    };
  };
  return suffix_loss(law, truncated(1, 2)) - suffix_loss(law, truncated(0, -1));
}

// --- Random allocation

void select(const RandomAllocationLaw& law, Generator& random, std::span<const double> c_col,
            bool positive, MonteCarloSample& out) {
  if (!positive) return;
  int64_t wanted = law.selections;
  for (int64_t step = 0; step < law.iterations && wanted > 0; ++step) {
    std::uniform_int_distribution<int64_t> left(0, law.iterations - step - 1);
    if (left(random) >= wanted) continue;
    add_column(out.output, c_col, step, 1);
    --wanted;
  }
}

// Returns the logarithm of the mean, over all subsets of steps, of the product of the steps'
// ratios. This is an elementary symmetric polynomial of the ratios.
double loss_of(const RandomAllocationLaw& law, const MonteCarloSample& sample, double variance,
               std::span<const double> c_col) {
  std::vector<double> log_sums(static_cast<size_t>(law.selections) + 1, -kInfinity);
  log_sums[0] = 0;
  for (const double output : sample.output) {
    const double ratio = c_col[0] * (output - c_col[0] / 2) / variance;
    for (size_t k = log_sums.size() - 1; k > 0; --k)
      log_sums[k] = log_add(log_sums[k], log_sums[k - 1] + ratio);
  }
  return log_sums.back() -
         internal::log_binomial(static_cast<double>(law.iterations), law.selections);
}

// --- Cyclic Poisson

void select(const CyclicPoissonLaw& law, Generator& random, std::span<const double> c_col,
            bool positive, MonteCarloSample& out) {
  if (!positive) return;
  std::uniform_int_distribution<int64_t> group(0, law.cycle_length - 1);
  std::bernoulli_distribution sampled(law.sampling_prob);
  for (int64_t step = group(random); step < law.iterations; step += law.cycle_length)
    if (sampled(random)) add_column(out.output, c_col, step, 1);
}

// Columns of the steps of one group do not overlap. So the ratio of a group is the product of its
// steps' ratios, and each of these is the mean of the ratios with and without the example.
double loss_of(const CyclicPoissonLaw& law, const MonteCarloSample& sample, double variance,
               std::span<const double> c_col) {
  const std::vector<double> along = along_columns(sample.output, c_col);
  const std::vector<double> norms = squared_column_norms(along.size(), c_col);
  const double log_p = std::log(law.sampling_prob), log_1mp = std::log1p(-law.sampling_prob);
  double total = -kInfinity;
  for (int64_t group = 0; group < law.cycle_length; ++group) {
    double ratio = 0;
    for (auto step = static_cast<size_t>(group); step < along.size();
         step += static_cast<size_t>(law.cycle_length))
      ratio += log_add(log_p + (along[step] - norms[step] / 2) / variance, log_1mp);
    total = log_add(total, ratio);
  }
  return total - std::log(static_cast<double>(law.cycle_length));
}

MonteCarloSample one_sample(const SelectionLaw& law, const MonteCarloOptions& options,
                            std::span<const double> c_col, Generator& random) {
  MonteCarloSample out{std::vector<double>(static_cast<size_t>(iterations_of(law))), {}};
  std::visit([&](const auto& l) { select(l, random, c_col, options.positive_sample, out); }, law);
  std::normal_distribution<double> noise(0, options.noise_multiplier);
  for (double& value : out.output) value += noise(random);
  return out;
}

double one_loss(const SelectionLaw& law, const MonteCarloSample& sample, double noise_multiplier,
                std::span<const double> c_col) {
  return std::visit(
      [&](const auto& l) { return loss_of(l, sample, noise_multiplier * noise_multiplier, c_col); },
      law);
}

}  // namespace

std::vector<MonteCarloSample> generate_samples(const SelectionLaw& law, int64_t num_samples,
                                               const MonteCarloOptions& options) {
  const std::vector<double> c_col = checked_column(law, options.c_col, options.noise_multiplier);
  Generator random(options.seed ? *options.seed : seed_of_entropy());
  std::vector<MonteCarloSample> out;
  for (int64_t i = 0; i < num_samples; ++i) out.push_back(one_sample(law, options, c_col, random));
  return out;
}

double compute_privacy_loss(const SelectionLaw& law, const MonteCarloSample& sample,
                            double noise_multiplier, std::span<const double> c_col) {
  const std::vector<double> column = checked_column(law, c_col, noise_multiplier);
  const auto* separated = std::get_if<BMinSepLaw>(&law);
  const size_t steps = static_cast<size_t>(iterations_of(law));
  const size_t sizes = separated && separated->truncated_batch_size ? steps : 0;
  if (sample.output.size() != steps || sample.rest_batch_sizes.size() != sizes)
    value_error(
        "privacy::compute_privacy_loss",
        "expected {} outputs and {} batch sizes, got {} and {}; take what generate_samples gives",
        steps, sizes, sample.output.size(), sample.rest_batch_sizes.size());
  return one_loss(law, sample, noise_multiplier, column);
}

std::vector<double> privacy_loss_samples(const SelectionLaw& law, int64_t num_samples,
                                         const MonteCarloOptions& options) {
  const std::vector<double> c_col = checked_column(law, options.c_col, options.noise_multiplier);
  const double sign = options.positive_sample ? 1 : -1;
  Generator random(options.seed ? *options.seed : seed_of_entropy());
  std::vector<double> out;
  for (int64_t i = 0; i < num_samples; ++i)
    out.push_back(sign * one_loss(law, one_sample(law, options, c_col, random),
                                  options.noise_multiplier, c_col));
  return out;
}

}  // namespace tessera::privacy::accounting
