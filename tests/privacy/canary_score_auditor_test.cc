#include "tessera/privacy/auditing/canary_score_auditor.h"

#include "../golden/golden.h"
#include "tessera/privacy/batch_selection/counter_stream.h"

namespace tessera::privacy::auditing::canary_score_auditor_test {
namespace {

using golden::Json;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Scores = std::vector<double>;

double value_of(const CanaryScoreAuditor& auditor, const std::string& method, const Json& o) {
  ThresholdStrategy strategy = Bonferroni{};
  if (o.contains("threshold")) strategy = Explicit{o["threshold"]};
  const double delta = o.value("delta", 0.0);
  const bool one_sided = o.value("one_sided", true);
  if (method == "epsilon_clopper_pearson")
    return auditor.epsilon_clopper_pearson({.significance = o["significance"],
                                            .delta = delta,
                                            .one_sided = one_sided,
                                            .threshold_strategy = strategy});
  if (method == "epsilon_one_run" || method == "epsilon_one_run_fdp") {
    const OneRunOptions options{
        .significance = o["significance"], .delta = delta, .threshold_strategy = strategy};
    return method == "epsilon_one_run" ? auditor.epsilon_one_run(options)
                                       : auditor.epsilon_one_run_fdp(options);
  }
  if (method == "epsilon_from_gdp")
    return auditor.epsilon_from_gdp({.significance = o["significance"], .delta = delta});
  if (method == "epsilon_raw_counts")
    return auditor.epsilon_raw_counts(
        {.min_count = o["min_count"], .delta = delta, .one_sided = one_sided});
  if (method == "tpr_at_given_fpr") return auditor.tpr_at_given_fpr(o["fpr"].get<double>());
  if (method == "attack_auroc") return auditor.attack_auroc();
  return auditor.max_accuracy(
      {.prevalence = o.value("prevalence", -1.0), .significance = o.value("significance", 0.0)});
}

TEST(CanaryScoreAuditor, AgreesWithTheReference) {
  const golden::Topic topic("auditing");
  std::map<std::string, CanaryScoreAuditor> auditors;
  for (const auto& [name, scores] : topic["scores"].items())
    auditors.emplace(name, CanaryScoreAuditor(scores["in"].get<std::vector<double>>(),
                                              scores["out"].get<std::vector<double>>()));
  for (const Json& c : topic["cases"]) {
    const double expected = c["value"];
    EXPECT_NEAR(value_of(auditors.at(c["scores"]), c["method"], c["options"]), expected,
                1e-9 * std::max(std::abs(expected), 1e-3))
        << c;
  }
}

// jax_privacy's example.
TEST(CanaryScoreAuditor, ReadsArrays) {
  const Array out = astype(arange(100), float32);
  const CanaryScoreAuditor auditor(out + 9.5, out);
  EXPECT_NEAR(auditor.tpr_at_given_fpr(0.01), 0.11, 1e-12);
  EXPECT_NEAR(auditor.attack_auroc(), 0.595, 1e-12);
  EXPECT_THAT(auditor.tpr_at_given_fpr(std::vector<double>{0, 0.01, 1}),
              testing::ElementsAre(testing::DoubleEq(0.1), testing::DoubleEq(0.11), 1));
  const CanaryScoreAuditor half(astype(out, bfloat16), arange(100));
  EXPECT_NEAR(half.attack_auroc(), 0.5, 1e-12);
}

TEST(CanaryScoreAuditor, TakesInfiniteScores) {
  const double infinity = std::numeric_limits<double>::infinity();
  const CanaryScoreAuditor auditor({1, infinity, infinity}, {-infinity, 0, 1});
  EXPECT_NEAR(auditor.attack_auroc(), 8.5 / 9, 1e-12);
  EXPECT_EQ(auditor.tpr_at_given_fpr(1), 1);
}

// Returns scores of a Gaussian mechanism with mu = 1.
CanaryScoreAuditor gaussian(size_t size) {
  const batch_selection::internal::CounterStream stream(1, 2);
  std::vector<double> in, out;
  for (size_t i = 0; i < 2 * size; ++i) {
    double sum = -6;  // the sum of 12 uniform numbers is nearly normal
    for (size_t j = 0; j < 12; ++j)
      sum += static_cast<double>(stream.word(12 * i + j) >> 11) * 0x1p-53;
    (i < size ? in : out).push_back(i < size ? sum + 1 : sum);
  }
  return {in, out};
}

// Bounds stay below the true epsilon(mu = 1, delta = 1e-2), however the threshold is chosen.
TEST(CanaryScoreAuditor, StrategiesBoundTheSameEpsilon) {
  const CanaryScoreAuditor auditor = gaussian(1500);
  const double delta = 1e-2, truth = 2.2;
  for (const ThresholdStrategy& strategy : std::vector<ThresholdStrategy>{
           Bonferroni{}, Explicit{1.5}, Split{.seed = 3}, MultiSplit{.num_samples = 9}}) {
    const double bounds[] = {
        auditor.epsilon_clopper_pearson({.delta = delta, .threshold_strategy = strategy}),
        auditor.epsilon_one_run({.delta = 1e-5, .threshold_strategy = strategy}),
        auditor.epsilon_one_run_fdp({.delta = delta, .threshold_strategy = strategy})};
    for (const double bound : bounds) {
      EXPECT_GT(bound, 0.3) << strategy.index();
      EXPECT_LT(bound, truth) << strategy.index();
    }
  }
}

TEST(CanaryScoreAuditor, SplitsAreFunctionsOfTheSeed) {
  const CanaryScoreAuditor auditor = gaussian(200);
  const auto bound = [&](ThresholdStrategy s) {
    return auditor.epsilon_clopper_pearson({.threshold_strategy = s});
  };
  EXPECT_EQ(bound(Split{.seed = 1}), bound(Split{.seed = 1}));
  EXPECT_NE(bound(Split{.seed = 1}), bound(Split{.seed = 2}));
  EXPECT_EQ(bound(MultiSplit{.num_samples = 4, .seed = 1}),
            bound(MultiSplit{.num_samples = 4, .seed = 1}));
}

// The area under the curve of two normals one deviation apart is 0.760; its deviation for 200
// canaries is about 0.024.
TEST(CanaryScoreAuditor, BootstrapSpansTheEstimate) {
  const CanaryScoreAuditor auditor = gaussian(200);
  const auto area = [](const CanaryScoreAuditor& a) { return a.attack_auroc(); };
  for (const BootstrapParams& params :
       {BootstrapParams{.num_samples = 400, .bias_correction = false},
        BootstrapParams{.num_samples = 400},
        BootstrapParams{.num_samples = 400, .acceleration = true},
        confidence_interval(0.95, {.num_samples = 400, .seed = 7})}) {
    const std::vector<double> interval = auditor.bootstrap(area, params);
    ASSERT_EQ(interval.size(), 2u);
    EXPECT_LT(interval[0], auditor.attack_auroc());
    EXPECT_GT(interval[1], auditor.attack_auroc());
    EXPECT_NEAR(interval[1] - interval[0], 4 * 0.0235, 0.03);
    EXPECT_EQ(auditor.bootstrap(area, params), interval);
  }
}

TEST(CanaryScoreAuditor, JackknifeKeepsTheLastOfItsKind) {
  const CanaryScoreAuditor auditor(Scores{1}, Scores{0});
  EXPECT_THAT(auditor.bootstrap([](const auto& a) { return a.attack_auroc(); },
                                {.num_samples = 5, .acceleration = true}),
              testing::ElementsAre(1, 1));
}

template <class Call>
void expect_error(Call call, const char* text) {
  EXPECT_THAT(call, ThrowsMessage<UserError>(HasSubstr(text)));
}

TEST(CanaryScoreAuditor, BadScoresAreErrors) {
  const Scores none, one{1}, nan{std::nan("")};
  expect_error([&] { CanaryScoreAuditor(none, one); },
               "[CanaryScoreAuditor] expected at least one held-in score, got none");
  expect_error([&] { CanaryScoreAuditor(one, none); }, "expected at least one held-out score");
  expect_error([&] { CanaryScoreAuditor(one, nan); },
               "expected held-out scores that are numbers, got NaN");
  expect_error(
      [] {
        CanaryScoreAuditor(zeros({2, 2}), zeros({2}));
      },
      "expected scores of one dimension, got float32[2,2]");
  expect_error([] { CanaryScoreAuditor(zeros({2}, complex64), zeros({2})); },
               "expected scores that are real, got complex64[2]");
}

TEST(CanaryScoreAuditor, BadOptionsAreErrors) {
  const CanaryScoreAuditor a(Scores{1, 2}, Scores{0, 1});
  expect_error([&] { a.epsilon_clopper_pearson({.significance = 0.5}); },
               "expected a significance in (0, 0.5), got 0.5");
  expect_error([&] { a.epsilon_clopper_pearson({.delta = -1}); },
               "expected a delta in [0, 1], got -1");
  expect_error([&] { a.epsilon_one_run({.delta = 0}); }, "expected a delta in (0, 1], got 0");
  expect_error([&] { a.epsilon_one_run({.significance = 1}); },
               "expected a significance in (0, 1)");
  expect_error([&] { a.epsilon_one_run_fdp({.delta = 2}); }, "expected a delta in (0, 1], got 2");
  expect_error([&] { a.epsilon_one_run_fdp({.significance = 0}); }, "expected a significance");
  expect_error([&] { a.epsilon_from_gdp({.significance = std::nan("")}); },
               "expected a significance in (0, 0.5), got nan");
  expect_error([&] { a.epsilon_from_gdp({.delta = 0}); }, "expected a delta in (0, 1]");
  expect_error([&] { a.epsilon_raw_counts({.min_count = 0}); },
               "expected a min_count of at least 1, got 0");
  expect_error([&] { a.epsilon_raw_counts({.delta = 1.5}); }, "expected a delta in [0, 1]");
  expect_error([&] { a.tpr_at_given_fpr(1.5); }, "expected an fpr in [0, 1], got 1.5");
  expect_error([&] { a.max_accuracy({.prevalence = 2}); },
               "expected a prevalence in [0, 1], got 2");
  expect_error([&] { a.max_accuracy({.significance = 1}); }, "expected a significance in [0, 1)");
}

TEST(CanaryScoreAuditor, BadStrategiesAreErrors) {
  const CanaryScoreAuditor a(Scores{1, 2}, Scores{0});
  const auto with = [&](ThresholdStrategy s) {
    return [&a, s] { a.epsilon_clopper_pearson({.threshold_strategy = s}); };
  };
  expect_error(with(Explicit{std::nan("")}), "expected a threshold that is a number, got NaN");
  expect_error(with(Split{.threshold_estimation_frac = 1}),
               "expected a threshold_estimation_frac in (0, 1), got 1");
  expect_error(with(Split{}), "expected scores of which a share of 0.5 leaves some in both parts");
  expect_error(with(MultiSplit{.num_samples = 0}), "expected num_samples of at least 1, got 0");
}

TEST(CanaryScoreAuditor, BadBootstrapsAreErrors) {
  const CanaryScoreAuditor a(Scores{1, 2}, Scores{0});
  const auto with = [&](BootstrapParams p) {
    return [&a, p] { a.bootstrap([](const auto& b) { return b.attack_auroc(); }, p); };
  };
  expect_error(with({.num_samples = 0}), "expected num_samples of at least 1, got 0");
  expect_error(with({.quantiles = {}}), "expected some quantiles, got none");
  expect_error(with({.quantiles = {0.5, 1}}), "expected quantiles in (0, 1), got 1");
  expect_error(with({.bias_correction = false, .acceleration = true}),
               "expected acceleration with bias_correction");
  expect_error([] { confidence_interval(1); }, "expected a confidence in (0, 1), got 1");
}

}  // namespace
}  // namespace tessera::privacy::auditing::canary_score_auditor_test
