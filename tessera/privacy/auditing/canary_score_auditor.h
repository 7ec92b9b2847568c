// Privacy auditing: how much an attack learns about training. Canaries are examples of which some,
// drawn at random, were trained on (held in) and some were not (held out). An attack computes a
// score for each canary, a higher one if it guesses that the canary was held in. The two sets of
// scores yield lower bounds on epsilon, and the attack's power. Names and estimators are
// jax_privacy.auditing's.
//
//   auditing::CanaryScoreAuditor auditor(in_scores, out_scores);
//   auditor.epsilon_clopper_pearson({.significance = 0.05, .delta = 1e-5})
//   auditor.epsilon_one_run({.delta = 1e-5, .threshold_strategy = auditing::Split{}})
//   auditor.bootstrap([](const auto& a) { return a.attack_auroc(); },
//                     auditing::confidence_interval(0.95, {.seed = 1}))
//
// A bound on epsilon is above the true epsilon with at most the probability `significance`, for
// every strategy (tests/privacy/audit_coverage_test.cc simulates each); if a search ends between
// two numbers, it returns the smaller. Random choices are functions of a seed.
//
// The functions throw UserError (kValue) if there are no scores of one kind, if a score is NaN, and
// if an option is outside its range.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/ir/array.h"

namespace tessera::privacy::auditing {

// Strategies for choosing the threshold that separates held in from held out. The best of the
// bounds of many thresholds, without a correction, would be too high.

// Tests the thresholds that 0, 1, 2, 3, 4, 6, 8, 12, ... canaries pass, each at its share of the
// significance. One-run bounds, which are about guesses, count canaries of both kinds; bounds about
// rates count held-out ones. If low scores are evidence too (one_sided is false), the thresholds
// that all but so many pass are also tested. Ties are resolved to the safe side, so Explicit is
// better for scores with few distinct values. (jax_privacy divides by the number of thresholds on
// the hull of the curve, which depends on the scores: with 5,000 canaries without a signal its
// one-run bound is above 0 in 7 % of the runs instead of 5 %.)
struct Bonferroni {};
struct Explicit {  // tests this threshold: a score equal to it counts as held in
  double threshold = 0;
};
struct Split {  // finds the best threshold on a part of the scores, and tests it on the rest
  double threshold_estimation_frac = 0.5;
  uint64_t seed = 0;
};
// Returns the median of the bounds of several splits at half the significance (Meinshausen, Meier
// and Buehlmann, arXiv 0811.2177, Theorem 3.1).
struct MultiSplit {
  int64_t num_samples = 100;
  double threshold_estimation_frac = 0.5;
  uint64_t seed = 0;
};
using ThresholdStrategy = std::variant<Bonferroni, Explicit, Split, MultiSplit>;

struct ClopperPearsonOptions {
  double significance = 0.05;  // in (0, 0.5)
  double delta = 0;            // in [0, 1]
  bool one_sided = true;       // whether only TPR / FPR counts, not also TNR / FNR
  ThresholdStrategy threshold_strategy = Bonferroni{};
};

struct OneRunOptions {
  double significance = 0.05;  // in (0, 1)
  double delta = 1e-5;         // in (0, 1]
  ThresholdStrategy threshold_strategy = Bonferroni{};
};

struct RawCountsOptions {
  int64_t min_count = 50;  // the least number of false positives (or negatives) of a threshold
  double delta = 0;        // in [0, 1]
  bool one_sided = true;
};

struct GdpOptions {
  double significance = 0.05;  // in (0, 0.5)
  double delta = 1e-5;         // in (0, 1]
};

struct MaxAccuracyOptions {
  double prevalence = -1;  // the share of held-in examples, in [0, 1]; -1: that of the canaries
  // If in (0, 1), the result is an upper bound that fails with this probability; if 0, an estimate.
  double significance = 0;
};

// The quantiles of an estimate over resampled scores that bootstrap() returns: plain percentiles,
// or corrected for bias, or for bias and skewness (BCa: Efron, "Better bootstrap confidence
// intervals", 1987), which computes the estimate once more for each canary.
struct BootstrapParams {
  int64_t num_samples = 1000;
  std::vector<double> quantiles{0.025, 0.975};  // in (0, 1)
  bool bias_correction = true;
  bool acceleration = false;  // only together with bias_correction
  uint64_t seed = 0;
};
// Returns the params with the two quantiles of a central interval of this confidence, in (0, 1).
BootstrapParams confidence_interval(double confidence, BootstrapParams params = {});

class CanaryScoreAuditor {
 public:
  CanaryScoreAuditor(std::vector<double> in_canary_scores, std::vector<double> out_canary_scores);
  // Takes the scores from arrays of one dimension.
  CanaryScoreAuditor(const Array& in_canary_scores, const Array& out_canary_scores);

  // Returns the lower bound of Nasr et al., arXiv 2101.04535, from Clopper and Pearson's bounds on
  // the rates. Each canary must have been drawn and trained on independently of the others.
  double epsilon_clopper_pearson(const ClopperPearsonOptions& options = {}) const;
  // Returns the bound from one run with many canaries, each held in with probability 1/2 (Steinke,
  // Nasr and Jagielski, arXiv 2305.08846), in which the attack only guesses which canaries are held
  // in.
  double epsilon_one_run(const OneRunOptions& options = {}) const;
  // Returns the same for a Gaussian mechanism, which its (epsilon, delta) determines completely
  // (Mahloujifar, Melis and Chaudhuri, arXiv 2410.22235).
  double epsilon_one_run_fdp(const OneRunOptions& options = {}) const;
  // Returns the epsilon for the largest mu such that bounds on the rates at some threshold exclude
  // mu-GDP (arXiv 2302.07956, 2406.04827); at most 100. It is a bound for Gaussian mechanisms,
  // which the sum of many steps nearly is.
  double epsilon_from_gdp(const GdpOptions& options = {}) const;
  // Returns an estimate, not a bound: ln((TPR - delta) / FPR) at the best threshold.
  double epsilon_raw_counts(const RawCountsOptions& options = {}) const;

  // Returns the largest true positive rate at a false positive rate in [0, 1], for attacks that may
  // choose between two thresholds at random.
  double tpr_at_given_fpr(double fpr) const;
  std::vector<double> tpr_at_given_fpr(std::span<const double> fpr) const;
  // Returns the area under the curve of these rates: 1/2 for guessing.
  double attack_auroc() const;
  // Returns the largest share of right guesses among all thresholds.
  double max_accuracy(const MaxAccuracyOptions& options = {}) const;

  // Returns quantiles of any of these estimates over resampled scores, for example
  // bootstrap([](const auto& a) { return a.attack_auroc(); }). For an estimate of epsilon they are
  // not a confidence interval of the true epsilon.
  std::vector<double> bootstrap(const std::function<double(const CanaryScoreAuditor&)>& estimate,
                                const BootstrapParams& params = {}) const;

 private:
  // A threshold, and the numbers of held-in and held-out scores below it.
  struct Counts {
    double threshold;
    int64_t false_negatives, true_negatives;
  };
  // A bound, and its threshold.
  struct Bound {
    double epsilon, threshold;
  };
  enum class Method : uint8_t { kClopperPearson, kOneRun, kOneRunFdp };
  struct Question {
    Method method;
    double significance, delta;
    bool one_sided = true;
  };

  int64_t num_in() const { return static_cast<int64_t>(in_.size()); }
  int64_t num_out() const { return static_cast<int64_t>(out_.size()); }
  int64_t num_canaries() const { return num_in() + num_out(); }
  Counts counts_at(double threshold) const;
  std::vector<Counts> rate_thresholds(bool both_ends) const;
  std::vector<Counts> guess_thresholds() const;
  std::pair<std::vector<int64_t>, std::vector<int64_t>> positives() const;
  std::pair<CanaryScoreAuditor, CanaryScoreAuditor> split(double frac, uint64_t seed,
                                                          uint64_t sample) const;
  CanaryScoreAuditor resampled(uint64_t seed, uint64_t sample) const;
  std::vector<double> jackknife(
      const std::function<double(const CanaryScoreAuditor&)>& estimate) const;

  double answer(Question question, const ThresholdStrategy& strategy) const;
  double split_bound(Question question, double frac, uint64_t seed, uint64_t sample) const;
  Bound bound(const Question& question, std::span<const Counts> at) const;
  Bound clopper_pearson(const Question& question, std::span<const Counts> at) const;
  Bound one_run(const Question& question, std::span<const Counts> at) const;

  std::vector<double> in_, out_;  // increasing
  // The counts at those thresholds that no random choice between two others beats, increasing; the
  // first is below all scores, the last is infinity.
  std::vector<Counts> frontier_;
};

}  // namespace tessera::privacy::auditing
