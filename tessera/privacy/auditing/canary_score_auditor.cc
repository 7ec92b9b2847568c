#include "tessera/privacy/auditing/canary_score_auditor.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/base/visit_dtype.h"
#include "tessera/ir/format.h"
#include "tessera/privacy/auditing/binomial.h"
#include "tessera/privacy/auditing/bootstrap.h"
#include "tessera/privacy/auditing/gaussian_privacy.h"
#include "tessera/privacy/auditing/one_run.h"
#include "tessera/privacy/batch_selection/counter_stream.h"
#include "tessera/privacy/batch_selection/subset.h"
#include "tessera/privacy/infinity.h"

namespace tessera::privacy::auditing {

using batch_selection::internal::CounterStream;

namespace {

constexpr const char* kCanaryScoreAuditorOp = "CanaryScoreAuditor";

std::vector<double> checked_scores(const char* which, std::vector<double> scores) {
  if (scores.empty())
    value_error(kCanaryScoreAuditorOp,
                "expected at least one {} score, got none; audit with canaries of both kinds",
                which);
  for (const double score : scores)
    if (std::isnan(score))
      value_error(kCanaryScoreAuditorOp,
                  "expected {} scores that are numbers, got NaN; score such canaries lowest",
                  which);
  std::sort(scores.begin(), scores.end());
  return scores;
}

std::vector<double> scores_of(const Array& scores) {
  if (scores.ndim() != 1)
    value_error(kCanaryScoreAuditorOp, "expected scores of one dimension, got {}; flatten them",
                ir::describe(scores.type()));
  const Literal host = scores.to_host();
  std::vector<double> out;
  visit_dtype(host.dtype(), [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
      for (int64_t i = 0; i < host.elements(); ++i)
        out.push_back(static_cast<float>(host.data<T>()[i]));
    } else if constexpr (std::is_arithmetic_v<T>) {
      out.assign(host.data<T>(), host.data<T>() + host.elements());
    } else {
      value_error(kCanaryScoreAuditorOp,
                  "expected scores that are real, got {}; take their absolute values",
                  ir::describe(scores.type()));
    }
  });
  return out;
}

// Throws UserError unless the value is in (low, high), or at an end that is `closed`.
void check_range(const char* what, double value, double low, double high, bool low_closed,
                 bool high_closed) {
  if ((low_closed ? value >= low : value > low) && (high_closed ? value <= high : value < high))
    return;
  value_error(kCanaryScoreAuditorOp, "expected {} in {}{}, {}{}, got {}; it is a probability", what,
              low_closed ? "[" : "(", low, high, high_closed ? "]" : ")", value);
}

CounterStream stream(uint64_t seed, uint64_t sample) {
  return CounterStream(static_cast<uint32_t>(seed >> 32), static_cast<uint32_t>(seed))
      .child(sample);
}

// Returns a random subset of the scores, and the rest.
std::pair<std::vector<double>, std::vector<double>> split_scores(const std::vector<double>& scores,
                                                                 double frac,
                                                                 const CounterStream& stream) {
  const auto size = static_cast<int64_t>(scores.size());
  const auto first = static_cast<int64_t>(static_cast<double>(size) * frac);
  if (first == 0 || first == size)
    value_error(kCanaryScoreAuditorOp,
                "expected scores of which a share of {} leaves some in both parts, got {}; use "
                "more canaries, or Bonferroni",
                frac, size);
  std::pair<std::vector<double>, std::vector<double>> out;
  int64_t at = 0;
  for (const int64_t chosen : batch_selection::internal::uniform_subset(size, first, stream)) {
    for (; at < chosen; ++at) out.second.push_back(scores[static_cast<size_t>(at)]);
    out.first.push_back(scores[static_cast<size_t>(at++)]);
  }
  out.second.insert(out.second.end(), scores.begin() + at, scores.end());
  return out;
}

std::vector<double> drawn(const std::vector<double>& scores, const CounterStream& stream) {
  const auto size = static_cast<int64_t>(scores.size());
  std::vector<double> out;
  for (const int64_t i : batch_selection::internal::uniform_draws(size, size, stream))
    out.push_back(scores[static_cast<size_t>(i)]);
  return out;
}

// Returns 0, 1, 2, 3, 4, 6, 8, 12, ... below n.
std::vector<int64_t> few_to_many(int64_t n) {
  std::vector<int64_t> out{0};
  for (int64_t power = 1; power < n; power *= 2) {
    out.push_back(power);
    if (power > 1 && power / 2 * 3 < n) out.push_back(power / 2 * 3);
  }
  return out;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return internal::quantile(values, 0.5);
}

// Returns the largest true positive rate at this false positive rate, of one threshold or of a
// random choice between two. tp and fp are the counts at the thresholds; both increase from 0 to
// all.
double tpr_at(double fpr, const std::vector<int64_t>& tp, const std::vector<int64_t>& fp) {
  const double target = fpr * static_cast<double>(fp.back());
  const auto above = std::upper_bound(fp.begin(), fp.end(), target, [](double x, int64_t count) {
    return x < static_cast<double>(count);
  });
  const size_t right = std::min(static_cast<size_t>(above - fp.begin()), fp.size() - 1);
  const auto at = [](const std::vector<int64_t>& counts, size_t i) {
    return static_cast<double>(counts[i]);
  };
  const double q = (target - at(fp, right - 1)) / (at(fp, right) - at(fp, right - 1));
  return std::lerp(at(tp, right - 1), at(tp, right), q) / at(tp, tp.size() - 1);
}

double raw_epsilon(const std::vector<int64_t>& tp, const std::vector<int64_t>& fp,
                   int64_t min_count, double delta) {
  const auto positives = static_cast<double>(tp.back()), negatives = static_cast<double>(fp.back());
  if (min_count >= fp.back()) return 0;
  const double min_fpr = static_cast<double>(min_count) / negatives;
  // The best rate may also be that of a random choice between two thresholds.
  const double tpr = tpr_at(min_fpr, tp, fp);
  double best = tpr > delta ? std::log(tpr - delta) - std::log(min_fpr) : 0;
  for (size_t i = 0; i < tp.size(); ++i) {
    const double rate = static_cast<double>(tp[i]) / positives;
    if (fp[i] >= min_count && rate > delta)
      best =
          std::max(best, std::log(rate - delta) - std::log(static_cast<double>(fp[i]) / negatives));
  }
  return std::max(best, 0.0);
}

}  // namespace

BootstrapParams confidence_interval(double confidence, BootstrapParams params) {
  check_range("a confidence", confidence, 0, 1, false, false);
  params.quantiles = {(1 - confidence) / 2, 1 - (1 - confidence) / 2};
  return params;
}

CanaryScoreAuditor::CanaryScoreAuditor(std::vector<double> in_canary_scores,
                                       std::vector<double> out_canary_scores)
    : in_(checked_scores("held-in", std::move(in_canary_scores))),
      out_(checked_scores("held-out", std::move(out_canary_scores))) {
  std::vector<double> thresholds;
  std::set_union(in_.begin(), in_.end(), out_.begin(), out_.end(), std::back_inserter(thresholds));
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  const auto add = [&](const Counts& next) {
    // Computes the upper hull (Andrew's monotone chain): a point on or below the line between its
    // neighbours is removed.
    const auto turns = [&](const Counts& a, const Counts& b) {
      return (b.true_negatives - a.true_negatives) * (next.false_negatives - b.false_negatives) >
             (next.true_negatives - b.true_negatives) * (b.false_negatives - a.false_negatives);
    };
    while (frontier_.size() > 1 && !turns(frontier_[frontier_.size() - 2], frontier_.back()))
      frontier_.pop_back();
    frontier_.push_back(next);
  };
  for (const double threshold : thresholds) add(counts_at(threshold));
  add({kInfinity, num_in(), num_out()});
}

CanaryScoreAuditor::CanaryScoreAuditor(const Array& in_canary_scores,
                                       const Array& out_canary_scores)
    : CanaryScoreAuditor(scores_of(in_canary_scores), scores_of(out_canary_scores)) {}

CanaryScoreAuditor::Counts CanaryScoreAuditor::counts_at(double threshold) const {
  const auto below = [&](const std::vector<double>& scores) {
    return std::lower_bound(scores.begin(), scores.end(), threshold) - scores.begin();
  };
  return {threshold, below(in_), below(out_)};
}

// Returns the thresholds of Bonferroni for rates: for each of several counts, the lowest threshold
// that at most so many held-out canaries pass. The thresholds do not depend on held-in scores, so
// the number of true positives of each is a binomial count. If ties let fewer held-out canaries
// pass than the count allows, the count is taken as their number all the same. This is safe: if the
// true rate of a threshold is above the bound for the count, then at most that many canaries passed
// a threshold with a rate of at least the bound, which has at most the probability of one
// Clopper-Pearson bound.
std::vector<CanaryScoreAuditor::Counts> CanaryScoreAuditor::rate_thresholds(bool both_ends) const {
  std::vector<int64_t> passing = few_to_many(num_out());
  if (both_ends)
    for (const int64_t count : few_to_many(num_out())) passing.push_back(num_out() - count);
  std::sort(passing.begin(), passing.end());
  passing.erase(std::unique(passing.begin(), passing.end()), passing.end());
  std::vector<Counts> out;
  for (const int64_t count : passing) {
    if (count == num_out()) continue;  // all scores pass: no evidence
    const double excluded = out_[static_cast<size_t>(num_out() - 1 - count)];
    const auto missed = std::upper_bound(in_.begin(), in_.end(), excluded) - in_.begin();
    out.push_back({std::nextafter(excluded, kInfinity), missed, num_out() - count});
  }
  return out;
}

// Returns the thresholds of Bonferroni for guesses: for each of several counts, the lowest
// threshold that at most so many canaries pass, held in or out. The thresholds depend on the scores
// of all canaries together, not on which were held in.
std::vector<CanaryScoreAuditor::Counts> CanaryScoreAuditor::guess_thresholds() const {
  std::vector<double> all;
  std::merge(in_.begin(), in_.end(), out_.begin(), out_.end(), std::back_inserter(all));
  std::vector<Counts> out;
  for (const int64_t guesses : few_to_many(num_canaries())) {
    const double excluded = all[static_cast<size_t>(num_canaries() - 1 - guesses)];
    const Counts at = counts_at(std::nextafter(excluded, kInfinity));
    const bool none = at.false_negatives == num_in() && at.true_negatives == num_out();
    if (!none && (out.empty() || out.back().threshold != at.threshold)) out.push_back(at);
  }
  return out;
}

// Returns the counts of true and false positives along the frontier, increasing.
std::pair<std::vector<int64_t>, std::vector<int64_t>> CanaryScoreAuditor::positives() const {
  std::pair<std::vector<int64_t>, std::vector<int64_t>> out;
  for (auto c = frontier_.rbegin(); c != frontier_.rend(); ++c) {
    out.first.push_back(num_in() - c->false_negatives);
    out.second.push_back(num_out() - c->true_negatives);
  }
  return out;
}

CanaryScoreAuditor::Bound CanaryScoreAuditor::clopper_pearson(const Question& question,
                                                              std::span<const Counts> at) const {
  const double significance = question.significance / 2;  // divided between two rates
  Bound best{0, kInfinity};
  // Updates `best` from `hits` among `all` canaries of one kind and `alarms` among the `others`.
  const auto consider = [&](const Counts& c, int64_t hits, int64_t all, int64_t alarms,
                            int64_t others) {
    const double rate = internal::clopper_pearson_lower(hits, all, significance);
    if (!(rate > question.delta)) return;
    const double epsilon = std::log(rate - question.delta) -
                           std::log(internal::clopper_pearson_upper(alarms, others, significance));
    if (epsilon > best.epsilon) best = {epsilon, c.threshold};
  };
  for (const Counts& c : at) {
    const int64_t fn = c.false_negatives, tn = c.true_negatives;
    consider(c, num_in() - fn, num_in(), num_out() - tn, num_out());
    if (!question.one_sided) consider(c, tn, num_out(), fn, num_in());
  }
  return best;
}

CanaryScoreAuditor::Bound CanaryScoreAuditor::one_run(const Question& question,
                                                      std::span<const Counts> at) const {
  const auto epsilon = question.method == Method::kOneRunFdp ? internal::epsilon_one_run_fdp
                                                             : internal::epsilon_one_run;
  // The most precise candidates come first, so that later ones can be skipped.
  struct Candidate {
    internal::Guesses guesses;
    double threshold, precision;
  };
  std::vector<Candidate> candidates;
  for (const Counts& c : at) {
    const int64_t correct = num_in() - c.false_negatives;
    const int64_t guesses = correct + num_out() - c.true_negatives;
    candidates.push_back(
        {{num_canaries(), guesses, correct},
         c.threshold,
         internal::clopper_pearson_lower(correct, guesses, question.significance)});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.precision > b.precision; });
  Bound best{0, kInfinity};
  for (const Candidate& c : candidates) {
    // Guesses that are right no more often than the best epsilon so far allows on average exclude
    // no larger epsilon.
    const double allowed = 1 / (1 + std::exp(-best.epsilon));
    if (question.method == Method::kOneRun &&
        static_cast<double>(c.guesses.correct) <= static_cast<double>(c.guesses.guesses) * allowed)
      continue;
    const double found = epsilon(c.guesses, best.epsilon, question.significance, question.delta);
    if (found > best.epsilon) best = {found, c.threshold};
  }
  return best;
}

CanaryScoreAuditor::Bound CanaryScoreAuditor::bound(const Question& question,
                                                    std::span<const Counts> at) const {
  switch (question.method) {
    case Method::kClopperPearson:
      return clopper_pearson(question, at);
    case Method::kOneRun:
    case Method::kOneRunFdp:
      break;
  }
  return one_run(question, at);
}

std::pair<CanaryScoreAuditor, CanaryScoreAuditor> CanaryScoreAuditor::split(double frac,
                                                                            uint64_t seed,
                                                                            uint64_t sample) const {
  check_range("a threshold_estimation_frac", frac, 0, 1, false, false);
  const CounterStream draws = stream(seed, sample);
  auto in = split_scores(in_, frac, draws.child(0));
  auto out = split_scores(out_, frac, draws.child(1));
  return {CanaryScoreAuditor(std::move(in.first), std::move(out.first)),
          CanaryScoreAuditor(std::move(in.second), std::move(out.second))};
}

double CanaryScoreAuditor::split_bound(Question question, double frac, uint64_t seed,
                                       uint64_t sample) const {
  const auto [first, second] = split(frac, seed, sample);
  const double threshold = first.bound(question, first.frontier_).threshold;
  const Counts at = second.counts_at(threshold);
  return second.bound(question, std::span(&at, 1)).epsilon;
}

double CanaryScoreAuditor::answer(Question question, const ThresholdStrategy& strategy) const {
  if (std::holds_alternative<Bonferroni>(strategy)) {
    const std::vector<Counts> at = question.method == Method::kClopperPearson
                                       ? rate_thresholds(!question.one_sided)
                                       : guess_thresholds();
    question.significance /= std::max(static_cast<double>(at.size()), 1.0);
    return bound(question, at).epsilon;
  }
  if (const auto* one = std::get_if<Explicit>(&strategy)) {
    if (std::isnan(one->threshold))
      value_error(kCanaryScoreAuditorOp,
                  "expected a threshold that is a number, got NaN; take one among the scores");
    const Counts at = counts_at(one->threshold);
    return bound(question, std::span(&at, 1)).epsilon;
  }
  if (const auto* split = std::get_if<Split>(&strategy))
    return split_bound(question, split->threshold_estimation_frac, split->seed, 0);
  const auto& many = std::get<MultiSplit>(strategy);
  if (many.num_samples < 1)
    value_error(kCanaryScoreAuditorOp,
                "expected num_samples of at least 1, got {}; the bound is their median",
                many.num_samples);
  question.significance /= 2;
  std::vector<double> values;
  for (int64_t i = 0; i < many.num_samples; ++i)
    values.push_back(
        split_bound(question, many.threshold_estimation_frac, many.seed, static_cast<uint64_t>(i)));
  return median(std::move(values));
}

double CanaryScoreAuditor::epsilon_clopper_pearson(const ClopperPearsonOptions& o) const {
  check_range("a significance", o.significance, 0, 0.5, false, false);
  check_range("a delta", o.delta, 0, 1, true, true);
  return answer({Method::kClopperPearson, o.significance, o.delta, o.one_sided},
                o.threshold_strategy);
}

double CanaryScoreAuditor::epsilon_one_run(const OneRunOptions& o) const {
  check_range("a significance", o.significance, 0, 1, false, false);
  check_range("a delta", o.delta, 0, 1, false, true);
  return answer({Method::kOneRun, o.significance, o.delta}, o.threshold_strategy);
}

double CanaryScoreAuditor::epsilon_one_run_fdp(const OneRunOptions& o) const {
  check_range("a significance", o.significance, 0, 1, false, false);
  check_range("a delta", o.delta, 0, 1, false, true);
  return answer({Method::kOneRunFdp, o.significance, o.delta}, o.threshold_strategy);
}

double CanaryScoreAuditor::epsilon_from_gdp(const GdpOptions& o) const {
  check_range("a significance", o.significance, 0, 0.5, false, false);
  check_range("a delta", o.delta, 0, 1, false, true);
  const std::vector<Counts> thresholds = rate_thresholds(true);
  const double significance = o.significance / (2 * static_cast<double>(thresholds.size()));
  double mu = 0;
  for (const Counts& c : thresholds) {
    const double fnr = internal::clopper_pearson_upper(c.false_negatives, num_in(), significance);
    const double fpr =
        internal::clopper_pearson_upper(num_out() - c.true_negatives, num_out(), significance);
    if (std::max(fnr, fpr) >= 1 - o.delta) continue;
    // Equation 6 of arXiv 1905.02383. It is negative if the bounds of the rates add up to more than
    // 1, which proves nothing about the mechanism.
    mu = std::max(mu, -(internal::normal_quantile(fpr) + internal::normal_quantile(fnr)));
  }
  return mu == 0 ? 0 : std::min(internal::epsilon_of(mu, o.delta), 100.0);
}

double CanaryScoreAuditor::epsilon_raw_counts(const RawCountsOptions& o) const {
  if (o.min_count < 1)
    value_error(kCanaryScoreAuditorOp,
                "expected a min_count of at least 1, got {}; a rate needs a count", o.min_count);
  check_range("a delta", o.delta, 0, 1, true, true);
  const auto [tp, fp] = positives();
  const double epsilon = raw_epsilon(tp, fp, o.min_count, o.delta);
  if (o.one_sided) return epsilon;
  // The same for the attack that takes low scores for held in.
  std::vector<int64_t> tn, fn;
  for (const Counts& c : frontier_) {
    tn.push_back(c.true_negatives);
    fn.push_back(c.false_negatives);
  }
  return std::max(epsilon, raw_epsilon(tn, fn, o.min_count, o.delta));
}

double CanaryScoreAuditor::tpr_at_given_fpr(double fpr) const {
  check_range("an fpr", fpr, 0, 1, true, true);
  const auto [tp, fp] = positives();
  return tpr_at(fpr, tp, fp);
}

std::vector<double> CanaryScoreAuditor::tpr_at_given_fpr(std::span<const double> fpr) const {
  std::vector<double> out;
  for (const double rate : fpr) out.push_back(tpr_at_given_fpr(rate));
  return out;
}

double CanaryScoreAuditor::attack_auroc() const {
  // This is twice the area, by trapezoids.
  double area = 0;
  for (size_t i = 1; i < frontier_.size(); ++i) {
    const Counts &a = frontier_[i - 1], &b = frontier_[i];
    area += static_cast<double>(a.true_negatives + b.true_negatives) *
            static_cast<double>(b.false_negatives - a.false_negatives);
  }
  return area / 2 / static_cast<double>(num_in()) / static_cast<double>(num_out());
}

double CanaryScoreAuditor::max_accuracy(const MaxAccuracyOptions& o) const {
  const auto in = static_cast<double>(num_in()), out = static_cast<double>(num_out());
  const double prevalence = o.prevalence == -1 ? in / (in + out) : o.prevalence;
  check_range("a prevalence", prevalence, 0, 1, true, true);
  check_range("a significance", o.significance, 0, 1, true, false);
  const auto rate = [&](int64_t count, int64_t all) {
    if (o.significance == 0) return static_cast<double>(count) / static_cast<double>(all);
    return internal::clopper_pearson_upper(count, all, o.significance / 2);
  };
  double best = 0;
  for (const Counts& c : frontier_)
    best = std::max(best, rate(num_in() - c.false_negatives, num_in()) * prevalence +
                              rate(c.true_negatives, num_out()) * (1 - prevalence));
  return best;
}

CanaryScoreAuditor CanaryScoreAuditor::resampled(uint64_t seed, uint64_t sample) const {
  const CounterStream draws = stream(seed, sample);
  return {drawn(in_, draws.child(0)), drawn(out_, draws.child(1))};
}

// Returns the estimates that leave out one canary each. A canary that is the only one of its kind
// is never left out.
std::vector<double> CanaryScoreAuditor::jackknife(
    const std::function<double(const CanaryScoreAuditor&)>& estimate) const {
  const auto without = [](std::vector<double> scores, size_t i) {
    scores.erase(scores.begin() + static_cast<std::ptrdiff_t>(i));
    return scores;
  };
  std::vector<double> out;
  for (size_t i = 0; i < in_.size() && in_.size() > 1; ++i)
    out.push_back(estimate({without(in_, i), out_}));
  for (size_t i = 0; i < out_.size() && out_.size() > 1; ++i)
    out.push_back(estimate({in_, without(out_, i)}));
  return out;
}

std::vector<double> CanaryScoreAuditor::bootstrap(
    const std::function<double(const CanaryScoreAuditor&)>& estimate,
    const BootstrapParams& params) const {
  if (params.num_samples < 1)
    value_error(kCanaryScoreAuditorOp,
                "expected num_samples of at least 1, got {}; quantiles are of as many values",
                params.num_samples);
  if (params.quantiles.empty())
    value_error(kCanaryScoreAuditorOp,
                "expected some quantiles, got none; 0.025 and 0.975 span 95 %");
  for (const double q : params.quantiles) check_range("quantiles", q, 0, 1, false, false);
  if (params.acceleration && !params.bias_correction)
    value_error(kCanaryScoreAuditorOp,
                "expected acceleration with bias_correction, got it without; set both, or none");
  std::vector<double> values;
  for (int64_t i = 0; i < params.num_samples; ++i)
    values.push_back(estimate(resampled(params.seed, static_cast<uint64_t>(i))));
  std::sort(values.begin(), values.end());
  std::vector<double> quantiles = params.quantiles;
  if (params.bias_correction) {
    const double a = params.acceleration ? internal::acceleration(jackknife(estimate)) : 0;
    quantiles = internal::corrected_quantiles(values, estimate(*this), a, quantiles);
  }
  for (double& q : quantiles) q = internal::quantile(values, q);
  return quantiles;
}

}  // namespace tessera::privacy::auditing
