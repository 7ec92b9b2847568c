// Training as a whole: fit, programs that are compiled beforehand, data by index, transforms, clip
// norms that change, and a plan without privacy.
#include <algorithm>
#include <cmath>
#include <map>

#include "../io/files.h"
#include "tessera/io/load.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/privacy/trainer.h"
#include "trainer_problem.h"

namespace tessera::privacy::trainer_fit_test {
namespace {

using namespace trainer_problem;
using tessera::test::expect_error;

const auto kSeed = [] { return reproducible(random::key(0)); };

void expect_close(const std::vector<float>& a, const std::vector<float>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << i;
}

class TrainerFitTest : public tessera::test::FolderTest {};

TEST_F(TrainerFitTest, FitIsItsSteps) {
  const Trainer trainer(plan_of(), loss, optim::adam(.1));
  auto by_hand = trainer.init(weights(), kSeed()), fitted = trainer.init(weights(), kSeed());
  run_to(trainer, by_hand, 12);
  std::vector<int64_t> steps;
  std::vector<std::string> lines;
  const double spent =
      trainer.fit(fitted,
                  {.callback =
                       [&](const StepReport& report, const auto& state) {
                         EXPECT_EQ(trainer.steps_done(state), report.step);
                         steps.push_back(report.step);
                       },
                   .progress = [&](const std::string& line) { lines.push_back(line); },
                   .progress_every = 5},
                  xs(), ys());
  EXPECT_EQ(spent, trainer.plan().epsilon());
  EXPECT_EQ(steps.size(), 12);
  EXPECT_EQ(lines.size(), 3);  // after 5, 10 and 12 steps
  EXPECT_THAT(lines.back(), ::testing::HasSubstr("epsilon "));
  EXPECT_EQ(bits_of(fitted), bits_of(by_hand));
}

TEST_F(TrainerFitTest, FitGoesOnWithItsCheckpoints) {
  const Trainer trainer(plan_of(), loss, optim::adam(.1));
  auto whole = trainer.init(weights(), kSeed());
  trainer.fit(whole, {}, xs(), ys());
  auto first = trainer.init(weights(), kSeed());
  trainer.fit(first, {.until = 7, .checkpoints = folder_, .save_every = 3}, xs(), ys());
  EXPECT_EQ(all_steps(folder_), (std::vector<int64_t>{6, 7}));  // two checkpoints are kept
  auto second = trainer.init(weights(), kSeed());
  EXPECT_EQ(trainer.fit(second, {.checkpoints = folder_}, xs(), ys()), trainer.plan().epsilon());
  EXPECT_EQ(bits_of(second), bits_of(whole));
}

TEST_F(TrainerFitTest, FitRefuses) {
  const Trainer trainer(plan_of(), loss, optim::sgd(.1));
  auto state = trainer.init(weights());
  expect_error([&] { trainer.fit(state, {.until = 13}, xs(), ys()); }, "`until` between 0 and 12");
  expect_error([&] { trainer.fit(state, {.progress_every = 0}, xs(), ys()); }, "of at least 1");
  expect_error([&] { trainer.fit(state, {.save_every = 0}, xs(), ys()); }, "of at least 1");
  EXPECT_EQ(trainer.steps_done(state), 0);
}

TEST_F(TrainerFitTest, PrecompiledStepsAreNotTracedAgain) {
  int traced = 0;
  const auto counted = [&](const Weights& p, const Array& x, const Array& y) {
    ++traced;
    return loss(p, x, y);
  };
  PlanOptions options = options_of(.25);
  options.steps = 40;
  const Trainer trainer(make_plan(options), counted, optim::sgd(.01));
  auto state = trainer.init(weights(), kSeed());
  const std::vector<float> before = parameters(state.params);
  const std::vector<BatchSize> sizes = trainer.precompile(state, xs(), ys());
  EXPECT_EQ(parameters(state.params), before);
  EXPECT_EQ(trainer.steps_done(state), 0);
  const int made = traced;
  const Array x = xs(), y = ys();
  while (trainer.steps_done(state) < 40) {
    const int64_t examples = trainer.step(state, x, y).examples;
    EXPECT_TRUE(std::any_of(sizes.begin(), sizes.end(),
                            [&](const BatchSize& s) { return s.size >= examples; }));
  }
  EXPECT_EQ(traced, made);
}

// The sizes that are compiled do not depend on the samples, and include all sizes that the samples
// have.
TEST(TrainerSizesTest, SizesHaveTheProbabilitiesOfTheSampler) {
  const auto sizes_of = [](const PlanOptions& options) {
    const Plan plan = make_plan(options);
    return internal::StepBatches(plan, {}).sizes(plan);
  };
  PlanOptions options = options_of(.25);
  options.steps = 3000;
  const auto sizes = sizes_of(options);
  const Plan plan = make_plan(options);
  internal::StepBatches batches(plan, {});
  std::map<int64_t, double> seen;
  for (int64_t step = 0; step < 3000; ++step)
    seen[batches.padded_size(
        static_cast<int64_t>(batches.examples(random::key(1), step).size()))] += 1. / 3000;
  double sum = 0;
  for (const auto& [size, probability] : sizes) {
    sum += probability;
    EXPECT_NEAR(seen[size], probability, .04) << size;
  }
  EXPECT_NEAR(sum, 1, 1e-5);
  for (const auto& [size, share] : seen)
    EXPECT_TRUE(std::any_of(sizes.begin(), sizes.end(),
                            [&, s = size](const BatchSize& b) { return b.size == s; }));

  options.batch_size_schedule = {{0, 1}, {1500, 2}};
  const auto scheduled = sizes_of(options);
  EXPECT_GT(scheduled.back().size, sizes.back().size);
  sum = 0;
  for (const auto& [size, probability] : scheduled) sum += probability;
  EXPECT_NEAR(sum, 1, 1e-5);

  PlanOptions cut = options_of(.25);
  cut.relation = NeighboringRelation::kReplaceSpecial;
  cut.truncated_batch_size = 18;
  EXPECT_EQ(sizes_of(cut).back().size, 24);
  PlanOptions fixed{.sampler =
                        batch_selection::FixedBatchSampling{
                            .num_examples = kExamples, .batch_size = 10, .iterations = 5},
                    .noise_multiplier = 1,
                    .delta = 1e-3,
                    .relation = NeighboringRelation::kReplaceOne,
                    .accountant = Accountant::kRdp};
  const auto one = sizes_of(fixed);
  ASSERT_EQ(one.size(), 1);
  EXPECT_EQ(one[0].size, 10);
  EXPECT_EQ(one[0].probability, 1);
}

// ---- Data by index

TEST_F(TrainerFitTest, ExamplesOfFilesAreThoseOfArrays) {
  save(path("x.npy"), xs());
  save(path("y.npy"), ys());
  const NpyExamples x(path("x.npy")), y(path("y.npy"));
  for (const TrainerOptions& options : {TrainerOptions{}, TrainerOptions{.microbatch_size = 4}}) {
    const Trainer trainer(plan_of(), loss, optim::sgd(.5), options);
    auto arrays = trainer.init(weights(), kSeed()), files = trainer.init(weights(), kSeed());
    trainer.fit(arrays, {}, xs(), ys());
    trainer.fit(files, {}, x, y);
    EXPECT_EQ(parameters(files.params), parameters(arrays.params));
  }
  // Arrays and files can be mixed, and a function may return a tree.
  const Trainer trainer(plan_of(), loss, optim::sgd(.5));
  auto mixed = trainer.init(weights(), kSeed()), arrays = trainer.init(weights(), kSeed());
  trainer.fit(mixed, {.precompile = true}, x, ys());
  trainer.fit(arrays, {}, xs(), ys());
  EXPECT_EQ(parameters(mixed.params), parameters(arrays.params));
}

TEST_F(TrainerFitTest, ExamplesOfAFunction) {
  const Array x = xs(), y = ys();
  std::vector<int64_t> asked;
  const auto both = examples_by(kExamples, [&](std::span<const int64_t> indices) {
    asked.assign(indices.begin(), indices.end());
    const Array rows = from_host(std::vector<int32_t>(indices.begin(), indices.end()));
    return std::pair(take(x, rows, {.axis = 0}), take(y, rows, {.axis = 0}));
  });
  const auto paired = [](const Weights& p, const std::pair<Array, Array>& data) {
    return loss(p, data.first, data.second);
  };
  const Trainer trainer(plan_of(), paired, optim::sgd(.5));
  auto state = trainer.init(weights(), kSeed()), arrays = trainer.init(weights(), kSeed());
  const StepReport report = trainer.step(state, both);
  trainer.step(arrays, std::pair(x, y));
  EXPECT_EQ(parameters(state.params), parameters(arrays.params));
  // Padding asks for example 0, which has no influence.
  EXPECT_GE(static_cast<int64_t>(asked.size()), report.examples);
  for (size_t i = static_cast<size_t>(report.examples); i < asked.size(); ++i)
    EXPECT_EQ(asked[i], 0);
}

TEST_F(TrainerFitTest, SourcesThatAreRefused) {
  save(path("x.npy"), xs());
  save(path("short.npy"), slice_in_dim(xs(), 0, 63));
  save(path("other.npy"), xs() + 1);
  const Trainer trainer(plan_of(), loss, optim::sgd(.5));
  auto state = trainer.init(weights());
  expect_error([&] { trainer.step(state, NpyExamples(path("short.npy")), ys()); },
               "expected a source of 64 examples");
  const auto few = examples_by(kExamples, [](std::span<const int64_t>) { return zeros({3, 3}); });
  expect_error([&] { trainer.step(state, few, ys()); }, "to give a row for each of");
  EXPECT_EQ(trainer.steps_done(state), 0);
  trainer.step(state, NpyExamples(path("x.npy")), ys());
  trainer.step(state, NpyExamples(path("x.npy")), ys());  // the file is opened again
  expect_error([&] { trainer.step(state, NpyExamples(path("other.npy")), ys()); },
               "expected the data that this state has begun with");
}

// ---- Transforms before clipping

// A transform that scales by a constant is the same as a loss that does, with the same clip norm.
TEST(TrainerTransformTest, GradientsAreTransformedBeforeTheyAreClipped) {
  const auto tripled = [](const Weights& g) {
    return tree::map([](const Array& x) { return 3 * x; }, g);
  };
  const auto larger = [](const Weights& p, const Array& x, const Array& y) {
    return 3 * loss(p, x, y);
  };
  PlanOptions quiet = options_of();
  quiet.noise_multiplier = 0;
  const Trainer transformed(make_plan(quiet), loss, optim::sgd(.5), {.microbatch_size = 4},
                            tripled);
  const Trainer scaled(make_plan(quiet), larger, optim::sgd(.5));
  auto a = transformed.init(weights(), kSeed()), b = scaled.init(weights(), kSeed());
  // Batches depend on the key and the plan, which are the same.
  for (int i = 0; i < 4; ++i) transformed.step(a, xs(), ys()), scaled.step(b, xs(), ys());
  expect_close(parameters(a.params), parameters(b.params), 1e-5);
}

TEST(TrainerTransformTest, ScaleThenPrivatizeUndoesItsScale) {
  // Without clipping and noise the transform cancels, which leaves Adam.
  PlanOptions open = options_of();
  open.noise_multiplier = 0;
  open.l2_clip_norm = 1e12;
  open.sampling_prob = 1;  // another optimizer has other keys, and so other batches
  const Trainer scaled(make_plan(open), loss, scale_then_privatize(optim::adam(.1), {.eps = 1e-2}));
  const Trainer plain(make_plan(open), loss, optim::adam(.1));
  auto a = scaled.init(weights()), b = plain.init(weights());
  for (int i = 0; i < 4; ++i) scaled.step(a, xs(), ys()), plain.step(b, xs(), ys());
  expect_close(parameters(a.params), parameters(b.params), 1e-3);
  // With a clip norm the scale matters.
  PlanOptions quiet = options_of(1);
  quiet.noise_multiplier = 0;
  const Trainer c(make_plan(quiet), loss, scale_then_privatize(optim::adam(.1), {.eps = 1e-2}));
  const Trainer d(make_plan(quiet), loss, optim::adam(.1));
  auto x = c.init(weights()), y = d.init(weights());
  for (int i = 0; i < 4; ++i) c.step(x, xs(), ys()), d.step(y, xs(), ys());
  EXPECT_NE(parameters(x.params), parameters(y.params));
}

TEST(TrainerTransformTest, WhatATransformReadsIsAPartOfTheRun) {
  const auto by = [](float factor) {
    return [factor](const Weights& g) {
      return tree::map([=](const Array& x) { return factor * x; }, g);
    };
  };
  const Trainer two(plan_of(), loss, optim::sgd(.5), {}, by(2));
  const Trainer three(plan_of(), loss, optim::sgd(.5), {}, by(3));
  auto state = two.init(weights());
  two.step(state, xs(), ys());
  expect_error([&] { three.step(state, xs(), ys()); }, "expected the loss and the types of data");
  // The values that a schedule computes count as well.
  const Trainer slow(plan_of(), loss, optim::sgd([](const Array&) { return Array(.1f); }));
  const Trainer fast(plan_of(), loss, optim::sgd([](const Array&) { return Array(.2f); }));
  auto other = slow.init(weights());
  slow.step(other, xs(), ys());
  expect_error([&] { fast.step(other, xs(), ys()); }, "expected the loss and the types of data");
}

TEST(TrainerTransformTest, PlansThatAreRefused) {
  const auto same = [](const Weights& g) { return g; };
  PlanOptions parts = options_of();
  parts.subtree_norms = {{"w", 1.0}};
  expect_error([&] { Trainer(make_plan(parts), loss, optim::sgd(.5), {}, same); },
               "a plan without subtree_norms");
  PlanOptions adaptive = options_of();
  adaptive.adaptive_clip_norm = AdaptiveClipNorm{.count_stddev = 3};
  expect_error([&] { Trainer(make_plan(adaptive), loss, scale_then_privatize(optim::adam(.1))); },
               "a plan without adaptive_clip_norm");
}

// ---- Whole numbers on a grid

TEST(TrainerGridTest, DiscreteNoiseTrainsAsGaussianNoise) {
  PlanOptions options = options_of(1);  // other plans have other keys, and so other batches
  options.noise_multiplier = 1e-3;
  PlanOptions whole = options;
  whole.mechanism = DiscreteGaussian{};
  const Trainer a(make_plan(whole), loss, optim::sgd(.5)),
      b(make_plan(options), loss, optim::sgd(.5));
  auto x = a.init(weights(), kSeed()), y = b.init(weights(), kSeed());
  for (int i = 0; i < 4; ++i) {
    const StepReport on_grid = a.step(x, xs(), ys()), real = b.step(y, xs(), ys());
    EXPECT_EQ(on_grid.clip_norm, real.clip_norm);
    EXPECT_NEAR(on_grid.mean_norm, real.mean_norm, 1e-2);
  }
  expect_close(parameters(x.params), parameters(y.params), 5e-3);
}

// ---- Clip norms over the steps, and none

TEST(TrainerClipNormTest, AScheduleOfClipNormsScalesSumAndNoise) {
  PlanOptions options = options_of(.5);
  options.steps = 200;
  options.clip_norm_schedule = {{0, 1}, {100, .125}};
  const Plan plan = make_plan(options);
  PlanOptions constant = options;
  constant.clip_norm_schedule = 1.0;
  EXPECT_EQ(plan.epsilon(), make_plan(constant).epsilon());
  EXPECT_NE(plan.fingerprint(), make_plan(constant).fingerprint());
  EXPECT_EQ(plan.clip_norm_factor(100), .125);
  const auto flat = [](const Weights& p, const Array& x, const Array& y) {
    return 0 * loss(p, x, y);
  };
  const Trainer noise(plan, flat, optim::sgd(1));
  auto state = noise.init(weights(), kSeed());
  double squares[2] = {};
  std::vector<float> last = parameters(state.params);
  for (int step = 0; step < 200; ++step) {
    EXPECT_FLOAT_EQ(noise.step(state, xs(), ys()).clip_norm, step < 100 ? .5 : .0625);
    const std::vector<float> now = parameters(state.params);
    for (size_t i = 0; i < now.size(); ++i)
      squares[step / 100] += std::pow(now[i] - last[i], 2) / 100 / static_cast<double>(now.size());
    last = now;
  }
  EXPECT_NEAR(std::sqrt(squares[0]) / plan.stddev(), 1, .12);
  EXPECT_NEAR(std::sqrt(squares[1]) / plan.stddev(), .125, .015);
}

TEST(TrainerClipNormTest, ASumByAScheduledNormIsThatOfThePlanWithIt) {
  for (bool rescaled : {false, true}) {
    PlanOptions options = options_of(1);
    options.noise_multiplier = 0;
    options.rescale_to_unit_norm = rescaled;
    options.clip_norm_schedule = {{0, .25}};
    PlanOptions by_number = options;
    by_number.clip_norm_schedule = 1.0;
    by_number.l2_clip_norm = options.l2_clip_norm * .25;
    const Trainer a(make_plan(options), loss, optim::sgd(.5));
    const Trainer b(make_plan(by_number), loss, optim::sgd(.5));
    auto x = a.init(weights(), kSeed()), y = b.init(weights(), kSeed());
    a.step(x, xs(), ys()), b.step(y, xs(), ys());
    expect_close(parameters(x.params), parameters(y.params), 1e-6);
  }
}

TEST(TrainerClipNormTest, PartsHaveTheScheduleToo) {
  PlanOptions options = options_of(1);
  options.noise_multiplier = 0;
  options.subtree_norms = {{"w", .4}};
  options.clip_norm_schedule = {{0, .25}};
  PlanOptions by_number = options;
  by_number.clip_norm_schedule = 1.0;
  by_number.l2_clip_norm = .125;
  by_number.subtree_norms = {{"w", .1}};
  const Trainer a(make_plan(options), loss, optim::sgd(.5));
  const Trainer b(make_plan(by_number), loss, optim::sgd(.5));
  auto x = a.init(weights(), kSeed()), y = b.init(weights(), kSeed());
  a.step(x, xs(), ys()), b.step(y, xs(), ys());
  expect_close(parameters(x.params), parameters(y.params), 1e-6);
}

TEST(TrainerClipNormTest, WithoutPrivacyIsPlainTrainingOnTheSameBatches) {
  PlanOptions options = options_of(1);
  options.l2_clip_norm = 1e-3;
  options.noise_schedule = {{0, 1}, {2, 2}};
  const Plan open = make_plan(options).without_privacy();
  EXPECT_FALSE(open.is_private());
  EXPECT_TRUE(std::isinf(open.epsilon()) && std::isinf(open.epsilon(1)));
  EXPECT_EQ(open.stddev(), 0);
  EXPECT_THAT(to_string(open), ::testing::StartsWith("NOT PRIVATE"));
  EXPECT_NE(open.fingerprint(), make_plan(options).fingerprint());
  const Trainer trainer(open, loss, optim::sgd(.5));
  auto state = trainer.init(weights());
  EXPECT_THAT(trainer.progress(trainer.step(state, xs(), ys())),
              ::testing::HasSubstr("NOT PRIVATE"));
  const Weights g = grad([](const Weights& p, const Array& x, const Array& y) {
    return loss(p, x, y);
  })(weights(), xs(), ys());
  const Weights expected =
      tree::map([](const Array& p, const Array& d) { return p - .5f * d; }, weights(), g);
  expect_close(parameters(state.params), parameters(expected), 1e-5);
  // A state of this plan cannot be used with a private plan.
  const Trainer hidden(make_plan(options), loss, optim::sgd(.5));
  expect_error([&] { hidden.step(state, xs(), ys()); }, "expected a state of this plan");
}

}  // namespace
}  // namespace tessera::privacy::trainer_fit_test
