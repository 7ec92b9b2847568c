// Privacy auditing: how much an attack tells of training. Canaries are examples of which some, drawn
// at random, were trained on (held in) and some were not (held out); an attack scores each, higher
// for those that it takes for held in. From the two sets of scores come lower bounds on epsilon,
// and the attack's power. The names and estimators of jax_privacy.auditing.
//
//   auditing::CanaryScoreAuditor auditor(in_scores, out_scores);
//   auditor.epsilon_clopper_pearson({.significance = 0.05, .delta = 1e-5})
//   auditor.epsilon_one_run({.delta = 1e-5, .threshold_strategy = auditing::Split{}})
//   auditor.bootstrap([](const auto& a) { return a.attack_auroc(); },
//                     auditing::confidence_interval(0.95, {.seed = 1}))
//
// A bound on epsilon is above the truth with probability `significance` at most, for every strategy
// (tests/privacy/audit_coverage_test.cc simulates each); where a search ends between two numbers, it
// gives the smaller. What is random is a function of a seed. Host code in double.
//
// UserError (kValue): no scores, NaN scores, an option outside its range.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/ir/array.h"

namespace tessera::privacy::auditing {

// How the threshold that tells held in from held out is chosen, without which a bound over many
// thresholds would be too high.

// The thresholds that 0, 1, 2, 3, 4, 6, 8, 12, ... canaries pass, each at its share of the significance:
// of guesses (one-run bounds) canaries of both kinds, of rates held-out ones; of rates also those that
// all but so many pass, if low scores count too. Ties are on the safe side: for scores of few values
// take Explicit. (jax_privacy divides by the number of thresholds on the hull of the curve, which the
// scores choose: of 5,000 canaries without a signal its one-run bound is above 0 in 7 % of the runs
// instead of 5 %.)
struct Bonferroni {};
struct Explicit {  // this one: a score equal to it is taken for held in
  double threshold = 0;
};
struct Split {  // the best of a part of the scores, for the bound of the rest
  double threshold_estimation_frac = 0.5;
  uint64_t seed = 0;
};
// The median of the bounds of several splits at half the significance (Meinshausen, Meier and
// Buehlmann, arXiv 0811.2177, Theorem 3.1).
struct MultiSplit {
  int64_t num_samples = 100;
  double threshold_estimation_frac = 0.5;
  uint64_t seed = 0;
};
using ThresholdStrategy = std::variant<Bonferroni, Explicit, Split, MultiSplit>;

struct ClopperPearsonOptions {
  double significance = 0.05;  // in (0, 0.5)
  double delta = 0;            // in [0, 1]
  bool one_sided = true;       // by TPR / FPR alone, not by TNR / FNR too
  ThresholdStrategy threshold_strategy = Bonferroni{};
};

struct OneRunOptions {
  double significance = 0.05;  // in (0, 1)
  double delta = 1e-5;         // in (0, 1]
  ThresholdStrategy threshold_strategy = Bonferroni{};
};

struct RawCountsOptions {
  int64_t min_count = 50;  // false positives, or negatives, that a threshold must have
  double delta = 0;        // in [0, 1]
  bool one_sided = true;
};

struct GdpOptions {
  double significance = 0.05;  // in (0, 0.5)
  double delta = 1e-5;         // in (0, 1]
};

struct MaxAccuracyOptions {
  double prevalence = -1;   // of held in ones, in [0, 1]; -1: as among the canaries
  double significance = 0;  // in (0, 1): an upper bound that fails with this probability; 0: none
};

// Quantiles of an estimate over resampled scores: by the percentiles; corrected for their bias; or
// for their skewness too (BCa: Efron, "Better bootstrap confidence intervals", 1987), which computes
// the estimate once more for each canary.
struct BootstrapParams {
  int64_t num_samples = 1000;
  std::vector<double> quantiles{0.025, 0.975};  // in (0, 1)
  bool bias_correction = true;
  bool acceleration = false;  // with bias_correction alone
  uint64_t seed = 0;
};
// With the two quantiles of a central interval of this confidence, in (0, 1).
BootstrapParams confidence_interval(double confidence, BootstrapParams params = {});

class CanaryScoreAuditor {
 public:
  CanaryScoreAuditor(std::vector<double> in_canary_scores, std::vector<double> out_canary_scores);
  // Of arrays of one dimension.
  CanaryScoreAuditor(const Array& in_canary_scores, const Array& out_canary_scores);

  // The lower bound of Nasr et al., arXiv 2101.04535: from bounds on the rates (Clopper and Pearson)
  // of canaries that were each drawn and trained on independently of the others.
  double epsilon_clopper_pearson(const ClopperPearsonOptions& options = {}) const;
  // Of one run with many canaries, each held in with probability 1/2 (Steinke, Nasr and Jagielski,
  // arXiv 2305.08846), guessing held in alone.
  double epsilon_one_run(const OneRunOptions& options = {}) const;
  // As this, for a Gaussian mechanism, which (epsilon, delta) says the whole of (Mahloujifar, Melis
  // and Chaudhuri, arXiv 2410.22235).
  double epsilon_one_run_fdp(const OneRunOptions& options = {}) const;
  // The epsilon of the largest mu-GDP that bounds on the rates at any threshold exclude (arXiv
  // 2302.07956, 2406.04827); 100 at most. A bound for mechanisms that are Gaussian, as the sum of
  // many steps nearly is.
  double epsilon_from_gdp(const GdpOptions& options = {}) const;
  // An estimate, not a bound: ln((TPR - delta) / FPR) at the best threshold.
  double epsilon_raw_counts(const RawCountsOptions& options = {}) const;

  // The largest true positive rate at a false positive rate in [0, 1], of attacks that may draw
  // between two thresholds.
  double tpr_at_given_fpr(double fpr) const;
  std::vector<double> tpr_at_given_fpr(std::span<const double> fpr) const;
  // The area under the curve of these: 1/2 for guessing.
  double attack_auroc() const;
  // The best share of right guesses of any threshold.
  double max_accuracy(const MaxAccuracyOptions& options = {}) const;

  // The quantiles of any of these: bootstrap([](const auto& a) { return a.attack_auroc(); }). Not a
  // confidence interval of the true epsilon, where the estimate is of one.
  std::vector<double> bootstrap(const std::function<double(const CanaryScoreAuditor&)>& estimate,
                                const BootstrapParams& params = {}) const;

 private:
  // Counts at a threshold, of scores below it.
  struct Counts {
    double threshold;
    int64_t false_negatives, true_negatives;
  };
  // A bound and the threshold that gives it.
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
  // At those thresholds that no mixture of two others beats, increasing; the first below all
  // scores, the last above them, infinity.
  std::vector<Counts> frontier_;
};

}  // namespace tessera::privacy::auditing
