// Training with DiscreteGaussian noise (trainer_program.h).
#include <gtest/gtest.h>

#include <cmath>

#include "../io/files.h"
#include "trainer_problem.h"

namespace tessera::privacy::trainer_grid_test {
namespace {

using namespace trainer_problem;

random::Key seed() { return random::key(0); }

PlanOptions on_grid(double probability = .25) {
  PlanOptions out = options_of(probability);
  out.mechanism = DiscreteGaussian{};
  return out;
}

class TrainerGridFolderTest : public tessera::test::FolderTest {};

TEST_F(TrainerGridFolderTest, AResumedRunHasTheSameBits) {
  PlanOptions options = on_grid();
  options.strategy = BandedNoise{.bands = 3};
  options.noise_schedule = {{0, 1}, {4, 2}, {8, .5}};
  options.clip_norm_schedule = {{0, 1}, {6, .5}};
  options.subtree_norms = {{"w", .3}};
  const auto trainer_of = [&] { return Trainer(make_plan(options), loss, optim::adam(.1)); };
  const auto whole = trainer_of();
  auto expected = whole.init(weights(), reproducible(seed()));
  run_to(whole, expected, 12);

  const auto first = trainer_of();
  auto state = first.init(weights(), reproducible(seed()));
  run_to(first, state, 5);
  first.save(path("run"), state);
  const auto second = trainer_of();
  auto resumed = second.init(weights(), reproducible(seed()));
  EXPECT_TRUE(second.restore(path("run"), resumed));
  run_to(second, resumed, 12);
  EXPECT_EQ(bits_of(resumed), bits_of(expected));
  for (const float x : parameters(resumed.params)) EXPECT_TRUE(std::isfinite(x));
}

// Returns the parameters after each step. Gradients are 0, so they are sums of noise.
std::vector<std::vector<float>> walk(const PlanOptions& options) {
  const auto flat = [](const Weights& p, const Array& x, const Array& y) {
    return 0 * loss(p, x, y);
  };
  const Trainer trainer(make_plan(options), flat, optim::sgd(1));
  auto state = trainer.init(weights(), reproducible(seed()));
  std::vector<std::vector<float>> out{parameters(state.params)};
  for (int64_t step = 0; step < options.steps; ++step) {
    trainer.step(state, xs(), ys());
    out.push_back(parameters(state.params));
  }
  return out;
}

TEST(TrainerGridTest, NoiseFollowsTheSchedules) {
  PlanOptions options = on_grid(.5);
  options.steps = 400;
  options.noise_schedule = {{0, 1}, {200, 3}};
  options.clip_norm_schedule = {{0, 1}, {200, .125}};
  const Plan plan = make_plan(options);
  const auto path = walk(options);
  double squares[2] = {};
  for (size_t step = 0; step < 400; ++step)
    for (size_t i = 0; i < path[0].size(); ++i)
      squares[step / 200] += std::pow(path[step + 1][i] - path[step][i], 2) / 200 /
                             static_cast<double>(path[0].size());
  EXPECT_NEAR(std::sqrt(squares[0]) / plan.stddev(), 1, .08);
  EXPECT_NEAR(std::sqrt(squares[1]) / plan.stddev(), 3 * .125, .03);
}

// Banded noise partly cancels over the steps: a fraction remains of what independent noise adds up
// to.
TEST(TrainerGridTest, BandedNoiseCancels) {
  PlanOptions options = on_grid(.25);
  options.steps = 200;
  const auto reached = [&](const NoiseStrategy& strategy) {
    options.strategy = strategy;
    const auto path = walk(options);
    double squares = 0;
    for (const auto& at : path)
      for (size_t i = 0; i < at.size(); ++i) squares += std::pow(at[i] - path[0][i], 2);
    return std::sqrt(squares / static_cast<double>(path.size() * path[0].size())) /
           make_plan(options).sensitivity();
  };
  EXPECT_LT(reached(BandedNoise{.bands = 4}), .8 * reached(IndependentNoise{}));
}

// With almost no noise the steps are those of the mechanism Gaussian.
TEST(TrainerGridTest, StepsAreThoseOfFloatSums) {
  PlanOptions options = options_of(1);
  options.steps = 4;
  options.noise_multiplier = 2e-3;
  options.noise_schedule = {{0, 1}, {2, .25}};
  options.clip_norm_schedule = {{0, 1}, {1, 4}, {3, .5}};
  options.subtree_norms = {{"w", .3}};
  PlanOptions whole = options;
  whole.mechanism = DiscreteGaussian{};
  const Trainer a(make_plan(whole), loss, optim::sgd(.5)),
      b(make_plan(options), loss, optim::sgd(.5));
  auto x = a.init(weights(), seed()), y = b.init(weights(), seed());
  for (int i = 0; i < 4; ++i) {
    const StepReport grid = a.step(x, xs(), ys()), real = b.step(y, xs(), ys());
    EXPECT_EQ(grid.clip_norm, real.clip_norm);
    EXPECT_NEAR(grid.mean_norm, real.mean_norm, 1e-2);
    const std::vector<float> p = parameters(x.params), q = parameters(y.params);
    for (size_t j = 0; j < p.size(); ++j) EXPECT_NEAR(p[j], q[j], 2e-2) << i << " " << j;
  }
  EXPECT_NE(parameters(x.params), parameters(weights()));
}

// If no mechanism is named, the plan chooses a grid. The steps and the releases are those of a plan
// that names this grid.
TEST(TrainerGridTest, TheDefaultMechanismIsDiscrete) {
  PlanOptions options = options_of(.5);
  options.mechanism.reset();
  const Plan unnamed = make_plan(options);
  ASSERT_TRUE(std::holds_alternative<DiscreteGaussian>(unnamed.mechanism()));
  options.mechanism = DiscreteGaussian{.grid_scale = 1 << 19};
  EXPECT_EQ(make_plan(options).fingerprint(), unnamed.fingerprint());
  const auto released = [](const Plan& plan) {
    const Trainer trainer(plan, loss, optim::sgd(.5));
    auto state = trainer.init(weights(), reproducible(seed(), KeyReuse::kAllowed));
    run_to(trainer, state, 3);
    return parameters(trainer.release(state));
  };
  EXPECT_EQ(released(unnamed), released(make_plan(options)));
}

// Gradients are transformed and then rounded to the grid, with the noise of each step.
TEST(TrainerGridTest, TransformedGradientsAreOnTheGrid) {
  PlanOptions options = options_of(1);
  options.steps = 4;
  options.noise_multiplier = 1e-3;
  options.clip_norm_schedule = {{0, 1}, {2, .5}};
  const auto halved = [](const Weights& g) { return Weights{.5 * g.w, .5 * g.b}; };
  PlanOptions whole = options;
  whole.mechanism = DiscreteGaussian{};
  const Trainer a(make_plan(whole), loss, optim::sgd(.5), {.microbatch_size = 4}, halved),
      b(make_plan(options), loss, optim::sgd(.5), {.microbatch_size = 4}, halved);
  auto x = a.init(weights(), seed()), y = b.init(weights(), seed());
  run_to(a, x, 4);
  run_to(b, y, 4);
  const std::vector<float> p = parameters(x.params), q = parameters(y.params);
  for (size_t j = 0; j < p.size(); ++j) EXPECT_NEAR(p[j], q[j], 1e-2) << j;
  EXPECT_NE(p, parameters(weights()));
}

}  // namespace
}  // namespace tessera::privacy::trainer_grid_test
