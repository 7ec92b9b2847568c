// Simulated audits of mechanisms whose epsilon is known: a bound may be above it in no more runs
// than its significance allows. TESSERA_AUDIT_RUNS changes the number of runs (docs/testing.md).
#include <cmath>
#include <cstdlib>
#include <random>

#include "tessera/privacy/auditing/binomial.h"
#include "tessera/privacy/auditing/canary_score_auditor.h"
#include "tessera/privacy/auditing/gaussian_privacy.h"

namespace tessera::privacy::auditing::audit_coverage_test {
namespace {

using Random = std::mt19937_64;

constexpr double kSignificance = 0.05, kDelta = 0.1;
constexpr int64_t kRuns = 1140;

int64_t runs(int64_t otherwise) {
  const char* text = std::getenv("TESSERA_AUDIT_RUNS");
  return text ? std::max<int64_t>(std::atoll(text), 1) : otherwise;
}

// A mechanism: the score of a canary that is held in or out, and the mechanism's epsilon.
struct Mechanism {
  const char* name;
  double (*score)(Random&, bool held_in);
  double epsilon;
  double delta;  // the delta of the bounds
};

// mu-GDP, as tight as it can be: the score is the canary's own release.
template <int kTenthsOfMu>
double gaussian(Random& random, bool held_in) {
  return std::normal_distribution<double>(held_in ? kTenthsOfMu / 10.0 : 0, 1)(random);
}
// Laplace noise of scale 1 on values 1 apart: every threshold above both has TPR / FPR = e.
double laplace(Random& random, bool held_in) {
  const double size = std::exponential_distribution<double>(1)(random);
  return (std::bernoulli_distribution(0.5)(random) ? size : -size) + (held_in ? 1 : 0);
}
// Like laplace, but scores below 0 become 0: many ties.
double truncated_laplace(Random& random, bool held_in) {
  return std::max(0.0, std::floor(2 * laplace(random, held_in)) / 2);
}
// Randomized response with epsilon 1.
double response(Random& random, bool held_in) {
  const bool truth = std::bernoulli_distribution(std::exp(1.0) / (1 + std::exp(1.0)))(random);
  return truth == held_in ? 1 : 0;
}

// Returns the auditor of a run, in which every canary is held in with probability 1/2.
CanaryScoreAuditor audited(const Mechanism& mechanism, int64_t canaries, uint64_t run) {
  std::seed_seq seed{uint64_t{20260727}, run};
  Random random(seed);
  std::vector<double> in, out;
  while (in.empty() || out.empty()) {
    in.clear(), out.clear();
    for (int64_t i = 0; i < canaries; ++i) {
      const bool held_in = std::bernoulli_distribution(0.5)(random);
      (held_in ? in : out).push_back(mechanism.score(random, held_in));
    }
  }
  return {std::move(in), std::move(out)};
}

// Returns the most violations that are expected in so many runs of a valid bound: more have a
// probability below 1 in 1,000.
int64_t most_violations(int64_t count) {
  const double log_odds = std::log(kSignificance) - std::log1p(-kSignificance);
  int64_t most = 0;
  while (internal::binomial_tail(most + 1, count, log_odds) > 1e-3) ++most;
  return most;
}

struct Share {
  int64_t violations = 0, runs = 0;
  double mean = 0;  // the mean bound
};

template <class Bound>
Share simulate(const Mechanism& mechanism, int64_t canaries, int64_t count, const Bound& bound) {
  Share out{.runs = count};
  for (int64_t run = 0; run < count; ++run) {
    const double epsilon =
        bound(audited(mechanism, canaries, static_cast<uint64_t>(run)), static_cast<uint64_t>(run));
    out.violations += epsilon > mechanism.epsilon;
    out.mean += epsilon / static_cast<double>(count);
  }
  return out;
}

template <class Bound>
Share expect_coverage(const char* what, const Mechanism& mechanism, int64_t canaries, int64_t count,
                      const Bound& bound) {
  const Share share = simulate(mechanism, canaries, count, bound);
  EXPECT_LE(share.violations, most_violations(count))
      << what << " of " << mechanism.name << " with " << canaries << " canaries";
  if (std::getenv("TESSERA_AUDIT_RUNS"))
    std::cout << what << ", " << mechanism.name << ", " << canaries << " canaries: above "
              << mechanism.epsilon << " in " << share.violations << " of " << share.runs
              << " runs, " << share.mean << " on average\n";
  return share;
}

Mechanism gaussian_of(int tenths) {
  if (tenths == 0) return {"no signal", gaussian<0>, 0, 1e-9};
  return {"a Gaussian of mu = 1", gaussian<10>, internal::epsilon_of(1, kDelta), kDelta};
}
// A mechanism of pure differential privacy has the same epsilon at smaller deltas, so its bounds
// are asked for at a delta near 0.
const Mechanism kLaplace{"Laplace noise", laplace, 1, 1e-9};
const Mechanism kTies{"Laplace noise with ties", truncated_laplace, 1, 1e-9};
const Mechanism kResponse{"randomized response", response, 1, 1e-9};

std::vector<Mechanism> mechanisms() {
  return {gaussian_of(0), gaussian_of(10), kLaplace, kTies, kResponse};
}

double explicit_threshold(const Mechanism& mechanism) {
  return mechanism.score == response ? 0.5 : 1.0;
}

ThresholdStrategy strategy_of(size_t which, const Mechanism& mechanism, uint64_t run) {
  switch (which) {
    case 0:
      return Bonferroni{};
    case 1:
      return Explicit{explicit_threshold(mechanism)};
    case 2:
      return Split{.seed = run};
    default:
      return MultiSplit{.num_samples = 5, .seed = run};
  }
}
// A split needs more time, and several splits even more.
int64_t runs_of(size_t strategy) { return runs(strategy < 2 ? kRuns : strategy == 2 ? 500 : 150); }
constexpr const char* kStrategies[] = {"Bonferroni", "Explicit", "Split", "MultiSplit"};

TEST(AuditCoverage, ClopperPearson) {
  for (const Mechanism& mechanism : mechanisms())
    for (size_t which = 0; which < 4; ++which)
      for (const bool one_sided :
           which == 0 ? std::vector<bool>{true, false} : std::vector<bool>{true})
        expect_coverage(kStrategies[which], mechanism, 100, runs_of(which),
                        [&](const CanaryScoreAuditor& auditor, uint64_t run) {
                          return auditor.epsilon_clopper_pearson(
                              {.significance = kSignificance,
                               .delta = mechanism.delta,
                               .one_sided = one_sided,
                               .threshold_strategy = strategy_of(which, mechanism, run)});
                        });
}

TEST(AuditCoverage, OneRun) {
  for (const Mechanism& mechanism : mechanisms())
    for (size_t which = 0; which < 4; ++which)
      expect_coverage(kStrategies[which], mechanism, 100, runs_of(which),
                      [&](const CanaryScoreAuditor& auditor, uint64_t run) {
                        return auditor.epsilon_one_run(
                            {.significance = kSignificance,
                             .delta = mechanism.delta,
                             .threshold_strategy = strategy_of(which, mechanism, run)});
                      });
}

TEST(AuditCoverage, OneRunFdp) {
  for (const Mechanism& mechanism : {gaussian_of(0), gaussian_of(10)})
    for (size_t which = 0; which < 4; ++which)
      expect_coverage(kStrategies[which], mechanism, 60, runs_of(which),
                      [&](const CanaryScoreAuditor& auditor, uint64_t run) {
                        return auditor.epsilon_one_run_fdp(
                            {.significance = kSignificance,
                             .delta = mechanism.delta,
                             .threshold_strategy = strategy_of(which, mechanism, run)});
                      });
}

TEST(AuditCoverage, Gdp) {
  for (const int64_t canaries : {10, 40, 200})
    for (const int tenths : {0, 10})
      expect_coverage("from_gdp", gaussian_of(tenths), canaries, runs(kRuns),
                      [&](const CanaryScoreAuditor& auditor, uint64_t) {
                        return auditor.epsilon_from_gdp(
                            {.significance = kSignificance, .delta = gaussian_of(tenths).delta});
                      });
}

// Many canaries without a signal. The best of all thresholds is far above a share of the
// significance for each threshold on the hull of the curve: such a bound would be wrong in 7 % of
// the runs.
TEST(AuditCoverage, OneRunOfManyCanaries) {
  const Mechanism none{"no signal", gaussian<0>, 0, 1e-9};
  expect_coverage("Bonferroni", none, 5000, runs(300),
                  [&](const CanaryScoreAuditor& auditor, uint64_t) {
                    return auditor.epsilon_one_run({.significance = kSignificance, .delta = 1e-9});
                  });
}

// The tests above find invalid bounds: bounds at a significance that is too large, and a bound at a
// threshold that was chosen by the same scores.
TEST(AuditCoverage, FindsWhatIsNoBound) {
  const auto count = [](const Mechanism& mechanism, double significance,
                        const ThresholdStrategy& strategy) {
    return simulate(
               mechanism, 100, kRuns,
               [&](const CanaryScoreAuditor& auditor, uint64_t) {
                 return auditor.epsilon_one_run(
                     {.significance = significance, .delta = 1e-9, .threshold_strategy = strategy});
               })
        .violations;
  };
  EXPECT_GT(count(kResponse, 0.15, Explicit{0.5}), most_violations(kRuns));
  EXPECT_GT(count(kLaplace, 0.15, Explicit{1}), most_violations(kRuns));
  const Mechanism none{"no signal", gaussian<0>, 0, 1e-9};
  const auto chosen = [](const CanaryScoreAuditor& auditor, uint64_t) {
    double best = 0;
    for (int i = -10; i <= 10; ++i)
      best = std::max(best, auditor.epsilon_one_run({.significance = kSignificance,
                                                     .delta = 1e-9,
                                                     .threshold_strategy = Explicit{0.2 * i}}));
    return best;
  };
  EXPECT_GT(simulate(none, 400, kRuns, chosen).violations, most_violations(kRuns));
}

// The upper bound of the accuracy is below the accuracy of the best threshold, Phi(mu / 2), in as
// few runs.
TEST(AuditCoverage, MaxAccuracy) {
  const double truth = internal::normal_cdf(0.5);
  const Share share =
      simulate({"a Gaussian of mu = 1", gaussian<10>, -truth, 0}, 200, runs(kRuns),
               [&](const CanaryScoreAuditor& auditor, uint64_t) {
                 return -auditor.max_accuracy({.prevalence = 0.5, .significance = kSignificance});
               });
  EXPECT_LE(share.violations, most_violations(share.runs));
}

}  // namespace
}  // namespace tessera::privacy::auditing::audit_coverage_test
