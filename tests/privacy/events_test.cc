#include "tessera/privacy/accounting/events.h"

#include "tessera/base/error.h"

namespace tessera::privacy::accounting::events_test {
namespace {

TEST(Events, AreThoseOfTheRuns) {
  EXPECT_EQ(to_string(dpsgd_event(1, 10, {.sampling_prob = 0.5})),
            "SelfComposed(PoissonSampled(0.5, Gaussian(1)), 10)");
  EXPECT_EQ(to_string(fixed_dpsgd_event(1, 10, {.dataset_size = 8, .batch_size = 2})),
            "SelfComposed(SampledWithoutReplacement(8, 2, Gaussian(1)), 10)");
  EXPECT_EQ(
      to_string(fixed_dpsgd_event(1, 10, {.dataset_size = 8, .batch_size = 9, .replace = true})),
      "SelfComposed(SampledWithReplacement(8, 9, Gaussian(1)), 10)");
  EXPECT_EQ(to_string(truncated_dpsgd_event(
                1, 10, {.sampling_prob = 0.5, .num_examples = 8, .truncated_batch_size = 6})),
            "SelfComposed(TruncatedSubsampledGaussian(8, 0.5, 6, 1), 10)");
}

// Each group is sampled from once in num_bands steps.
TEST(Events, BandsShareTheSteps) {
  EXPECT_EQ(amplified_bandmf_event(1, 11, {.num_bands = 4, .sampling_prob = 0.5}),
            dpsgd_event(1, 3, {.sampling_prob = 0.5}));
  EXPECT_EQ(truncated_amplified_bandmf_event(1, 12,
                                             {.num_bands = 4,
                                              .sampling_prob = 0.5,
                                              .largest_group_size = 8,
                                              .truncated_batch_size = 6}),
            truncated_dpsgd_event(
                1, 3, {.sampling_prob = 0.5, .num_examples = 8, .truncated_batch_size = 6}));
}

TEST(Events, BadNumbersAreRefused) {
  EXPECT_THROW(dpsgd_event(-1, 10, {.sampling_prob = 0.5}), UserError);
  EXPECT_THROW(dpsgd_event(1, -10, {.sampling_prob = 0.5}), UserError);
  EXPECT_THROW(dpsgd_event(1, 10, {.sampling_prob = 1.5}), UserError);
  EXPECT_THROW(fixed_dpsgd_event(1, 10, {.dataset_size = 8, .batch_size = 9}), UserError);
  EXPECT_THROW(amplified_bandmf_event(1, 10, {.num_bands = 0, .sampling_prob = 0.5}), UserError);
}

}  // namespace
}  // namespace tessera::privacy::accounting::events_test
