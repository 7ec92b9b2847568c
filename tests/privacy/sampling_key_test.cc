#include "tessera/privacy/batch_selection/sampling_key.h"

#include <cmath>

#include "tessera/privacy/batch_selection/strategies.h"
#include "tessera/privacy/batch_selection/user_selection.h"

namespace tessera::privacy::batch_selection::sampling_key_test {
namespace {

constexpr int64_t kSteps = 40;

std::vector<BatchSelectionStrategy> samplers() {
  const std::vector<int64_t> ids{0, 1, 2, 3};
  const MultiOwnerGraph graph(ids, ids);
  return {
      CyclicPoissonSampling{.num_examples = 300, .sampling_prob = .2, .iterations = kSteps},
      CyclicPoissonSampling{.num_examples = 300,
                            .sampling_prob = .4,
                            .iterations = kSteps,
                            .truncated_batch_size = 30,
                            .cycle_length = 3,
                            .partition = PartitionType::kIndependent},
      FixedBatchSampling{.num_examples = 300, .batch_size = 20, .iterations = kSteps},
      BallsInBinsSampling{.num_examples = 300, .iterations = kSteps, .cycle_length = 7},
      BMinSepSampling{.num_examples = 300, .sampling_prob = .3, .iterations = kSteps, .min_sep = 4},
      RandomAllocationSampling{.num_examples = 300, .iterations = kSteps, .steps_per_example = 3},
      MultiOwnerMinSepSampling(graph, {.batch_size = 1, .iterations = kSteps}),
  };
}

std::vector<Batch> all_of(const BatchSelectionStrategy& sampler, const SamplingKey& key) {
  std::vector<Batch> out;
  Batches range = batches(sampler, key);
  for (const Batch& batch : range) out.push_back(batch);
  return out;
}

// A key has one sequence of batches, and each batch can be drawn without those before it. Another
// key has another sequence.
TEST(SamplingKey, OfTheSystemDrawsAnyStepAtOnce) {
  for (const BatchSelectionStrategy& sampler : samplers()) {
    SCOPED_TRACE(sampler.index());
    const SamplingKey key = SamplingKey::of_system();
    const std::vector<Batch> expected = all_of(sampler, key);
    ASSERT_EQ(expected.size(), static_cast<size_t>(kSteps));
    for (const int64_t step : {39, 0, 17, 16, 18, 1})
      EXPECT_EQ(batches(sampler, key).at(step), expected[static_cast<size_t>(step)]);
    const SamplingKey copy = key;
    EXPECT_EQ(all_of(sampler, copy), expected);
    const bool draws = !std::holds_alternative<MultiOwnerMinSepSampling>(sampler);
    EXPECT_EQ(all_of(sampler, SamplingKey::of_system()) != expected, draws);
    EXPECT_EQ(all_of(sampler, random::key(0)) != expected, draws);
  }
}

struct Counts {
  int64_t batches = 0, examples = 0, pairs = 0, size_squares = 0;
  std::vector<int64_t> of_example;
};

// Returns how often examples, and pairs of neighbours, are in a batch, with a new key for each
// `run`.
Counts counts_of(const BatchSelectionStrategy& sampler, int runs, int64_t examples) {
  Counts out{.of_example = std::vector<int64_t>(static_cast<size_t>(examples))};
  for (int run = 0; run < runs; ++run)
    for (const Batch& batch : all_of(sampler, SamplingKey::of_system())) {
      ++out.batches;
      out.examples += static_cast<int64_t>(batch.size());
      out.size_squares += static_cast<int64_t>(batch.size() * batch.size());
      for (size_t i = 0; i < batch.size(); ++i) {
        ++out.of_example[static_cast<size_t>(batch[i])];
        out.pairs += i > 0 && batch[i] == batch[i - 1] + 1;
      }
    }
  return out;
}

// Expects a count within 5.5 standard deviations of a binomial's mean.
void expect_count(int64_t count, double trials, double p) {
  EXPECT_NEAR(static_cast<double>(count), trials * p, 5.5 * std::sqrt(trials * p * (1 - p)));
}

TEST(SamplingKey, PoissonBatchesHaveTheirLaw) {
  constexpr int64_t kExamples = 200;
  constexpr double kP = .13;
  const Counts counts = counts_of(
      CyclicPoissonSampling{.num_examples = kExamples, .sampling_prob = kP, .iterations = kSteps},
      100, kExamples);
  const auto batches = static_cast<double>(counts.batches);
  expect_count(counts.examples, batches * kExamples, kP);
  for (const int64_t count : counts.of_example) expect_count(count, batches, kP);
  // Neighbours are together with probability p^2. Pairs that share an example add to the variance.
  const double pairs = batches * (kExamples - 1), p2 = kP * kP;
  EXPECT_NEAR(static_cast<double>(counts.pairs), pairs * p2,
              5.5 * std::sqrt(pairs * (p2 * (1 - p2) + 2 * (p2 * kP - p2 * p2))));
  // The variance of the batch size.
  const double mean = static_cast<double>(counts.examples) / batches;
  EXPECT_NEAR(static_cast<double>(counts.size_squares) / batches - mean * mean,
              kExamples * kP * (1 - kP), 5.5 * kExamples * kP * (1 - kP) * std::sqrt(2 / batches));
}

// Every pair of examples is equally likely.
TEST(SamplingKey, FixedBatchesAreUniform) {
  const FixedBatchSampling sampler{.num_examples = 6, .batch_size = 2, .iterations = kSteps};
  std::map<Batch, int64_t> seen;
  constexpr int kRuns = 300;
  for (int run = 0; run < kRuns; ++run)
    for (const Batch& batch : all_of(sampler, SamplingKey::of_system())) ++seen[batch];
  ASSERT_EQ(seen.size(), 15u);
  for (const auto& [batch, count] : seen) expect_count(count, kRuns * kSteps, 1.0 / 15);
}

TEST(SamplingKey, ASeparationIsKept) {
  constexpr int64_t kExamples = 300, kSep = 4;
  constexpr double kP = .3;
  std::vector<int64_t> last(kExamples, -kSep);
  const BatchSelectionStrategy sampler = BMinSepSampling{
      .num_examples = kExamples, .sampling_prob = kP, .iterations = kSteps, .min_sep = kSep};
  const std::vector<Batch> all = all_of(sampler, SamplingKey::of_system());
  for (int64_t step = 0; step < kSteps; ++step)
    for (const int64_t i : all[static_cast<size_t>(step)]) {
      EXPECT_GE(step - last[static_cast<size_t>(i)], kSep);
      last[static_cast<size_t>(i)] = step;
    }
  const Counts counts = counts_of(sampler, 100, kExamples);
  // Steps of a run are not independent: because of the separation the sum varies less.
  expect_count(counts.examples, static_cast<double>(counts.batches * kExamples),
               kP / (1 + (kSep - 1) * kP));
}

// Examples choose their bins independently, and each is in a fixed number of steps.
TEST(SamplingKey, SchedulesAreThose) {
  const std::vector<Batch> bins =
      all_of(BallsInBinsSampling{.num_examples = 300, .iterations = kSteps, .cycle_length = 7},
             SamplingKey::of_system());
  for (size_t step = 7; step < bins.size(); ++step) EXPECT_EQ(bins[step], bins[step - 7]);
  std::vector<int64_t> uses(300);
  for (const Batch& batch : all_of(
           RandomAllocationSampling{
               .num_examples = 300, .iterations = kSteps, .steps_per_example = 3},
           SamplingKey::of_system()))
    for (const int64_t i : batch) ++uses[static_cast<size_t>(i)];
  EXPECT_EQ(uses, std::vector<int64_t>(300, 3));
}

TEST(SamplingKey, UsersAreSelectedByIt) {
  std::vector<int64_t> user_ids;
  for (int64_t i = 0; i < 400; ++i) user_ids.push_back(i / 4);
  const UserSelectionStrategy strategy{
      .base_strategy =
          CyclicPoissonSampling{.num_examples = 100, .sampling_prob = .3, .iterations = kSteps},
      .examples_per_user_per_batch = 2,
      .shuffle_per_user = true};
  const SamplingKey key = SamplingKey::of_system();
  EXPECT_EQ(strategy.batch(user_ids, key, 9).indices, strategy.batch(user_ids, key, 9).indices);
  EXPECT_NE(strategy.batch(user_ids, key, 9).indices,
            strategy.batch(user_ids, SamplingKey::of_system(), 9).indices);
}

}  // namespace
}  // namespace tessera::privacy::batch_selection::sampling_key_test
