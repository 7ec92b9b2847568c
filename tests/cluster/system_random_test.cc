// Noise and batches of RandomSource::kSystem: nobody can repeat them, and they are the same in all
// processes.
#include <cstring>
#include <set>

#include "tessera/cluster/joint_step.h"
#include "tessera/ir/format.h"
#include "tessera/privacy/trainer.h"
#include "tests/cluster/recorded.h"
#include "tests/errors.h"

namespace tessera::system_random_test {
namespace {

using namespace privacy;
using test::error_of;
using ::testing::HasSubstr;

constexpr int64_t kExamples = 64, kSteps = 6;

class SystemRandom : public ClusterTest {
 protected:
  static std::vector<std::string> of_all(const std::string& mine) {
    return cluster::joint_step([] { return std::string("what is compared"); },
                               [&] { return mine; });
  }
  static void expect_alike(const std::string& mine) {
    for (const std::string& other : of_all(mine)) EXPECT_TRUE(other == mine);
  }
  static void expect_alike(const std::vector<float>& mine) {
    std::string bytes(mine.size() * sizeof(float), '\0');
    std::memcpy(bytes.data(), mine.data(), bytes.size());
    expect_alike(bytes);
  }
  static Array whole(const Array& x) { return device_put(x, NamedSharding(mesh({8}), P())); }
  static Array cut(const Array& x) { return device_put(x, NamedSharding(mesh({8}), P("x"))); }
  static std::vector<float> values(const Array& x) { return to_vector<float>(whole(x)); }
};

TEST_F(SystemRandom, BatchesAreTheSameInAllProcesses) {
  const batch_selection::BMinSepSampling sampler{
      .num_examples = 500, .sampling_prob = .2, .iterations = kSteps, .min_sep = 3};
  std::set<std::string> seen;
  for (int run = 0; run < 2; ++run) {
    std::string text;
    for (const auto& batch : sampler.batches(batch_selection::SamplingKey::of_system()))
      text += fmt::format("{}\n", fmt::join(batch, " "));
    expect_alike(text);
    seen.insert(text);
  }
  EXPECT_EQ(seen.size(), 2u);
}

// The arrays are on the host, replicated over the devices of all processes, and sharded over them.
TEST_F(SystemRandom, NoiseIsTheSameInAllProcesses) {
  const auto check = [&](const auto& noise) {
    const std::vector<Array> given{zeros({50}, float32), whole(zeros({50}, float32)),
                                   cut(zeros({64}, float32))};
    const auto state = noise.init(given);
    std::set<float> seen;
    for (int time = 0; time < 2; ++time) {  // the same state gets other noise
      const std::vector<Array> noisy = noise.update(given, state).first;
      for (const Array& x : noisy) {
        const std::vector<float> z = values(x);
        expect_alike(z);
        seen.insert(z.begin(), z.end());
      }
    }
    EXPECT_GE(seen.size(), 323u);  // of 328 numbers, some of which are equal in float32
  };
  check(gaussian_privatizer({.stddev = 2, .random_source = RandomSource::kSystem}));
  check(matrix_factorization_privatizer(matrix_factorization::prefix_sum(),
                                        {.stddev = 2, .random_source = RandomSource::kSystem}));
  check(discrete_gaussian_privatizer({.stddev = 2, .random_source = RandomSource::kSystem}));
}

// A program that the user jits does not get a new key for each run.
TEST_F(SystemRandom, AUsersProgramOfSeveralProcessesIsRefused) {
  const auto refused = [&](const auto& noise) {
    const Array x = whole(zeros({50}, float32));
    const auto step = jit([&](const Array& g) { return noise.update(g, noise.init(g)).first; });
    const std::string error = error_of([&] { step(x); });
    if (process_count() == 1) {
      EXPECT_EQ(error, "");
    } else {
      EXPECT_THAT(error,
                  HasSubstr(fmt::format(
                      "expected no RandomSource::kSystem in a function that is jitted and run "
                      "by {} processes",
                      process_count())));
      EXPECT_THAT(error, HasSubstr("train by privacy::Trainer, call update() outside jit"));
    }
  };
  refused(gaussian_privatizer({.stddev = 2, .random_source = RandomSource::kSystem}));
  refused(discrete_gaussian_privatizer({.stddev = 2, .random_source = RandomSource::kSystem}));
}

PlanOptions options_of(double probability) {
  return {.num_examples = kExamples,
          .steps = kSteps,
          .sampling_prob = probability,
          .noise_multiplier = 1,
          .delta = 1e-3,
          .random_source = RandomSource::kSystem,
          .l2_clip_norm = .5,
          .normalize_by = 1};
}

// The gradient with respect to the parameters is the example.
constexpr auto kLoss = [](const Array& p, const Array& x) { return sum(p * x); };

// Examples are sharded over the devices of all processes, and parameters are replicated. All
// processes must have the same batches, and the same parameters after each step.
TEST_F(SystemRandom, TrainersAreTheSameInAllProcesses) {
  const Array data = cut(random::normal(random::key(1), {kExamples, 100}, float32));
  for (const NoiseStrategy& strategy :
       {NoiseStrategy(IndependentNoise{}), NoiseStrategy(BandedNoise{.bands = 3})}) {
    for (const Mechanism& mechanism : {Mechanism(Gaussian{}), Mechanism(DiscreteGaussian{})}) {
      if (mechanism.index() == 1 && strategy.index() != 0) continue;
      PlanOptions options = options_of(.25);
      options.strategy = strategy;
      options.mechanism = mechanism;
      const Trainer trainer(make_plan(options), kLoss, optim::sgd(.5));
      std::set<std::vector<float>> results;
      for (int run = 0; run < 2; ++run) {
        auto state = trainer.init(whole(zeros({100}, float32)));
        std::string sizes;
        while (trainer.steps_done(state) < kSteps) {
          sizes += fmt::format("{} ", trainer.step(state, data).examples);
          expect_alike(values(state.params));
        }
        expect_alike(sizes);
        results.insert(values(state.params));
      }
      EXPECT_EQ(results.size(), 2u);
    }
  }
}

// Batches are empty, so parameters are noise alone. It must have the right variance, and be
// independent from step to step.
TEST_F(SystemRandom, ATrainersNoiseIsIndependent) {
  const Array data = cut(zeros({kExamples, 4000}, float32));
  const Plan plan = make_plan(options_of(0));
  const Trainer trainer(plan, kLoss, optim::sgd(1.0));
  auto state = trainer.init(whole(zeros({4000}, float32)));
  std::vector<std::vector<float>> noise;
  std::vector<float> before(4000, 0);
  for (int64_t step = 0; step < 2; ++step) {
    trainer.step(state, data);
    const std::vector<float> now = values(state.params);
    noise.emplace_back();
    for (size_t i = 0; i < now.size(); ++i) noise.back().push_back(now[i] - before[i]);
    before = now;
  }
  double squares[2] = {}, product = 0;
  for (size_t i = 0; i < 4000; ++i) {
    for (size_t t = 0; t < 2; ++t) squares[t] += noise[t][i] * noise[t][i];
    product += noise[0][i] * noise[1][i];
  }
  const double variance = plan.stddev() * plan.stddev();
  for (const double s : squares) EXPECT_NEAR(s / 4000 / variance, 1, 5 * std::sqrt(2 / 4000.0));
  EXPECT_NEAR(product / 4000 / variance, 0, 5 / std::sqrt(4000.0));
}

}  // namespace
}  // namespace tessera::system_random_test
