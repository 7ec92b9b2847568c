// Runs share no noise, and a state can only be used in its own run.
#include "tessera/privacy/run_identity.h"

#include <algorithm>
#include <set>

#include "../io/files.h"
#include "tessera/base/warning.h"
#include "tessera/io/load.h"
#include "tessera/nnx/modules.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/nn.h"
#include "trainer_problem.h"

namespace tessera::privacy::run_identity_test {
namespace {

using namespace trainer_problem;
using tessera::test::expect_error;

constexpr auto negative = [](const Weights& p, const Array& x, const Array& y) {
  return -loss(p, x, y);
};

// Returns the noise of the first step, in units of its standard deviation: with an empty batch the
// update is only noise.
template <class Loss, class... Key>
std::vector<float> first_noise(const Trainer<Loss, decltype(optim::sgd(1.0))>& trainer,
                               const Key&... key) {
  auto state = trainer.init(weights(), key...);
  trainer.step(state, xs(), ys());
  std::vector<float> out = parameters(state.params);
  const std::vector<float> before = parameters(weights());
  for (size_t i = 0; i < out.size(); ++i) out[i] -= before[i];
  return out;
}
Plan plan_of_noise() {
  PlanOptions options = options_of(0);
  options.normalize_by = 1;
  return make_plan(options);
}
// Expects that a and b have no element in common, not even with the opposite sign.
void expect_nothing_shared(const std::vector<float>& a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_GT(std::abs(a[i] - b[i]), 1e-6);
    EXPECT_GT(std::abs(a[i] + b[i]), 1e-6);
  }
}

TEST(RunIdentityTest, RunsOfFreshEntropyShareNoNoise) {
  const Trainer a(plan_of_noise(), loss, optim::sgd(1.0)),
      b(plan_of_noise(), loss, optim::sgd(1.0));
  expect_nothing_shared(first_noise(a), first_noise(a));
  expect_nothing_shared(first_noise(a), first_noise(b));
}

TEST(RunIdentityTest, AKeyIsOfItsTrainer) {
  const Trainer a(plan_of_noise(), loss, optim::sgd(1.0)),
      b(plan_of_noise(), loss, optim::sgd(1.0));
  EXPECT_EQ(first_noise(a, random::key(0)), first_noise(a, random::key(0)));
  expect_nothing_shared(first_noise(a, random::key(0)), first_noise(a, random::key(1)));
  expect_nothing_shared(first_noise(a, random::key(0)), first_noise(b, random::key(0)));
}

TEST(RunIdentityTest, ReproducibleRunsAreTheSameUntilTheLossIsAnother) {
  const auto key = reproducible(random::key(0));
  const Trainer a(plan_of_noise(), loss, optim::sgd(1.0)),
      b(plan_of_noise(), loss, optim::sgd(1.0));
  EXPECT_EQ(first_noise(a, key), first_noise(b, key));
  expect_nothing_shared(first_noise(a, key), first_noise(a, reproducible(random::key(1))));
  const Trainer other(plan_of_noise(), negative, optim::sgd(1.0));
  expect_nothing_shared(first_noise(a, key), first_noise(other, key));
  const Trainer scaled(plan_of_noise(), loss, optim::sgd(1.0 + 1e-12));
  expect_nothing_shared(first_noise(a, key), first_noise(scaled, key));
  PlanOptions longer = options_of(0);
  longer.normalize_by = 1;
  longer.steps = 13;
  const Trainer planned(make_plan(longer), loss, optim::sgd(1.0));
  expect_nothing_shared(first_noise(a, key), first_noise(planned, key));
}

// Seeds with the same low 32 bits are different seeds: an attacker could try 2^32 seeds in hours.
TEST(RunIdentityTest, SeedsHave64Bits) {
  const Trainer trainer(plan_of_noise(), loss, optim::sgd(1.0));
  const auto noise_of = [&](int64_t seed) {
    return first_noise(trainer, reproducible(random::key(seed)));
  };
  for (const int64_t seed : {int64_t{5}, int64_t{1} << 31})
    for (const int64_t moved : {int64_t{1} << 32, int64_t{1} << 62, -(int64_t{1} << 40)})
      expect_nothing_shared(noise_of(seed), noise_of(seed + moved));
}

// The arrays that a loss captures are a part of it.
TEST(RunIdentityTest, LossesThatCaptureOtherDataShareNoNoise) {
  const auto trainer_of = [](float last) {
    std::vector<float> values(200, 1);
    values.back() = last;
    const Array captured = from_host(values, {200});
    const auto with = [captured](const Weights& p, const Array& x, const Array& y) {
      return loss(p, x, y) * mean(captured);
    };
    return Trainer(plan_of_noise(), with, optim::sgd(1.0));
  };
  const auto first = [&](float last) {
    const auto trainer = trainer_of(last);
    auto state = trainer.init(weights(), reproducible(random::key(0)));
    trainer.step(state, xs(), ys());
    return parameters(state.params);
  };
  EXPECT_EQ(first(1), first(1));
  expect_nothing_shared(first(1), first(2));
}

TEST(RunIdentityTest, AnotherLossIsRefusedUntilTold) {
  const Trainer trainer(plan_of(), loss, optim::sgd(.5));
  const Trainer other(plan_of(), negative, optim::sgd(.5));
  auto state = trainer.init(weights());
  trainer.step(state, xs(), ys());
  const std::vector<float> before = parameters(state.params);
  expect_error(
      [&] { other.step(state, xs(), ys()); },
      "[privacy::Trainer] expected the loss and the types of data that this state has begun "
      "with");
  EXPECT_EQ(parameters(state.params), before);
  auto bound = other.rebound(state, GivesUp::kSameLoss);
  const std::string noise = internal::digest_of_words(bound.books.noise.key.data);
  EXPECT_NE(noise, internal::digest_of_words(state.books.noise.key.data));
  EXPECT_EQ(other.step(bound, xs(), ys()).step, 2);
  EXPECT_EQ(other.step(bound, xs(), ys()).step, 3);
  // The data are still the same.
  expect_error([&] { other.step(bound, xs() + 1, ys()); }, "expected the data that this state");
}

TEST(RunIdentityTest, OtherDataAreRefusedUntilTold) {
  const Trainer trainer(plan_of(), loss, optim::sgd(.5));
  auto state = trainer.init(weights());
  trainer.step(state, xs(), ys());
  trainer.step(state, xs(), ys());  // other arrays with the same contents
  std::vector<float> x = to_vector<float>(xs());
  x.back() += 1;  // one element of one example
  const Array changed = from_host(x, {kExamples, 3});
  expect_error([&] { trainer.step(state, changed, ys()); },
               "[privacy::Trainer] expected the data that this state has begun with");
  EXPECT_EQ(trainer.steps_done(state), 2);
  expect_error([&] { trainer.step(state, astype(xs(), float16), ys()); },
               "expected the loss and the types of data");
  auto bound = trainer.rebound(state, GivesUp::kSameData);
  EXPECT_EQ(trainer.step(bound, changed, ys()).step, 3);
  expect_error([&] { trainer.step(bound, xs(), ys()); }, "expected the data that this state");

  const Trainer unchecked(plan_of(), loss, optim::sgd(.5), {.unchecked_data_contents = true});
  auto augmented = unchecked.init(weights());
  unchecked.step(augmented, xs(), ys());
  EXPECT_EQ(unchecked.step(augmented, changed, ys()).step, 2);
}

TEST(RunIdentityTest, AnotherPlanCannotBeTold) {
  const Trainer trainer(plan_of(), loss, optim::sgd(.5));
  const auto state = trainer.init(weights());
  const Trainer other(plan_of(.2), loss, optim::sgd(.5));
  expect_error([&] { other.rebound(state, GivesUp::kSameLossAndData); },
               "expected a state of this plan and optimizer");
}

// This holds before the first step too: the entropy of the noise is used up.
TEST(RunIdentityTest, ACopyFromBeforeTheFirstStepIsUsedOnce) {
  const Trainer trainer(plan_of(), loss, optim::sgd(.5));
  auto state = trainer.init(weights());
  auto copy = state;
  trainer.step(state, xs(), ys());
  expect_error([&] { trainer.step(copy, xs() + 1, ys()); }, "donated");
}

class RunIdentityFolderTest : public tessera::test::FolderTest {};

TEST_F(RunIdentityFolderTest, ACheckpointGoesOnWithItsLossAndDataAlone) {
  const auto save = [&] {
    const Trainer trainer(plan_of(), loss, optim::sgd(.5));
    auto state = trainer.init(weights());
    trainer.step(state, xs(), ys());
    trainer.save(folder_, state);
  };
  save();
  const Trainer same(plan_of(), loss, optim::sgd(.5));
  const Trainer other(plan_of(), negative, optim::sgd(.5));
  auto state = same.init(weights());
  ASSERT_TRUE(same.restore(folder_, state));
  expect_error([&] { same.step(state, xs(), ys() * 2); }, "expected the data that this state");
  EXPECT_EQ(same.step(state, xs(), ys()).step, 2);
  auto theirs = other.init(weights());
  ASSERT_TRUE(other.restore(folder_, theirs));
  expect_error([&] { other.step(theirs, xs(), ys()); }, "expected the loss and the types of data");
}

TEST_F(RunIdentityFolderTest, WhatIsReleasedIsTheParametersAlone) {
  const Trainer trainer(plan_of(), module_loss, optim::sgd(.5));
  auto state = trainer.init(Module(nnx::Rngs(0)));
  trainer.step(state, xs(), ys());
  const Module released = trainer.release(state);
  EXPECT_EQ(to_vector<float>(released.linear.kernel), to_vector<float>(state.params.linear.kernel));
  int streams = 0;
  internal::for_each_stream(released, [&](const nnx::RngStream& stream) {
    ++streams;
    for (uint32_t word : to_vector<uint32_t>(stream.key.data)) EXPECT_EQ(word, 0);
  });
  EXPECT_EQ(streams, 1);

  const std::string file = path("model.safetensors");
  EXPECT_EQ(trainer.release(file, state), 2);
  const auto read = load_safetensors(file);
  ASSERT_EQ(read.size(), 2);
  EXPECT_EQ(to_vector<float>(read.at("linear.kernel")),
            to_vector<float>(state.params.linear.kernel));
  EXPECT_TRUE(read.contains("linear.bias"));
  expect_error([&] { trainer.release(path("no/such/folder"), state); }, "no/such/folder");
}

class SharedNoise : public ::testing::Test {
 protected:
  // Runs two steps and returns the state after them.
  static auto run(const Reproducible& key, const Array& x, const Weights& params = weights()) {
    const Trainer trainer(plan_of(), loss, optim::sgd(.5));
    auto state = trainer.init(params, key);
    trainer.step(state, x, ys());
    trainer.step(state, x, ys());
    return parameters(state.params);
  }
  static Weights moved_weights() {
    return tree::map([](const Array& w) { return w + 1.f; }, weights());
  }
};

TEST_F(SharedNoise, OneKeyOnTwoSetsOfDataIsRefused) {
  run(reproducible(random::key(70)), xs());
  run(reproducible(random::key(70)), xs());      // the same run again
  run(reproducible(random::key(71)), xs() + 1);  // with another key
  const Trainer trainer(plan_of(), loss, optim::sgd(.5));
  auto state = trainer.init(weights(), reproducible(random::key(70)));
  expect_error([&] { trainer.step(state, xs() + 1, ys()); },
               "[privacy::Trainer] expected one run of a reproducible key, got a second one on "
               "other data or from "
               "other parameters");
  EXPECT_EQ(trainer.steps_done(state), 0);
  EXPECT_EQ(trainer.step(state, xs(), ys()).step, 1);
}

TEST_F(SharedNoise, OneKeyFromTwoSetsOfParametersIsRefused) {
  run(reproducible(random::key(72)), xs());
  expect_error([&] { run(reproducible(random::key(72)), xs(), moved_weights()); },
               "expected one run of a reproducible key, got a second one");
}

// If a key is combined with the trainer's own entropy, equal runs are intended.
TEST_F(SharedNoise, OneKeyOfOneTrainerIsWarnedOf) {
  std::vector<std::string> warnings;
  const WarningHandler before =
      set_warning_handler([&](const std::string& text) { warnings.push_back(text); });
  const Trainer trainer(plan_of(), loss, optim::sgd(.5));
  auto first = trainer.init(weights(), random::key(0));
  trainer.step(first, xs(), ys());
  auto same = trainer.init(weights(), random::key(0));
  trainer.step(same, xs(), ys());
  EXPECT_TRUE(warnings.empty());
  auto second = trainer.init(weights(), random::key(0));
  trainer.step(second, xs() + 1, ys());
  set_warning_handler(before);
  ASSERT_EQ(warnings.size(), 1);
  EXPECT_THAT(warnings[0],
              ::testing::HasSubstr("two runs of one key have begun on different data"));
}

TEST_F(SharedNoise, IsAllowedIfTold) {
  run(reproducible(random::key(73), KeyReuse::kAllowed), xs());
  run(reproducible(random::key(73), KeyReuse::kAllowed), xs() + 1);
  run(reproducible(random::key(73), KeyReuse::kAllowed), xs(), moved_weights());
  // Each run that has the key is reported.
  expect_error([&] { run(reproducible(random::key(73)), xs() + 2); }, "expected one run");
}

// A captured array as long as all the data is the data, or was made of the data.
TEST(RunIdentityTest, CapturesAsLongAsTheDataAreRefusedUnlessTold) {
  const Array captured = ones({kExamples, 3});
  const auto with = [captured](const Weights& p, const Array& x, const Array& y) {
    return loss(p, x, y) * mean(captured);
  };
  const Trainer trainer(plan_of(), with, optim::sgd(.5));
  auto state = trainer.init(weights());
  expect_error([&] { trainer.step(state, xs(), ys()); },
               "[privacy::Trainer] expected all data as arguments of step(), got an array of");
  EXPECT_EQ(trainer.steps_done(state), 0);
  const Trainer told(plan_of(), with, optim::sgd(.5), {.shared_captures = true});
  auto other = told.init(weights());
  EXPECT_EQ(told.step(other, xs(), ys()).step, 1);
}

// The state does not change.
TEST(RunIdentityTest, LossesThatMixExamplesAreRefused) {
  const auto normalized = [](const Weights& p, const Array& x, const Array& y) {
    return loss(p, x - mean(x, {.axis = 0, .keepdims = true}), y);
  };
  const Trainer trainer(plan_of(), normalized, optim::sgd(.5));
  auto state = trainer.init(weights());
  expect_error([&] { trainer.step(state, xs(), ys()); }, "mixes the examples of a batch");
  EXPECT_EQ(trainer.steps_done(state), 0);
}

TEST(RunIdentityTest, DigestsAndWords) {
  const std::string digest(64, 'a');
  EXPECT_EQ(internal::digest_of_words(internal::digest_words(digest)), digest);
  EXPECT_TRUE(internal::is_digest(digest));
  EXPECT_FALSE(internal::is_digest(internal::digest_of_words(internal::no_digest_words())));
  const random::Key key = random::key(3);
  EXPECT_EQ(
      to_vector<uint32_t>(internal::fold_in_digest(key, digest).data),
      to_vector<uint32_t>(internal::fold_in_digest(key, internal::digest_words(digest)).data));
}

// Noise of the system has no key, and no two runs share any.
TEST(RunIdentityTest, PlansWithoutKeysTakeNone) {
  PlanOptions options = options_of(0);
  options.normalize_by = 1;
  options.random_source = RandomSource::kSystem;
  const Trainer trainer(make_plan(options), loss, optim::sgd(1.0));
  expect_nothing_shared(first_noise(trainer), first_noise(trainer));
  expect_error([&] { trainer.init(weights(), random::key(0)); },
               "expected no key for a plan of RandomSource::kSystem");
  expect_error([&] { trainer.init(weights(), reproducible(random::key(0))); },
               "expected no key for a plan of RandomSource::kSystem");
}

TEST(RunIdentityTest, WhatIsRefused) {
  const Trainer trainer(plan_of(), loss, optim::sgd(.5));
  expect_error([&] { trainer.init(weights(), random::split(random::key(0))); },
               "expected a single key");
  expect_error([&] { trainer.init(weights(), reproducible(random::split(random::key(0)))); },
               "expected a single key");
}

}  // namespace
}  // namespace tessera::privacy::run_identity_test
