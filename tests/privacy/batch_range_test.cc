#include "tessera/privacy/batch_selection/batch_range.h"

#include "tessera/privacy/batch_selection/strategies.h"

namespace tessera::privacy::batch_selection::batch_range_test {
namespace {

static_assert(std::input_iterator<Batches::Iterator>);

const CyclicPoissonSampling kSampler{.num_examples = 5, .sampling_prob = 0.5, .iterations = 3};

TEST(BatchRange, GoesFromTheFirstStepToTheLast) {
  Batches range = kSampler.batches(random::key(0), 1);
  EXPECT_EQ(range.iterations(), 3);
  std::vector<int64_t> steps;
  for (auto it = range.begin(); it != range.end(); ++it) {
    EXPECT_EQ(*it, range.at(it.step()));
    EXPECT_EQ(it->size(), (*it).size());
    steps.push_back(it.step());
  }
  EXPECT_THAT(steps, testing::ElementsAre(1, 2));
}

TEST(BatchRange, MayBeAtItsEnd) {
  for (const Batch& batch : kSampler.batches(random::key(0), 3)) FAIL() << batch.size();
}

TEST(BatchRange, StepsOutsideAreErrors) {
  Batches range = kSampler.batches(random::key(0));
  for (const int64_t step : {-1, 3})
    EXPECT_THAT([&] { range.at(step); },
                testing::ThrowsMessage<UserError>(testing::HasSubstr(
                    "[privacy::batch_selection] expected a step in [0, 3), got ")));
  EXPECT_THAT([] { kSampler.batches(random::key(0), 4); },
              testing::ThrowsMessage<UserError>(
                  testing::HasSubstr("expected a first step in [0, 3], got 4")));
}

}  // namespace
}  // namespace tessera::privacy::batch_selection::batch_range_test
