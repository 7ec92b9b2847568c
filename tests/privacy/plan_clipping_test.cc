// The clipping of plans (plan_clipping.cc).
#include "plan_options.h"

namespace tessera::privacy::plan_clipping_test {
namespace {

using namespace plan_options;

TEST(PlanClipping, PartsWithClipNormsOfTheirOwn) {
  PlanOptions options = dpsgd();
  options.l2_clip_norm = 4;
  options.subtree_norms = {{"head", 3}};
  EXPECT_DOUBLE_EQ(make_plan(options).sensitivity(), 5 / 100.0 * rounded(make_plan(options)));
  EXPECT_EQ(make_plan(options).clip_options().subtree_norms[0].path, "head");
  options.l2_clip_norm = 0;
  EXPECT_DOUBLE_EQ(make_plan(options).stddev(),
                   3 / 100.0 * rounded(make_plan(options)) * *options.noise_multiplier);
  options.subtree_norms = {{"head", 0}};
  expect_error([&] { make_plan(options); }, "norm of each part that is a number above 0, got 0");
  options.subtree_norms = {{"head", Array(1.0f)}};
  expect_error([&] { make_plan(options); }, "norm of each part that is a number above 0, got inf");
}

TEST(PlanClipping, ClipOptionsAndTheSampler) {
  PlanOptions options = dpsgd();
  options.l2_clip_norm = 3;
  options.nan_safe = NanSafe::kElement;
  const TrainingPlan plan = make_plan(options);
  EXPECT_EQ(plan.clip_options().l2_clip_norm.number(), 3);
  EXPECT_EQ(plan.clip_options().normalize_by, 100);
  EXPECT_EQ(plan.clip_options().nan_safe, NanSafe::kElement);
  plan.check_sampler(description(plan.sampler()));
  const batch_selection::CyclicPoissonSampling other{
      .num_examples = 10'000, .sampling_prob = .02, .iterations = 1000};
  expect_error([&] { plan.check_sampler(other.description()); },
               "expected the sampler that is accounted for (poisson 10000");
}

}  // namespace
}  // namespace tessera::privacy::plan_clipping_test
