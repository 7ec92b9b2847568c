#include "tessera/privacy/batch_selection/sampling_description.h"

#include "tessera/privacy/batch_selection/strategies.h"

namespace tessera::privacy::batch_selection::sampling_description_test {
namespace {

using enum NeighboringRelation;

SamplingDescription poisson(int64_t cycle_length, PartitionType partition,
                            std::optional<int64_t> cap = std::nullopt) {
  return CyclicPoissonSampling{.num_examples = 1000,
                               .sampling_prob = 0.1,
                               .iterations = 64,
                               .truncated_batch_size = cap,
                               .cycle_length = cycle_length,
                               .partition = partition}
      .description();
}

const PartitionType kEqual = PartitionType::kEqualSplit, kOwn = PartitionType::kIndependent;

TEST(SamplingDescription, SaysWhatIsSampled) {
  const SamplingDescription d = poisson(3, kEqual, 40);
  EXPECT_STREQ(name(d.method), "poisson");
  EXPECT_EQ(d.num_examples, 1000);
  EXPECT_EQ(d.iterations, 64);
  EXPECT_EQ(d.sampling_prob, 0.1);
  EXPECT_EQ(d.cycle_length, 3);
  EXPECT_EQ(d.min_sep, 3);
  EXPECT_EQ(d.truncated_batch_size, 40);
  EXPECT_EQ(group_size(d), 333);
  EXPECT_EQ(max_participations(d), 22);
  EXPECT_NE(d, poisson(3, kEqual));
  EXPECT_EQ(d, poisson(3, kEqual, 40));

  const auto fixed =
      FixedBatchSampling{.num_examples = 10, .batch_size = 4, .iterations = 5, .replace = true}
          .description();
  EXPECT_STREQ(name(fixed.method), "fixed_batch_size");
  EXPECT_EQ(fixed.batch_size, 4);
  EXPECT_TRUE(fixed.replace);
  EXPECT_EQ(max_participations(fixed), 5);

  const auto bins =
      BallsInBinsSampling{.num_examples = 10, .iterations = 5, .cycle_length = 2}.description();
  EXPECT_STREQ(name(bins.method), "balls_in_bins");
  EXPECT_EQ(max_participations(bins), 3);

  const auto apart = BMinSepSampling{.num_examples = 10,
                                     .sampling_prob = 0.5,
                                     .iterations = 9,
                                     .min_sep = 4,
                                     .warm_start = false}
                         .description();
  EXPECT_STREQ(name(apart.method), "b_min_sep");
  EXPECT_EQ(apart.min_sep, 4);
  EXPECT_FALSE(apart.warm_start);
  EXPECT_EQ(max_participations(apart), 3);

  const auto allocated =
      RandomAllocationSampling{.num_examples = 10, .iterations = 9, .steps_per_example = 2}
          .description();
  EXPECT_STREQ(name(allocated.method), "random_allocation");
  EXPECT_EQ(max_participations(allocated), 2);
  EXPECT_EQ(max_participations(CyclicPoissonSampling{.num_examples = 1}.description()), 0);
}

TEST(SamplingDescription, ExpectsBatchesOfTheRightSize) {
  EXPECT_DOUBLE_EQ(expected_batch_size(poisson(1, kEqual)), 100);
  EXPECT_NEAR(expected_batch_size(poisson(1, kEqual, 105)), 98.18011955548816, 1e-9 * 98);
  EXPECT_DOUBLE_EQ(expected_batch_size(poisson(3, kEqual)), 33.3);
  EXPECT_DOUBLE_EQ(expected_batch_size(poisson(3, kOwn)), 1000 * 0.1 / 3);
  EXPECT_LT(expected_batch_size(poisson(3, kEqual, 33)), 33);
  EXPECT_DOUBLE_EQ(
      expected_batch_size(FixedBatchSampling{.num_examples = 9, .batch_size = 4}.description()), 4);
  EXPECT_DOUBLE_EQ(
      expected_batch_size(
          BallsInBinsSampling{.num_examples = 9, .iterations = 1, .cycle_length = 2}.description()),
      4.5);
  EXPECT_DOUBLE_EQ(expected_batch_size(BMinSepSampling{
                       .num_examples = 800, .sampling_prob = 0.25, .iterations = 1, .min_sep = 5}
                                           .description()),
                   100);
  EXPECT_DOUBLE_EQ(
      expected_batch_size(
          BMinSepSampling{.num_examples = 800, .sampling_prob = 0, .iterations = 1}.description()),
      0);
  EXPECT_DOUBLE_EQ(expected_batch_size(RandomAllocationSampling{
                       .num_examples = 80, .iterations = 16, .steps_per_example = 2}
                                           .description()),
                   10);
}

// As in jax_privacy's execution plans, EQUAL_SPLIT and truncation are not for add-or-remove;
// INDEPENDENT and truncation together are for no relation. Without a cycle there is no partition.
TEST(SamplingDescription, FitsNeighboringRelations) {
  for (const NeighboringRelation r : {kAddOrRemoveOne, kReplaceOne, kReplaceSpecial}) {
    const bool replaced = r != kAddOrRemoveOne;
    EXPECT_TRUE(supports(poisson(1, kEqual), r));
    EXPECT_TRUE(supports(poisson(1, kOwn), r));
    EXPECT_TRUE(supports(poisson(4, kOwn), r));
    EXPECT_EQ(supports(poisson(4, kEqual), r), replaced);
    EXPECT_EQ(supports(poisson(1, kEqual, 90), r), replaced);
    EXPECT_EQ(supports(poisson(1, kOwn, 90), r), replaced);
    EXPECT_EQ(supports(poisson(4, kEqual, 90), r), replaced);
    EXPECT_FALSE(supports(poisson(4, kOwn, 90), r));
    EXPECT_EQ(supports(FixedBatchSampling{.num_examples = 9, .batch_size = 3}.description(), r),
              replaced);
    EXPECT_TRUE(supports(BallsInBinsSampling{.num_examples = 9}.description(), r));
    EXPECT_TRUE(supports(BMinSepSampling{.num_examples = 9}.description(), r));
    EXPECT_EQ(
        supports(BMinSepSampling{.num_examples = 9, .truncated_batch_size = 3}.description(), r),
        replaced);
    EXPECT_TRUE(
        supports(RandomAllocationSampling{.num_examples = 9, .iterations = 3}.description(), r));
  }
}

TEST(SamplingDescription, ARelationThatDoesNotFitIsAnError) {
  const auto expect = [](const SamplingDescription& d, const char* text) {
    EXPECT_THAT([&] { check_supports("plan", d, kAddOrRemoveOne); },
                testing::ThrowsMessage<UserError>(testing::HasSubstr(text)));
  };
  expect(poisson(4, kEqual),
         "[plan] for add_or_remove_one expected a sampler with PartitionType::kIndependent");
  expect(poisson(4, kOwn, 9), "the sizes of the groups of PartitionType::kIndependent are random");
  expect(poisson(1, kOwn, 9), "expected a sampler without truncated_batch_size");
  expect(FixedBatchSampling{.num_examples = 9, .batch_size = 3}.description(),
         "account for replace_one; got fixed_batch_size");
  check_supports("plan", poisson(4, kOwn), kAddOrRemoveOne);
}

}  // namespace
}  // namespace tessera::privacy::batch_selection::sampling_description_test
