#include "tessera/privacy/system_batches.h"

#include "../errors.h"
#include "tessera/numpy/creation.h"

namespace tessera::privacy::internal::system_batches_test {
namespace {

using batch_selection::Batch;
using batch_selection::BatchSelectionStrategy;
using tessera::test::expect_error;

constexpr int64_t kExamples = 300, kSteps = 40;

std::vector<uint32_t> words(const random::Key& key) { return to_vector<uint32_t>(key.data); }

BatchSelectionStrategy poisson() {
  return batch_selection::CyclicPoissonSampling{
      .num_examples = kExamples, .sampling_prob = .2, .iterations = kSteps};
}

std::vector<BatchSelectionStrategy> schedules() {
  return {
      batch_selection::CyclicPoissonSampling{
          .num_examples = kExamples, .sampling_prob = .5, .iterations = kSteps, .cycle_length = 5},
      batch_selection::BallsInBinsSampling{
          .num_examples = kExamples, .iterations = kSteps, .cycle_length = 5},
      batch_selection::BMinSepSampling{
          .num_examples = kExamples, .sampling_prob = .3, .iterations = kSteps, .min_sep = 4},
      batch_selection::RandomAllocationSampling{.num_examples = kExamples, .iterations = kSteps}};
}

// Each step draws its own key and nothing is kept: a step that is drawn again has another batch,
// and any SystemBatches can continue a run.
TEST(SystemBatches, IndependentStepsDrawKeysOfTheirOwn) {
  for (const BatchSelectionStrategy& sampler :
       {poisson(), BatchSelectionStrategy(batch_selection::FixedBatchSampling{
                       .num_examples = kExamples, .batch_size = 60, .iterations = kSteps})}) {
    SystemBatches first(sampler), second(sampler);
    EXPECT_FALSE(first.has_schedule());
    const random::Key run = first.begin();
    EXPECT_EQ(words(run), (std::vector<uint32_t>{0, 0}));
    std::set<Batch> seen;
    for (int time = 0; time < 3; ++time) {
      seen.insert(first.examples(run, 7));
      seen.insert(second.examples(run, 7));
      seen.insert(first.examples(run, 8));
    }
    EXPECT_EQ(seen.size(), 9u);
    second.expect_known(run);
    first.end(run);
    first.examples(run, 9);
  }
}

TEST(SystemBatches, AScheduleIsOneForTheWholeRun) {
  for (const BatchSelectionStrategy& sampler : schedules()) {
    SCOPED_TRACE(sampler.index());
    SystemBatches batches(sampler);
    EXPECT_TRUE(batches.has_schedule());
    const random::Key run = batches.begin(), other = batches.begin();
    EXPECT_NE(words(run), words(other));
    std::vector<Batch> all, of_other;
    for (int64_t step = 0; step < kSteps; ++step) {
      all.push_back(batches.examples(run, step));
      of_other.push_back(batches.examples(other, step));  // alternating with the other run
    }
    EXPECT_NE(all, of_other);
    for (const int64_t step : {31, 2, 3})
      EXPECT_EQ(batches.examples(run, step), all[static_cast<size_t>(step)]);
    // The run's name is not the key of its batches.
    EXPECT_NE(batch_selection::batches(sampler, run).at(3), all[3]);
  }
}

TEST(SystemBatches, ARunWhoseKeyIsGoneDoesNotGoOn) {
  for (const BatchSelectionStrategy& sampler : schedules()) {
    SystemBatches batches(sampler), elsewhere(sampler);
    const random::Key run = batches.begin(), other = batches.begin();
    const char* text =
        "expected a run of RandomSource::kSystem that this trainer has begun and not ended";
    expect_error([&] { elsewhere.examples(run, 3); }, text);
    expect_error([&] { elsewhere.expect_known(run); }, text);
    const Batch third = batches.examples(run, 3);
    batches.end(other);
    EXPECT_EQ(batches.examples(run, 3), third);
    batches.end(run);
    expect_error([&] { batches.examples(run, 3); }, text);
    batches.end(run);
  }
}

}  // namespace
}  // namespace tessera::privacy::internal::system_batches_test
