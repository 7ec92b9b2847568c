// The mechanisms of plans, and the sources of their random numbers (plan_mechanism.cc).
#include <cmath>

#include "plan_options.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/operators.h"

namespace tessera::privacy::plan_mechanism_test {
namespace {

using namespace plan_options;

// The sampler and the clip norm are those of the Gaussian plan. Noise is in whole steps; with 65536
// steps the accounting differs by 4 / 65536^2.
TEST(PlanMechanism, DiscreteGaussian) {
  PlanOptions options{.num_examples = 1000,
                      .steps = 100,
                      .expected_batch_size = 50,
                      .noise_multiplier = 1.5,
                      .delta = 1e-5,
                      .mechanism = Gaussian{},
                      .l2_clip_norm = 2};
  const Plan gaussian = make_plan(options);
  options.mechanism = DiscreteGaussian{.grid_scale = 65536};
  const Plan plan = make_plan(options);
  EXPECT_EQ(plan.clip_options().grid_scale, 65536);
  EXPECT_EQ(plan.clip_options().normalize_by, 1);
  EXPECT_EQ(gaussian.clip_options().grid_scale, std::nullopt);
  EXPECT_EQ(plan.stddev(), 1.5 * 2 / 50);
  EXPECT_EQ(plan.sensitivity(), 2.0 / 50);
  EXPECT_GE(plan.epsilon(), gaussian.epsilon());
  EXPECT_NEAR(plan.epsilon(), gaussian.epsilon(), 1e-6 * gaussian.epsilon());
  EXPECT_NE(plan.fingerprint(), gaussian.fingerprint());
  // Sums are whole steps: the granularity is 2 / 50 / 65536, and the noise has 1.5 * 65536 steps.
  const auto noise = plan.privatizer(random::key(1));
  const Array sum = zeros({100'000}, int32);
  const std::vector<float> noisy = to_vector<float>(noise.update(sum, noise.init(sum)).first);
  const double granularity = 2.0 / 50 / 65536;
  double squares = 0;
  for (const double x : noisy) {
    EXPECT_NEAR(x / granularity, std::round(x / granularity), 0.05);  // float32: 24 bits, steps: 20
    squares += x * x;
  }
  EXPECT_NEAR(std::sqrt(squares / 1e5) / plan.stddev(), 1, 0.01);
  const Array more = sum + 65536;  // by one clip norm
  const auto moved = to_vector<float>(noise.update(more, noise.init(more)).first);
  EXPECT_NEAR(moved[0] - noisy[0], 2.0 / 50, 1e-6);
}

// On a coarse grid the smoothing counts: s = 8 steps count as sqrt(60).
TEST(PlanMechanism, DiscreteGaussianOfACoarseGrid) {
  PlanOptions options{.num_examples = 1000,
                      .steps = 100,
                      .expected_batch_size = 50,
                      .noise_multiplier = 0.5,
                      .delta = 1e-5,
                      .mechanism = DiscreteGaussian{.grid_scale = 16}};
  const Plan plan = make_plan(options);
  options.mechanism = Gaussian{};
  options.noise_multiplier = std::sqrt(60.0) / 16;
  EXPECT_NEAR(plan.epsilon(), make_plan(options).epsilon(), 1e-9);
  // Without amplification an example takes part 100 times, so the noise has ten times as many
  // steps.
  options.amplified = false;
  options.noise_multiplier = 1;
  options.mechanism = DiscreteGaussian{.grid_scale = 16};
  const double steps = 16 * 10;
  const Plan whole = make_plan(options);
  options.mechanism = Gaussian{};
  options.noise_multiplier = std::sqrt(steps * steps - 4) / steps;
  EXPECT_NEAR(whole.epsilon(), make_plan(options).epsilon(), 1e-9);
}

// Calibrated noise reaches the epsilon, with every accountant.
TEST(PlanMechanism, DiscreteGaussianCalibrates) {
  PlanOptions options{.num_examples = 1000,
                      .steps = 100,
                      .expected_batch_size = 50,
                      .epsilon = 2,
                      .delta = 1e-5,
                      .mechanism = DiscreteGaussian{.grid_scale = 32}};
  for (const Accountant accountant : {Accountant::kPld, Accountant::kRdp}) {
    options.accountant = accountant;
    EXPECT_LE(make_plan(options).epsilon(), 2);
    EXPECT_GT(make_plan(options).epsilon(), 1.99);
  }
  PlanOptions sampled = of_sampler(batch_selection::BallsInBinsSampling{
      .num_examples = 100, .iterations = 20, .cycle_length = 10});
  sampled.accountant = Accountant::kMonteCarlo;
  sampled.delta = 1e-3;
  sampled.monte_carlo_seed = 1;  // both have the same samples
  const Plan float_noise = make_plan(sampled);
  sampled.mechanism = DiscreteGaussian{.grid_scale = 32};
  EXPECT_GE(make_plan(sampled).epsilon(), float_noise.epsilon());
}

TEST(PlanMechanism, DiscreteGaussianRefuses) {
  const auto refused = [](auto change, const char* text) {
    expect_refused(
        [&](PlanOptions& o) {
          o.mechanism = DiscreteGaussian{};
          change(o);
        },
        text);
  };
  refused([](PlanOptions& o) { o.strategy = BufferedNoise{}; }, "not BufferedNoise,");
  refused(
      [](PlanOptions& o) { o.strategy = DenseNoise{matrix_factorization::Matrix::identity(1000)}; },
      "not DenseNoise,");
  refused([](PlanOptions& o) { o.strategy = BandedInverseNoise{.bands = 2}; },
          "not BandedInverseNoise,");
  refused([](PlanOptions& o) { o.rescale_to_unit_norm = true; },
          "expected no rescale_to_unit_norm");
  for (const int64_t scale : {int64_t{0}, int64_t{15}, (int64_t{1} << 24) + 1})
    refused([&](PlanOptions& o) { o.mechanism = DiscreteGaussian{.grid_scale = scale}; },
            "expected a grid_scale in [16, 2^24]");
  refused(
      [](PlanOptions& o) {
        o.epsilon = std::nullopt;
        o.noise_multiplier = 0;
      },
      "expected noise of at least 8 steps of the grid, got 0");
  refused(
      [](PlanOptions& o) {
        o.mechanism = DiscreteGaussian{.grid_scale = 65536};
        o.epsilon = std::nullopt;
        o.noise_multiplier = 1000;
      },
      "expected noise of at most 2^24 steps of the grid");
}

// A plan that names no mechanism uses integers on the finest grid that fits.
TEST(PlanMechanism, ChoosesAGrid) {
  const PlanOptions small{.num_examples = 10'000,
                          .steps = 100,
                          .expected_batch_size = 100,
                          .noise_multiplier = 1,
                          .delta = 1e-5};
  const auto scale_of = [&](const std::function<void(PlanOptions&)>& change) {
    PlanOptions options = small;
    change(options);
    const Plan plan = make_plan(options);
    return *std::get<DiscreteGaussian>(plan.mechanism()).grid_scale;
  };
  EXPECT_EQ(scale_of([](PlanOptions&) {}), 1 << 19);
  EXPECT_EQ(scale_of([](PlanOptions& o) { o.mechanism = DiscreteGaussian{}; }), 1 << 19);
  EXPECT_EQ(make_plan(small).clip_options().grid_scale, 1 << 19);
  EXPECT_NE(to_string(make_plan(small)).find("in whole numbers of 1/524288 of the clip norm"),
            std::string::npos);
  // 1,000,000 examples, plus twelve times the root of that, plus sixteen: 2^30 is 1061 times as
  // much.
  EXPECT_EQ(scale_of([](PlanOptions& o) {
              o.num_examples = 10'000'000;
              o.delta = 1e-8;
              o.expected_batch_size = 1'000'000;
            }),
            1024);
  // The noise is 100 clip norms: 2^24 is 167,772 times as much.
  EXPECT_EQ(scale_of([](PlanOptions& o) { o.noise_multiplier = 100; }), 1 << 17);
  // If a schedule makes the grid eight times as fine, it is at most 2^21.
  EXPECT_EQ(scale_of([](PlanOptions& o) { o.noise_schedule = {{0, 1}, {50, .125}}; }), 1 << 18);
  // The grid depends on the noise that an epsilon needs.
  PlanOptions options = small;
  options.noise_multiplier.reset();
  options.epsilon = .01;
  options.amplified = false;
  const Plan plan = make_plan(options);
  const double steps =
      plan.stddev() / plan.clipped_norm() * static_cast<double>(*plan.clip_options().grid_scale);
  EXPECT_LE(steps, 0x1p24);
  EXPECT_GT(2 * steps, 0x1p24);
  EXPECT_LE(plan.epsilon(), .01);
  EXPECT_EQ(scale_of([](PlanOptions& o) { o.strategy = BandedNoise{.bands = 4}; }), 1 << 19);
}

// Where the default is not defined, users have to choose float noise explicitly.
TEST(PlanMechanism, RefusesWhatTheDefaultIsNotFor) {
  const auto refused = [](const std::function<void(PlanOptions&)>& change, const char* text) {
    expect_refused(
        [&](PlanOptions& o) {
          o.mechanism.reset();
          change(o);
        },
        text);
    PlanOptions named = dpsgd();
    change(named);
    EXPECT_TRUE(std::holds_alternative<Gaussian>(make_plan(named).mechanism()));
  };
  refused(
      [](PlanOptions& o) {
        o.strategy = BufferedNoise{};
        o.amplified = false;
      },
      "not BufferedNoise, for DiscreteGaussian, which a plan has that names no mechanism, whose "
      "noise is whole numbers and keeps those of a few steps; take one of these, or "
      ".mechanism = Gaussian{}");
  refused([](PlanOptions& o) { o.rescale_to_unit_norm = true; }, "or take .mechanism = Gaussian{}");
  refused([](PlanOptions& o) { o.adaptive_clip_norm = AdaptiveClipNorm{}; },
          "expected no adaptive_clip_norm for DiscreteGaussian, which a plan has that names no");
  const auto of_noise = [](double multiplier) {
    return [=](PlanOptions& o) {
      o.accountant = Accountant::kRdp;  // it has epsilons of any size
      o.noise_multiplier = multiplier;
    };
  };
  refused(of_noise(1e7), "take a smaller grid_scale, less noise, or .mechanism = Gaussian{}");
  refused(of_noise(1e-5), "take a larger grid_scale, more noise, or .mechanism = Gaussian{}");
}

// Without noise no mechanism is chosen.
TEST(PlanMechanism, OfNoNoise) {
  PlanOptions options = dpsgd();
  options.mechanism.reset();
  options.noise_multiplier = 0;
  EXPECT_TRUE(std::holds_alternative<Gaussian>(make_plan(options).mechanism()));
  EXPECT_EQ(make_plan(options).epsilon(), kInf);
}

TEST(PlanMechanism, RandomnessOfTheSystem) {
  PlanOptions options{.num_examples = 1000,
                      .steps = 100,
                      .expected_batch_size = 50,
                      .noise_multiplier = 1.5,
                      .delta = 1e-5,
                      .mechanism = Gaussian{},
                      .random_source = RandomSource::kSystem};
  const Plan plan = make_plan(options);
  const Array sum = zeros({8});
  const auto noise = plan.privatizer();
  EXPECT_NE(noise.update(sum, noise.init(sum)).first.to_host(),
            noise.update(sum, noise.init(sum)).first.to_host());
  expect_error([&] { plan.privatizer(random::key(0)); },
               "expected no key with RandomSource::kSystem");
  options.random_source = RandomSource::kKey;
  EXPECT_NE(plan.fingerprint(), make_plan(options).fingerprint());
  options.random_source = RandomSource::kSystem;
  options.amplified = false;
  options.strategy = DenseNoise{matrix_factorization::Matrix::identity(100)};
  expect_error([&] { make_plan(options); },
               "expected a strategy other than DenseNoise for RandomSource::kSystem");
}

}  // namespace
}  // namespace tessera::privacy::plan_mechanism_test
