// Training by a plan gives the same result as its parts called one by one, and can be resumed with
// the same bits; what it refuses.
#include "tessera/privacy/trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "../io/files.h"
#include "tessera/compile/caches.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/mesh/scoped_devices.h"
#include "tessera/nnx/modules.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/nn.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/placement.h"
#include "tessera/numpy/reduce.h"
#include "tessera/optim/optim.h"
#include "tessera/random/random.h"
#include "trainer_problem.h"

namespace tessera::privacy::trainer_test {
namespace {

using tessera::test::expect_error;
using namespace trainer_problem;

TEST(TrainerTest, AStepIsItsPartsByHand) {
  const Plan plan = plan_of();
  const Trainer trainer(plan, loss, optim::sgd(.5));
  auto state = trainer.init(weights(), reproducible(random::key(0)));
  const auto before = state;
  const random::Key key = random::wrap_key_data(before.books.selection_key.data + uint32_t{0});
  const auto first = random::wrap_key_data(before.books.noise.key.data + uint32_t{0});
  const StepReport report = trainer.step(state, xs(), ys());
  const auto noise =
      internal::fold_in_digest(first, internal::digest_of_words(state.books.program));

  const batch_selection::Batch batch = batch_selection::batches(plan.sampler(), key).at(0);
  ASSERT_EQ(report.examples, static_cast<int64_t>(batch.size()));
  std::vector<int32_t> indices(batch.begin(), batch.end());
  const Array rows = from_host(indices, {report.examples});
  ClipOptions options = plan.clip_options();
  options.batch_argnums = {1, 2};
  const auto sum = clipped_value_and_grad(loss, options)(weights(), take(xs(), rows, {.axis = 0}),
                                                         take(ys(), rows, {.axis = 0}));
  const auto privatizer = plan.privatizer(noise);
  const auto [noisy, next] = privatizer.update(sum.grads, privatizer.init(sum.grads));
  const Weights expected =
      tree::map([](const Array& p, const Array& g) { return p - .5 * g; }, weights(), noisy);
  const std::vector<float> a = parameters(state.params), b = parameters(expected);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6);
  EXPECT_NEAR(report.loss, mean(sum.values).item<double>(), 1e-5);
  EXPECT_NEAR(report.mean_norm, mean(sum.grad_norms).item<double>(), 1e-5);
  EXPECT_NEAR(report.max_norm, max(sum.grad_norms).item<double>(), 1e-5);
  EXPECT_NEAR(report.clipped, mean(astype(sum.grad_norms > .5, float32)).item<double>(), 1e-6);
  EXPECT_EQ(report.step, 1);
  EXPECT_EQ(trainer.steps_done(state), 1);
  EXPECT_EQ(trainer.epsilon(state), plan.epsilon(1));
}

// On a grid the same key gives the same bits.
TEST(TrainerTest, NoiseInWholeNumbers) {
  PlanOptions options = options_of();
  options.mechanism = DiscreteGaussian{};
  const Trainer trainer(make_plan(options), loss, optim::sgd(.5));
  auto state = trainer.init(weights(), reproducible(random::key(0))),
       again = trainer.init(weights(), reproducible(random::key(0)));
  for (auto* s : {&state, &again})
    for (int t = 0; t < 3; ++t) trainer.step(*s, xs(), ys());
  EXPECT_EQ(parameters(state.params), parameters(again.params));
  EXPECT_NE(parameters(state.params), parameters(weights()));
  for (const float x : parameters(state.params)) EXPECT_TRUE(std::isfinite(x));
}

// Without a key no two runs are equal.
TEST(TrainerTest, NoiseOfTheSystem) {
  PlanOptions options = options_of();
  options.random_source = RandomSource::kSystem;
  const Trainer trainer(make_plan(options), loss, optim::sgd(.5));
  std::vector<std::vector<float>> results;
  for (int run = 0; run < 2; ++run) {
    auto state = trainer.init(weights());
    trainer.step(state, xs(), ys());
    results.push_back(parameters(state.params));
  }
  EXPECT_NE(results[0], results[1]);
  expect_error([&] { trainer.init(weights(), random::key(0)); },
               "[privacy::Trainer::init] expected no key for a plan of RandomSource::kSystem");
  expect_error([&] { trainer.init(weights(), reproducible(random::key(0))); },
               "expected no key for a plan of RandomSource::kSystem");
}

class TrainerFolderTest : public tessera::test::FolderTest {};

// With independent noise, and with correlated noise, whose buffers belong to the state.
TEST_F(TrainerFolderTest, AResumedRunHasTheSameBits) {
  for (const NoiseStrategy& strategy :
       {NoiseStrategy(IndependentNoise{}), NoiseStrategy(BandedNoise{.bands = 3})}) {
    PlanOptions options = options_of();
    options.strategy = strategy;
    const std::string folder = path(std::to_string(strategy.index()));
    const auto trainer_of = [&] { return Trainer(make_plan(options), loss, optim::adam(.1)); };
    const auto whole = trainer_of();
    auto expected = whole.init(weights(), reproducible(random::key(0)));
    run_to(whole, expected, 12);

    const auto first = trainer_of();
    auto state = first.init(weights(), reproducible(random::key(0)));
    EXPECT_FALSE(first.restore(folder, state));
    run_to(first, state, 5);
    first.save(folder, state);
    run_to(first, state, 7);  // lost: the next trainer does not have these steps

    const auto second = trainer_of();
    auto resumed = second.init(weights(), reproducible(random::key(0)));
    EXPECT_TRUE(second.restore(folder, resumed));
    EXPECT_EQ(second.steps_done(resumed), 5);
    run_to(second, resumed, 12);
    EXPECT_EQ(bits_of(resumed), bits_of(expected));
  }
}

// Returns the sizes of the batches of the steps up to this one.
template <class Trainer, class State>
std::vector<int64_t> sizes_up_to(const Trainer& trainer, State& state, int64_t steps) {
  std::vector<int64_t> out;
  while (trainer.steps_done(state) < steps) out.push_back(trainer.step(state, xs(), ys()).examples);
  return out;
}

PlanOptions options_of_system(const NoiseStrategy& strategy) {
  PlanOptions options = options_of();
  options.strategy = strategy;
  options.random_source = RandomSource::kSystem;
  return options;
}

// Poisson samples: a run that continues, in any trainer, draws new batches, and its state has no
// key.
TEST_F(TrainerFolderTest, ARunOfTheSystemGoesOnAnywhere) {
  const auto trainer_of = [&] {
    return Trainer(make_plan(options_of_system(IndependentNoise{})), loss, optim::sgd(.1));
  };
  const auto first = trainer_of(), second = trainer_of();
  auto state = first.init(weights());
  EXPECT_EQ(to_vector<uint32_t>(state.books.selection_key.data), (std::vector<uint32_t>{0, 0}));
  run_to(first, state, 5);
  first.save(folder_, state);
  std::set<std::vector<int64_t>> sizes{sizes_up_to(first, state, 12)};
  for (const auto* trainer : {&first, &second}) {
    auto resumed = trainer->init(weights());
    ASSERT_TRUE(trainer->restore(folder_, resumed));
    EXPECT_EQ(trainer->steps_done(resumed), 5);
    sizes.insert(sizes_up_to(*trainer, resumed, 12));
  }
  EXPECT_EQ(sizes.size(), 3u);
}

// Groups of a cycle: the trainer that began the run keeps its groups. In another trainer, and after
// the run, there are no groups, so the run cannot continue.
TEST_F(TrainerFolderTest, AScheduleOfTheSystemIsOfItsTrainer) {
  const auto trainer_of = [&] {
    return Trainer(make_plan(options_of_system(BandedNoise{.bands = 3})), loss, optim::sgd(.1));
  };
  const auto first = trainer_of(), second = trainer_of();
  auto state = first.init(weights());
  run_to(first, state, 5);
  first.save(folder_, state);
  const std::vector<int64_t> sizes = sizes_up_to(first, state, 11);

  auto elsewhere = second.init(weights());
  const std::vector<float> before = bits_of(elsewhere);
  const char* refused = "expected a run of RandomSource::kSystem that this trainer has begun";
  expect_error([&] { second.restore(folder_, elsewhere); }, refused);
  EXPECT_EQ(bits_of(elsewhere), before);
  auto read = restore_checkpoint(folder_, elsewhere);
  expect_error([&] { second.step(read, xs(), ys()); }, refused);
  EXPECT_EQ(second.steps_done(read), 5);
  expect_error([&] { second.fit(elsewhere, {.checkpoints = folder_}, xs(), ys()); }, refused);

  auto resumed = first.init(weights());
  ASSERT_TRUE(first.restore(folder_, resumed));
  EXPECT_EQ(sizes_up_to(first, resumed, 11), sizes);

  // After the last step any trainer can restore the run, and no earlier state can continue.
  first.step(resumed, xs(), ys());
  first.save(folder_, resumed);
  EXPECT_TRUE(second.restore(folder_, elsewhere));
  EXPECT_EQ(second.steps_done(elsewhere), 12);
  expect_error([&] { first.step(state, xs(), ys()); }, refused);
}

TEST_F(TrainerFolderTest, AnotherPlanOrOptimizerDoesNotGoOn) {
  const Trainer trainer(plan_of(), loss, optim::sgd(.5));
  auto state = trainer.init(weights(), reproducible(random::key(0)));
  trainer.step(state, xs(), ys());
  trainer.save(folder_, state);
  const auto refused = [&](const auto& other) {
    auto mine = other.init(weights(), reproducible(random::key(0)));
    expect_error([&] { other.restore(folder_, mine); },
                 "expected a state of this plan and optimizer");
    EXPECT_EQ(other.steps_done(mine), 0);
    const auto theirs = restore_checkpoint(folder_, mine);
    auto copy = theirs;
    expect_error([&] { other.step(copy, xs(), ys()); }, "expected a state of this plan");
  };
  PlanOptions longer = options_of();
  longer.steps = 13;
  refused(Trainer(make_plan(longer), loss, optim::sgd(.5)));
  refused(Trainer(plan_of(.2), loss, optim::sgd(.5)));
  refused(Trainer(plan_of(), loss, optim::sgd(.25)));  // its next gradients would differ
}

TEST(TrainerTest, AStateIsUsedOnce) {
  const Trainer trainer(plan_of(), loss, optim::sgd(.5));
  auto state = trainer.init(weights(), reproducible(random::key(0)));
  trainer.step(state, xs(), ys());
  auto copy = state;
  trainer.step(state, xs(), ys());
  expect_error([&] { trainer.step(copy, xs(), ys()); }, "donated");
}

// No two plans, and no two steps, share noise. With an empty batch the gradient is only noise.
TEST(TrainerTest, AnEmptyBatchIsAStepOfNoise) {
  std::vector<float> draws;
  for (double multiplier : {1., 2.}) {
    PlanOptions options = options_of(0);
    options.noise_multiplier = multiplier;
    options.normalize_by = 1;
    const Trainer trainer(make_plan(options), loss, optim::sgd(1));
    auto state = trainer.init(weights(), reproducible(random::key(0)));
    std::vector<float> last = parameters(state.params);
    for (int step = 0; step < 2; ++step) {
      const StepReport report = trainer.step(state, xs(), ys());
      EXPECT_EQ(report.examples, 0);
      EXPECT_TRUE(std::isnan(report.loss));
      EXPECT_EQ(to_string(report), "no examples");
      const std::vector<float> now = parameters(state.params);
      for (size_t i = 0; i < now.size(); ++i)
        draws.push_back((now[i] - last[i]) / static_cast<float>(multiplier));
      last = now;
    }
    EXPECT_EQ(trainer.steps_done(state), 2);
  }
  double squares = 0;
  for (size_t i = 0; i < draws.size(); ++i) {
    squares += draws[i] * draws[i];
    for (size_t j = 0; j < i; ++j) EXPECT_GT(std::abs(draws[i] - draws[j]), 1e-6) << i << " " << j;
  }
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(draws.size())), .5, .25);  // the clip norm
}

// Training follows the plan's schedules: batches, noise and the scale of the update.
TEST(TrainerTest, SchedulesAreFollowed) {
  PlanOptions options = options_of(.1);
  options.steps = 400;
  options.noise_schedule = {{0, 1}, {200, 8}};
  options.batch_size_schedule = {{0, 1}, {200, 4}};
  options.l2_clip_norm = 1e-6;
  const Plan plan = make_plan(options);
  // The updates are noise.
  const auto flat = [](const Weights& p, const Array& x, const Array& y) {
    return 0 * loss(p, x, y);
  };
  const Trainer trainer(plan, flat, optim::sgd(1e6));
  auto state = trainer.init(weights(), reproducible(random::key(0)));
  double squares[2] = {}, examples[2] = {};
  std::vector<float> last = parameters(state.params);
  for (int step = 0; step < 400; ++step) {
    examples[step / 200] += static_cast<double>(trainer.step(state, xs(), ys()).examples) / 200;
    const std::vector<float> now = parameters(state.params);
    for (size_t i = 0; i < now.size(); ++i)
      squares[step / 200] += std::pow(now[i] - last[i], 2) / 200 / static_cast<double>(now.size());
    last = now;
  }
  EXPECT_NEAR(examples[0], 6.4, .6);
  EXPECT_NEAR(examples[1], 25.6, 1);
  // The scales are 1 / 6.4 and 8 / 25.6, each measured on 1,600 numbers.
  EXPECT_NEAR(std::sqrt(squares[0]) * 6.4, plan.stddev(0) * 6.4 * 1e6, .1);
  EXPECT_NEAR(std::sqrt(squares[1]) * 6.4, plan.stddev(200) * 6.4 / 4 * 1e6, .2);
  EXPECT_NEAR(plan.stddev(0), plan.clipped_norm(), 1e-12);
}

TEST(TrainerTest, BatchesOfAllSizesTakeFewPrograms) {
  int traced = 0;
  const auto counted = [&](const Weights& p, const Array& x, const Array& y) {
    ++traced;
    return loss(p, x, y);
  };
  PlanOptions options = options_of(.25);
  options.steps = 60;
  const Trainer trainer(make_plan(options), counted, optim::sgd(.01));
  auto state = trainer.init(weights(), reproducible(random::key(3)));
  std::set<int64_t> sizes;
  trainer.step(state, xs(), ys());
  const int of_one = traced;
  for (int step = 1; step < 60; ++step) sizes.insert(trainer.step(state, xs(), ys()).examples);
  EXPECT_GE(sizes.size(), 8);
  EXPECT_LE(traced, 4 * of_one);  // 16, 24, 32; the first state is placed otherwise
}

TEST(TrainerTest, PaddedSizes) {
  const Plan plan = plan_of(.25);  // 16 examples on average
  const internal::StepBatches batches(plan, {});
  EXPECT_EQ(batches.padded_size(0), 16);
  EXPECT_EQ(batches.padded_size(16), 16);
  EXPECT_EQ(batches.padded_size(17), 24);
  EXPECT_EQ(batches.padded_size(64), 64);
  const internal::StepBatches of_five(plan, {.padding_multiple = 5});
  EXPECT_EQ(of_five.padded_size(1), 15);
  EXPECT_EQ(of_five.padded_size(16), 20);
  // No example is alone on its device.
  const ScopedDevices sixteen("cpu:16");
  EXPECT_EQ(internal::StepBatches(plan, {}).padded_size(0), 32);
  // The padding is in the last microbatches, which are strided: 0 and 2, 1 and 3.
  const internal::StepBatch batch = batches.padded({7, 8, 9}, 2, 4);
  EXPECT_EQ(to_vector<int32_t>(batch.indices), (std::vector<int32_t>{7, 9, 8, -1}));
  EXPECT_EQ(to_vector<bool>(batch.padding), (std::vector<bool>{false, false, false, true}));
}

// Rows of padding are 0, whatever the example has to which their indices point.
TEST(TrainerTest, PaddingIsClearedInEveryDtype) {
  const Array padding = array({false, true, false});
  for (DType dtype : {bool_, int8, uint8, int32, uint32, float16, bfloat16, float32, complex64})
    for (const Shape& shape : {Shape{3}, Shape{3, 2}, Shape{3, 2, 2}}) {
      const Array rows = astype(ones(shape), dtype);
      const Array out = internal::clear_rows(rows, padding);
      ASSERT_EQ(out.dtype(), dtype);
      const std::vector<float> got = to_vector<float>(astype(real(out), float32));
      const size_t row = got.size() / 3;
      for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], i / row == 1 ? 0 : 1);
    }
  const Array not_finite = from_host(std::vector<float>{1, NAN, INFINITY}, {3});
  EXPECT_EQ(to_vector<float>(internal::clear_rows(not_finite, array({false, true, true}))),
            (std::vector<float>{1, 0, 0}));
}

// Padding reads the last example. If that is not in the batch, the step does not depend on it.
TEST(TrainerTest, ExamplesThatAreNotInTheBatchHaveNoInfluence) {
  const Trainer trainer(plan_of(.3), loss, optim::sgd(.5));
  for (float bad : {NAN, INFINITY, 1e30f}) {
    auto state = trainer.init(weights(), random::key(0));
    auto other = trainer.init(weights(), random::key(0));
    std::vector<float> x = to_vector<float>(xs());
    const batch_selection::Batch examples =
        batch_selection::batches(trainer.plan().sampler(), state.books.selection_key).at(0);
    for (int64_t i = 0; i < kExamples; ++i)
      if (!std::binary_search(examples.begin(), examples.end(), i))
        for (int64_t j = 0; j < 3; ++j) x[static_cast<size_t>(3 * i + j)] = bad;
    trainer.step(state, xs(), ys());
    trainer.step(other, from_host(x, {kExamples, 3}), ys());
    EXPECT_EQ(parameters(other.params), parameters(state.params));
  }
}

// Microbatches give the same sums, added up in another order.
TEST(TrainerTest, MicrobatchesOfAMemoryBudget) {
  const Plan plan = plan_of(.5);
  const auto after = [&](const TrainerOptions& options) {
    const Trainer trainer(plan, loss, optim::sgd(.5), options);
    auto state = trainer.init(weights(), reproducible(random::key(0)));
    for (int i = 0; i < 3; ++i) trainer.step(state, xs(), ys());
    return parameters(state.params);
  };
  const std::vector<float> expected = after({});
  for (const TrainerOptions& options : {TrainerOptions{.microbatch_size = 4},
                                        TrainerOptions{.memory_budget_bytes = int64_t{1} << 40},
                                        TrainerOptions{.automatic_microbatch_size = true}}) {
    const std::vector<float> got = after(options);
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5);
  }
  expect_error([&] { after({.memory_budget_bytes = 1}); }, "expected a memory_budget_bytes that");
}

TEST(TrainerTest, TheLargestMicrobatchWithinTheBudget) {
  internal::StepBatches batches(plan_of(.5), {.memory_budget_bytes = 100});  // multiples of 16
  std::vector<int64_t> asked;
  const auto bytes = [&](int64_t m) {
    asked.push_back(m);
    return 25 * (m == 0 ? 32 : m);
  };
  EXPECT_EQ(batches.microbatch(32, bytes), 4);
  EXPECT_EQ(asked, (std::vector<int64_t>{0, 16, 8, 4}));
  EXPECT_EQ(batches.microbatch(32, bytes), 4);
  EXPECT_EQ(asked.size(), 4);
}

TEST(TrainerTest, ExamplesThatAreNotFiniteAreCounted) {
  std::vector<float> x = to_vector<float>(xs());
  x[0] = std::numeric_limits<float>::quiet_NaN();
  x[3] = std::numeric_limits<float>::infinity();
  const Trainer trainer(plan_of(1), loss, optim::sgd(.5));
  auto state = trainer.init(weights(), reproducible(random::key(0)));
  for (int i = 0; i < 2; ++i) {
    const StepReport report = trainer.step(state, from_host(x, {kExamples, 3}), ys());
    EXPECT_EQ(report.non_finite, 2);
    EXPECT_EQ(report.examples, kExamples);
    EXPECT_TRUE(std::isfinite(report.loss) && std::isfinite(report.max_norm));
    EXPECT_THAT(to_string(report), ::testing::HasSubstr("2 of them not finite"));
  }
  EXPECT_EQ(state.books.non_finite.item<int>(), 4);
  for (float p : parameters(state.params)) EXPECT_TRUE(std::isfinite(p));
}

TEST(TrainerTest, ModulesTrainTheirParametersAlone) {
  const Trainer trainer(plan_of(), module_loss, optim::adamw(.1));
  const Module module(nnx::Rngs(0));
  auto state = trainer.init(module, reproducible(random::key(0)));
  trainer.step(state, xs(), ys());
  std::vector<bool> moved;
  const std::vector<Array> before = tree::leaves(module), after = tree::leaves(state.params);
  for (size_t i = 0; i < before.size(); ++i)
    moved.push_back(before[i].to_host() != after[i].to_host());
  // The kernel, the bias, and the key of the stream change, but not its count.
  EXPECT_EQ(std::count(moved.begin(), moved.end(), true), 3);
}

TEST(TrainerTest, BatchesCutOverAMesh) {
  const Plan plan = plan_of(.5);
  const auto after = [&](bool cut) {
    const Trainer trainer(plan, loss, optim::sgd(.5));
    Array x = xs(), y = ys();
    Weights p = weights();
    if (cut) {
      const Mesh mesh(create_device_mesh({8}), {"data"});
      x = device_put(x, NamedSharding(mesh, P("data")));
      y = device_put(y, NamedSharding(mesh, P("data")));
      p = device_put(p, NamedSharding(mesh, P()));
    }
    auto state = trainer.init(p, reproducible(random::key(0)));
    for (int i = 0; i < 3; ++i) trainer.step(state, x, y);
    return parameters(state.params);
  };
  const std::vector<float> expected = after(false);
  initialize({.devices = "cpu:8"});
  const std::vector<float> got = after(true);
  initialize({.devices = "cpu:1"});
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5);
}

TEST_F(TrainerFolderTest, AReportOfCurves) {
  const Trainer trainer(plan_of(), loss, optim::sgd(.5));
  auto state = trainer.init(weights(), reproducible(random::key(0)));
  const std::string file = path("report.html");
  trainer.report_html(file, state);  // before the first step
  StepReport last;
  for (int i = 0; i < 5; ++i) last = trainer.step(state, xs(), ys());
  trainer.report_html(file, state);

  const std::string page = tessera::test::bytes_of(file);
  for (const char* text : {"<!DOCTYPE html>", "Loss", "clip norm", "Epsilon at delta 0.001",
                           "5 of 12 steps done", "</html>"})
    EXPECT_THAT(page, ::testing::HasSubstr(text));
  EXPECT_THAT(page, ::testing::Not(::testing::HasSubstr("nan")));
  EXPECT_THAT(trainer.progress(last), ::testing::HasSubstr("epsilon "));
  expect_error([&] { trainer.report_html(folder_, state); }, "privacy::Trainer::report_html");
}

TEST(TrainerTest, HistoryOfLongRunsKeepsItsSize) {
  EXPECT_EQ(internal::history_stride(1), 1);
  EXPECT_EQ(internal::history_stride(512), 1);
  EXPECT_EQ(internal::history_stride(513), 2);
  EXPECT_EQ(internal::history_stride(int64_t{1} << 30), int64_t{1} << 21);
}

TEST(TrainerTest, WhatIsRefused) {
  const auto make = [](const TrainerOptions& options) {
    Trainer(plan_of(), loss, optim::sgd(.5), options);
  };
  expect_error([&] { make({.padding_multiple = 0}); }, "padding_multiple of at least 1, got 0");
  expect_error([&] { make({.microbatch_size = 0}); }, "microbatch_size of at least 1, got 0");
  expect_error([&] { make({.memory_budget_bytes = -1}); }, "memory_budget_bytes of at least 1");
  expect_error([&] { make({.microbatch_size = 3, .padding_multiple = 4}); },
               "a padding_multiple that microbatch_size (3) divides, got 4");
  expect_error([&] { make({.microbatch_size = 3, .memory_budget_bytes = 9}); }, "got more");
  expect_error([&] { make({.microbatch_size = 3, .automatic_microbatch_size = true}); },
               "got more");

  const Trainer trainer(plan_of(), loss, optim::sgd(.5));
  auto state = trainer.init(weights(), reproducible(random::key(0)));
  expect_error(
      [&] {
        trainer.step(state, zeros({63, 3}), zeros({63, 2}));
      },
      "expected data of 64 examples");
  expect_error([&] { trainer.step(state, xs(), zeros({})); }, "expected data of 64 examples");
  run_to(trainer, state, 12);
  expect_error([&] { trainer.step(state, xs(), ys()); }, "expected at most 12 steps");
}

}  // namespace
}  // namespace tessera::privacy::trainer_test
