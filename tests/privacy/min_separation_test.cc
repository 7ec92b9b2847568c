#include "tessera/privacy/batch_selection/min_separation.h"

namespace tessera::privacy::batch_selection::internal::min_separation_test {
namespace {

MinSeparationProcess process(const MinSeparation& law) {
  return {law, CounterStream(1, 2).child(0), CounterStream(1, 2).child(1)};
}

// A step that is computed directly equals the step that follows from all steps before it: for fast
// coupling, slow coupling (p near 1: many turns), none (the first steps), p = 0 and p = 1.
TEST(MinSeparation, AStepDoesNotNeedThoseBefore) {
  for (const double p : {0.0, 0.01, 0.2, 0.5, 0.9, 1.0}) {
    for (const int64_t b : {1, 2, 5, 40}) {
      for (const bool warm : {true, false}) {
        const MinSeparation law{
            .num_examples = 300, .sampling_prob = p, .min_sep = b, .warm_start = warm};
        MinSeparationProcess ordered = process(law), random = process(law);
        std::vector<std::vector<int64_t>> batches;
        for (int64_t step = 0; step < 1500; ++step) batches.push_back(ordered.sampled(step));
        for (const int64_t step : {1450, 0, 1, 7, 1499, 81, 82, 39})
          EXPECT_EQ(random.sampled(step), batches[static_cast<size_t>(step)])
              << "p=" << p << " b=" << b << " warm=" << warm << " step=" << step;
      }
    }
  }
}

TEST(MinSeparation, ExamplesAreApart) {
  MinSeparationProcess p =
      process({.num_examples = 300, .sampling_prob = 0.4, .min_sep = 6, .warm_start = true});
  std::map<int64_t, int64_t> last;
  for (int64_t step = 0; step < 200; ++step) {
    for (const int64_t i : p.sampled(step)) {
      if (last.contains(i)) {
        EXPECT_GE(step - last[i], 6);
      }
      last[i] = step;
    }
  }
  EXPECT_EQ(last.size(), 300u);
}

// From the first step on, an example is sampled with probability p / (1 + (b - 1) p), and again
// after b - 1 steps and a geometric wait.
TEST(MinSeparation, WarmStartsAreStationary) {
  constexpr int64_t kExamples = 200000, kSep = 4;
  constexpr double kP = 0.3;
  MinSeparationProcess p = process(
      {.num_examples = kExamples, .sampling_prob = kP, .min_sep = kSep, .warm_start = true});
  const double rate = kP / (1 + (kSep - 1) * kP);
  std::set<int64_t> first;  // sampled at step 0 and not since then
  std::map<int64_t, double> gaps;
  for (int64_t step = 0; step < 12; ++step) {
    const std::vector<int64_t> batch = p.sampled(step);
    EXPECT_NEAR(static_cast<double>(batch.size()), kExamples * rate,
                5 * std::sqrt(kExamples * rate * (1 - rate)))
        << step;
    if (step == 0) first.insert(batch.begin(), batch.end());
    for (const int64_t i : batch)
      if (step > 0 && first.erase(i) > 0) ++gaps[step];
  }
  const double started = kExamples * rate;
  for (int64_t gap = kSep; gap < kSep + 5; ++gap) {
    const double share = kP * std::pow(1 - kP, static_cast<double>(gap - kSep));
    EXPECT_NEAR(gaps[gap], started * share, 6 * std::sqrt(started * share)) << gap;
  }
}

TEST(MinSeparation, ColdStartsBeginWithEveryExampleEligible) {
  MinSeparationProcess p =
      process({.num_examples = 10000, .sampling_prob = 1, .min_sep = 3, .warm_start = false});
  EXPECT_EQ(p.sampled(0).size(), 10000u);
  EXPECT_TRUE(p.sampled(1).empty());
  EXPECT_TRUE(p.sampled(2).empty());
  EXPECT_EQ(p.sampled(3).size(), 10000u);
}

}  // namespace
}  // namespace tessera::privacy::batch_selection::internal::min_separation_test
