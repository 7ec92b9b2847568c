#include "tessera/privacy/batch_selection/strategies.h"

#include <cmath>
#include <concepts>

namespace tessera::privacy::batch_selection::strategies_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// Means over steps and keys: of the batch's size, of its square, and of how often examples 0 and 1
// are in it.
struct Law {
  double mean = 0, square = 0, first = 0, both = 0;
  double batches = 0;

  void add(const Batch& batch) {
    const auto size = static_cast<double>(batch.size());
    const bool zero = std::binary_search(batch.begin(), batch.end(), 0);
    const bool one = std::binary_search(batch.begin(), batch.end(), 1);
    mean += size;
    square += size * size;
    first += zero;
    both += zero && one;
    ++batches;
  }
  double average(double total) const { return total / batches; }
  double variance() const { return average(square) - average(mean) * average(mean); }
};

// Returns the means over `steps` steps for each of `keys` keys: over all steps, or over one.
template <class Sampler>
Law law_of(const Sampler& sampler, int keys, std::optional<int64_t> step = std::nullopt) {
  Law out;
  for (int k = 0; k < keys; ++k) {
    if (step) {
      out.add(sampler.batch(random::key(k), *step));
    } else {
      for (const Batch& batch : sampler.batches(random::key(k))) out.add(batch);
    }
  }
  return out;
}

// Compares the frequency of independent draws, within 5 standard deviations.
void expect_frequency(const Law& law, double total, double p) {
  EXPECT_NEAR(law.average(total), p, 5 * std::sqrt(p * (1 - p) / law.batches));
}

template <class Sampler>
void expect_any_step_at_once(const Sampler& sampler) {
  const random::Key key = random::key(3);
  int64_t step = 0;
  for (const Batch& batch : sampler.batches(key)) {
    EXPECT_TRUE(std::is_sorted(batch.begin(), batch.end()));
    if (!batch.empty()) {
      EXPECT_GE(batch.front(), 0);
      EXPECT_LT(batch.back(), sampler.num_examples);
    }
    EXPECT_EQ(sampler.batch(key, step), batch) << step;
    ++step;
  }
  EXPECT_EQ(step, sampler.iterations);
  EXPECT_NE(sampler.batch(key, 0), sampler.batch(random::key(4), 0));
  // A range of batches that starts in the middle, and the functions of the variant.
  const BatchSelectionStrategy strategy = sampler;
  Batches range = batches(strategy, key, 5);
  EXPECT_EQ(*range.begin(), sampler.batch(key, 5));
  EXPECT_EQ(range.begin().step(), 5);
  EXPECT_EQ(description(strategy), sampler.description());
}

TEST(Strategies, AnyStepComesAtOnce) {
  expect_any_step_at_once(
      CyclicPoissonSampling{.num_examples = 500, .sampling_prob = 0.2, .iterations = 20});
  expect_any_step_at_once(CyclicPoissonSampling{.num_examples = 500,
                                                .sampling_prob = 0.5,
                                                .iterations = 20,
                                                .truncated_batch_size = 60,
                                                .cycle_length = 4});
  expect_any_step_at_once(CyclicPoissonSampling{.num_examples = 500,
                                                .sampling_prob = 0.5,
                                                .iterations = 20,
                                                .cycle_length = 4,
                                                .partition = PartitionType::kIndependent});
  expect_any_step_at_once(
      FixedBatchSampling{.num_examples = 500, .batch_size = 50, .iterations = 20});
  expect_any_step_at_once(
      FixedBatchSampling{.num_examples = 50, .batch_size = 80, .iterations = 20, .replace = true});
  expect_any_step_at_once(
      BallsInBinsSampling{.num_examples = 500, .iterations = 20, .cycle_length = 6});
  expect_any_step_at_once(BMinSepSampling{.num_examples = 500,
                                          .sampling_prob = 0.3,
                                          .iterations = 20,
                                          .min_sep = 3,
                                          .truncated_batch_size = 80});
  expect_any_step_at_once(
      RandomAllocationSampling{.num_examples = 500, .iterations = 20, .steps_per_example = 2});
}

// Batches are the same on every machine: only integers are computed between a key and a batch.
TEST(Strategies, BatchesAreFixed) {
  const random::Key key = random::key(0);
  EXPECT_THAT(
      (CyclicPoissonSampling{.num_examples = 60, .sampling_prob = 0.1, .iterations = 9}.batch(key,
                                                                                              8)),
      testing::ElementsAre(11, 20, 32));
  EXPECT_THAT(
      (FixedBatchSampling{.num_examples = 60, .batch_size = 5, .iterations = 9}.batch(key, 8)),
      testing::ElementsAre(0, 38, 40, 43, 52));
  EXPECT_THAT(
      (BallsInBinsSampling{.num_examples = 60, .iterations = 9, .cycle_length = 9}.batch(key, 8)),
      testing::ElementsAre(14, 18, 29, 31, 49));
  EXPECT_THAT(
      (BMinSepSampling{.num_examples = 60, .sampling_prob = 0.2, .iterations = 9, .min_sep = 3}
           .batch(key, 8)),
      testing::ElementsAre(11, 20, 22, 32, 44));
  EXPECT_THAT((RandomAllocationSampling{.num_examples = 60, .iterations = 9}.batch(key, 8)),
              testing::ElementsAre(17, 26, 27, 44, 54));
}

TEST(CyclicPoisson, IsPoissonSampling) {
  const CyclicPoissonSampling sampler{.num_examples = 200, .sampling_prob = 0.3, .iterations = 300};
  const Law law = law_of(sampler, 40);
  EXPECT_NEAR(law.average(law.mean), 60, 5 * std::sqrt(42 / law.batches));
  EXPECT_NEAR(law.variance(), 42, 5 * 42 * std::sqrt(2 / law.batches));
  expect_frequency(law, law.first, 0.3);
  expect_frequency(law, law.both, 0.09);
}

// Sizes have the binomial law: for 9 classes chi-square is above 38 once in 10^5.
TEST(CyclicPoisson, SizesAreBinomial) {
  const CyclicPoissonSampling sampler{.num_examples = 8, .sampling_prob = 0.4, .iterations = 20000};
  std::array<double, 9> counts{};
  for (const Batch& batch : sampler.batches(random::key(1))) ++counts[batch.size()];
  double statistic = 0, choose = 1;
  for (int k = 0; k <= 8; ++k) {
    const double expected = 20000 * choose * std::pow(0.4, k) * std::pow(0.6, 8 - k);
    statistic += std::pow(counts[static_cast<size_t>(k)] - expected, 2) / expected;
    choose = choose * (8 - k) / (k + 1);
  }
  EXPECT_LT(statistic, 38);
}

// The reference has the mean 98.18011955548816 and the variance 49.687829178777974.
TEST(CyclicPoisson, TruncationKeepsAUniformPart) {
  const CyclicPoissonSampling sampler{
      .num_examples = 1000, .sampling_prob = 0.1, .iterations = 500, .truncated_batch_size = 105};
  const Law law = law_of(sampler, 60);
  EXPECT_NEAR(law.average(law.mean), 98.18011955548816, 5 * std::sqrt(49.7 / law.batches));
  EXPECT_NEAR(law.variance(), 49.687829178777974, 5 * 49.7 * std::sqrt(2 / law.batches));
  expect_frequency(law, law.first, 0.09818011955548816);
  // E[B (B - 1)] / (N (N - 1))
  const double pairs = 49.687829178777974 + std::pow(98.18011955548816, 2) - 98.18011955548816;
  expect_frequency(law, law.both, pairs / (1000 * 999));
}

TEST(CyclicPoisson, GroupsTakeTurns) {
  const CyclicPoissonSampling sampler{.num_examples = 12, .iterations = 8, .cycle_length = 4};
  Batches range = sampler.batches(random::key(0));
  std::set<int64_t> seen;
  for (int64_t step = 0; step < 4; ++step) {
    EXPECT_EQ(range.at(step).size(), 3u);
    EXPECT_EQ(range.at(step), range.at(step + 4));
    for (const int64_t i : range.at(step)) seen.insert(i);
  }
  EXPECT_EQ(seen.size(), 12u);
}

TEST(CyclicPoisson, IndependentGroupsVaryInSize) {
  const CyclicPoissonSampling sampler{.num_examples = 100,
                                      .sampling_prob = 0.5,
                                      .iterations = 4,
                                      .cycle_length = 2,
                                      .partition = PartitionType::kIndependent};
  const Law law = law_of(sampler, 4000, 1);  // of Binomial(100, 1/4)
  EXPECT_NEAR(law.average(law.mean), 25, 5 * std::sqrt(18.75 / law.batches));
  EXPECT_NEAR(law.variance(), 18.75, 5 * 18.75 * std::sqrt(2 / law.batches));
  expect_frequency(law, law.both, 1.0 / 16);
}

TEST(CyclicPoisson, EmptyBatchesAreBatches) {
  const CyclicPoissonSampling sampler{.num_examples = 3, .sampling_prob = 0, .iterations = 5};
  int64_t steps = 0;
  for (const Batch& batch : sampler.batches(random::key(0))) {
    EXPECT_TRUE(batch.empty());
    ++steps;
  }
  EXPECT_EQ(steps, 5);
}

TEST(FixedBatch, IsAUniformSubset) {
  const FixedBatchSampling sampler{.num_examples = 20, .batch_size = 8, .iterations = 500};
  const Law law = law_of(sampler, 40);
  EXPECT_EQ(law.average(law.mean), 8);
  expect_frequency(law, law.first, 0.4);
  expect_frequency(law, law.both, 8.0 * 7 / (20 * 19));
}

TEST(FixedBatch, ReplacementDrawsAnExampleAgain) {
  const FixedBatchSampling sampler{
      .num_examples = 20, .batch_size = 8, .iterations = 500, .replace = true};
  const Law law = law_of(sampler, 40);
  EXPECT_EQ(law.average(law.mean), 8);
  expect_frequency(law, law.first, 1 - std::pow(0.95, 8));
}

TEST(BallsInBins, EachExampleIsInOneBin) {
  const BallsInBinsSampling sampler{.num_examples = 100, .iterations = 10, .cycle_length = 5};
  Batches range = sampler.batches(random::key(0));
  std::map<int64_t, int> counts;
  for (int64_t step = 0; step < 10; ++step) {
    EXPECT_EQ(range.at(step), range.at((step + 5) % 10));
    for (const int64_t i : range.at(step)) ++counts[i];
  }
  EXPECT_EQ(counts.size(), 100u);
  for (const auto& [example, count] : counts) EXPECT_EQ(count, 2) << example;
  const Law law = law_of(sampler, 4000, 7);
  EXPECT_NEAR(law.variance(), 16, 5 * 16 * std::sqrt(2 / law.batches));
  expect_frequency(law, law.both, 1.0 / 25);
}

TEST(BMinSep, HasTheMeanOfTheReference) {
  const BMinSepSampling sampler{
      .num_examples = 1000, .sampling_prob = 0.25, .iterations = 10, .min_sep = 5};
  const Law law = law_of(sampler, 3000, 9);
  const double rate = 1 / (5 - 1 + 1 / 0.25);
  EXPECT_NEAR(law.average(law.mean), 1000 * rate,
              5 * std::sqrt(1000 * rate * (1 - rate) / law.batches));
  EXPECT_NEAR(law.variance(), 1000 * rate * (1 - rate), 5 * 110 * std::sqrt(2 / law.batches));
  expect_frequency(law, law.both, rate * rate);
}

TEST(BMinSep, TruncatedExamplesSitOutToo) {
  const BMinSepSampling all{
      .num_examples = 100, .sampling_prob = 0.5, .iterations = 30, .min_sep = 3};
  BMinSepSampling few = all;
  few.truncated_batch_size = 10;
  Batches whole = all.batches(random::key(0)), part = few.batches(random::key(0));
  for (int64_t step = 0; step < 30; ++step) {
    const Batch a = whole.at(step), b = part.at(step);
    EXPECT_EQ(b.size(), std::min<size_t>(a.size(), 10));
    EXPECT_TRUE(std::includes(a.begin(), a.end(), b.begin(), b.end()));
  }
}

TEST(RandomAllocation, EachExampleIsInKSteps) {
  const RandomAllocationSampling sampler{
      .num_examples = 100, .iterations = 12, .steps_per_example = 3};
  std::map<int64_t, int> counts;
  for (const Batch& batch : sampler.batches(random::key(0)))
    for (const int64_t i : batch) ++counts[i];
  EXPECT_EQ(counts.size(), 100u);
  for (const auto& [example, count] : counts) EXPECT_EQ(count, 3) << example;
  const Law law = law_of(sampler, 4000, 11);
  EXPECT_NEAR(law.variance(), 100 * 0.1875, 5 * 18.75 * std::sqrt(2 / law.batches));
  expect_frequency(law, law.first, 0.25);
  expect_frequency(law, law.both, 1.0 / 16);
}

template <class Call>
void expect_error(Call call, const char* text) {
  EXPECT_THAT(call, ThrowsMessage<UserError>(HasSubstr(text)));
}

TEST(Strategies, BadOptionsAreErrors) {
  using C = CyclicPoissonSampling;
  expect_error([] { C{.iterations = 1}.description(); },
               "[CyclicPoissonSampling] expected num_examples in [1, ");
  expect_error([] { C{.num_examples = 5, .iterations = -1}.description(); },
               "expected iterations in [0, ");
  for (const double p : {-0.1, 1.5, std::nan("")})
    expect_error([&] { C{.num_examples = 5, .sampling_prob = p}.description(); },
                 "expected a sampling_prob in [0, 1], got ");
  expect_error([] { C{.num_examples = 5, .truncated_batch_size = 0}.description(); },
               "expected a truncated_batch_size in [1, ");
  expect_error([] { C{.num_examples = 5, .cycle_length = 6}.description(); },
               "expected cycle_length in [1, 5], got 6; a group of the cycle needs an example");
  expect_error([] { FixedBatchSampling{.num_examples = 5, .batch_size = 6}.description(); },
               "[FixedBatchSampling] expected batch_size in [0, 5], got 6");
  expect_error([] { BallsInBinsSampling{.num_examples = 5, .cycle_length = 0}.description(); },
               "[BallsInBinsSampling] expected cycle_length in [1, 5], got 0");
  expect_error([] { BMinSepSampling{.num_examples = 5, .min_sep = 0}.description(); },
               "[BMinSepSampling] expected min_sep in [1, ");
  expect_error([] { BMinSepSampling{.num_examples = 5, .sampling_prob = 2}.description(); },
               "expected a sampling_prob in [0, 1], got 2");
  expect_error([] { RandomAllocationSampling{.num_examples = 5}.description(); },
               "[RandomAllocationSampling] expected iterations in [1, ");
  expect_error(
      [] {
        RandomAllocationSampling{.num_examples = 5, .iterations = 2, .steps_per_example = 3}
            .description();
      },
      "expected steps_per_example in [1, 2], got 3");
}

TEST(Strategies, BadOptionsAreErrorsWhereverTheyAreUsed) {
  const CyclicPoissonSampling bad{.num_examples = 5, .sampling_prob = 2, .iterations = 3};
  expect_error([&] { bad.batches(random::key(0)); }, "expected a sampling_prob");
  expect_error([&] { bad.batch(random::key(0), 0); }, "expected a sampling_prob");
}

TEST(Strategies, TracedKeysAreErrors) {
  const CyclicPoissonSampling sampler{.num_examples = 5, .iterations = 3};
  EXPECT_THROW(jit([&](const Array& x) {
                 sampler.batch(random::wrap_key_data(x), 0);
                 return x;
               })(random::key(0).data),
               UserError);
}

TEST(Strategies, SamplingProbabilitiesChange) {
  CyclicPoissonSampling s{.num_examples = 1000,
                          .sampling_prob = 0.5,
                          .iterations = 30,
                          .sampling_prob_changes = {{10, 0}, {20, 1}}};
  const random::Key key = random::key(3);
  EXPECT_EQ(
      s.batch(key, 9),
      (CyclicPoissonSampling{.num_examples = 1000, .sampling_prob = 0.5, .iterations = 30}.batch(
          key, 9)));
  EXPECT_TRUE(s.batch(key, 10).empty());
  EXPECT_TRUE(s.batch(key, 19).empty());
  EXPECT_EQ(s.batch(key, 20).size(), 1000);
  EXPECT_EQ(expected_batch_size(s.description()), 500);
  EXPECT_EQ(expected_batch_size(at_step(s.description(), 25)), 1000);
  EXPECT_NE(s.description(), at_step(s.description(), 0));
  s.sampling_prob_changes = {{10, 0}, {10, 1}};
  EXPECT_THROW(s.description(), UserError);
  s.sampling_prob_changes = {{0, 1}};
  EXPECT_THROW(s.description(), UserError);
  s.sampling_prob_changes = {{1, 1.5}};
  EXPECT_THROW(s.description(), UserError);
}

TEST(BatchSelectionStrategy, StepsThatShareNothingAreIndependent) {
  const auto independent = [](const BatchSelectionStrategy& s) { return has_independent_steps(s); };
  CyclicPoissonSampling poisson{.num_examples = 10, .sampling_prob = .5, .iterations = 4};
  EXPECT_TRUE(independent(poisson));
  poisson.cycle_length = 2;
  EXPECT_FALSE(independent(poisson));
  EXPECT_TRUE(
      independent(FixedBatchSampling{.num_examples = 10, .batch_size = 3, .iterations = 4}));
  EXPECT_FALSE(independent(BallsInBinsSampling{.num_examples = 10, .iterations = 4}));
  BMinSepSampling apart{.num_examples = 10, .sampling_prob = .5, .iterations = 4};
  EXPECT_TRUE(independent(apart));
  apart.min_sep = 2;
  EXPECT_FALSE(independent(apart));
  EXPECT_FALSE(independent(RandomAllocationSampling{.num_examples = 10, .iterations = 4}));
  const std::vector<int64_t> ids{0, 1, 2, 3};
  const MultiOwnerGraph graph(ids, ids);
  EXPECT_TRUE(independent(MultiOwnerMinSepSampling(graph, {.batch_size = 1, .iterations = 4})));
}

}  // namespace
}  // namespace tessera::privacy::batch_selection::strategies_test
