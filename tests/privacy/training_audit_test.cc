// Audits of whole runs. For a trainer that does what its plan says the bound is below its epsilon,
// and for a trainer with too little noise it is above.
#include "tessera/privacy/auditing/training_audit.h"

#include <set>

#include "../errors.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/reduce.h"
#include "tessera/optim/optim.h"
#include "tessera/random/random.h"

namespace tessera::privacy::auditing::training_audit_test {
namespace {

using tessera::test::expect_error;

constexpr int64_t kExamples = 100, kCanaries = 400, kFeatures = 1024;

// A linear model: the gradient of an example is its features.
constexpr auto loss = [](const Array& w, const Array& x) {
  return -mean(sum(x * w, {.axis = -1}));
};

PlanOptions options() {
  return {.num_examples = kExamples + kCanaries,
          .steps = 6,
          .sampling_prob = .5,
          .epsilon = 1,
          .delta = 1e-5,
          .relation = NeighboringRelation::kAddOrRemoveOne,
          .l2_clip_norm = 1};
}

Array directions(int64_t rows, const random::Key& key) {
  return random::normal(key, {rows, kFeatures}) / std::sqrt(static_cast<float>(kFeatures));
}

AuditReport audited(const PlanOptions& plan, const TrainingAuditOptions& how) {
  const Trainer trainer(make_plan(plan), counted(loss), optim::sgd(1));
  const std::tuple data(directions(kExamples, random::key(1)));
  const std::tuple canaries(directions(kCanaries, random::key(2)));
  return audit(trainer, loss, zeros({kFeatures}), data, canaries, how);
}

TEST(TrainingAudit, DoesNotContradictWhatIsPrivateAsItSays) {
  for (const CanaryScore score : {CanaryScore::kUpdates, CanaryScore::kLossChange}) {
    const AuditReport report = audited(options(), {.score = score, .seed = 3});
    EXPECT_NEAR(report.accounted_epsilon, 1, 1e-3);
    EXPECT_LT(report.epsilon, report.accounted_epsilon);
    EXPECT_FALSE(report.contradicts());
    EXPECT_GT(report.auroc, .52);  // the attack is better than chance
    EXPECT_EQ(report.in_scores.size() + report.out_scores.size(), static_cast<size_t>(kCanaries));
    EXPECT_EQ(report.delta, 1e-5);
  }
}

// A plan that adds a twentieth of the noise and claims the epsilon of all of it.
TEST(TrainingAudit, FindsTooLittleNoise) {
  PlanOptions silent = options();
  silent.epsilon.reset();
  silent.noise_multiplier = make_plan(options()).noise_multiplier() / 20;
  for (const CanaryScore score : {CanaryScore::kUpdates, CanaryScore::kLossChange}) {
    const AuditReport report = audited(silent, {.score = score, .claimed_epsilon = 1.0, .seed = 3});
    EXPECT_GT(report.epsilon, 1);
    EXPECT_GT(report.gaussian_epsilon, 1);
    EXPECT_TRUE(report.contradicts());
    EXPECT_LT(report.epsilon, make_plan(silent).epsilon());  // the epsilon of that noise
    EXPECT_THAT(to_string(report), ::testing::HasSubstr("spent more than it is accounted for"));
  }
}

TEST(TrainingAudit, RunsOfEntropyDiffer) {
  PlanOptions few = options();
  few.steps = 1;
  const AuditReport a = audited(few, {}), b = audited(few, {});
  EXPECT_NE(a.in_scores, b.in_scores);
  EXPECT_EQ(audited(few, {.seed = 5}).in_scores, audited(few, {.seed = 5}).in_scores);
}

// A canary that is left out has no gradient, so the run is the one without it. Without noise, and
// with one canary after the other left out, the parameters have the same bits whatever its features
// are.
TEST(TrainingAudit, WhatIsLeftOutMovesNothing) {
  const auto counted_loss = counted(loss);
  const Array x = directions(1, random::key(4));
  const Array w = directions(1, random::key(5));
  const auto value = [&](float count) {
    return grad([&](const Array& p) { return counted_loss(p, full({1}, count), x); })(
        reshape(w, {kFeatures}));
  };
  EXPECT_EQ(max(abs(value(0))).item<float>(), 0);
  EXPECT_EQ(max(abs(value(1) + reshape(x, {kFeatures}))).item<float>(), 0);
}

Array function_loss(const Array& w, const Array& x) { return loss(w, x); }

// The loss is a plain function, and the keys of canaries come from entropy. Some 64 bits make no
// valid key: if those were used, one of 8 runs would fail, except once in 256 times.
TEST(TrainingAudit, TakesFunctionsAndMakesCanariesOfEntropy) {
  PlanOptions plan = options();
  plan.num_examples = kExamples + 32;
  plan.steps = 1;
  const Trainer trainer(make_plan(plan), counted(function_loss), optim::sgd(1));
  const std::tuple data(directions(kExamples, random::key(1)));
  const auto make = [](int64_t count, const random::Key& key) {
    return std::tuple(directions(count, key));
  };
  std::set<double> scores;
  for (int run = 0; run < 8; ++run) {
    const AuditReport report = audit(trainer, function_loss, zeros({kFeatures}), data, 32, make);
    EXPECT_EQ(report.in_scores.size() + report.out_scores.size(), 32u);
    scores.insert(report.in_scores.front());
  }
  EXPECT_EQ(scores.size(), 8u);
}

// A function of the user makes the labels; the loss has classes, and the parameters are a pair.
TEST(TrainingAudit, MakesCanariesByACallback) {
  using Weights = std::pair<Array, Array>;
  const auto classes = [](const Weights& p, const Array& x, const Array& y) {
    return -mean(sum(one_hot(y, 3) * log_softmax(matmul(x, p.first) + p.second), {.axis = -1}));
  };
  PlanOptions plan = options();
  plan.num_examples = 64;
  const Trainer trainer(make_plan(plan), counted(classes), optim::adam(0.05));
  const std::tuple data(random::normal(random::key(7), {32, 8}),
                        random::randint(random::key(8), {32}, 0, 3));
  const auto make = [](int64_t count, const random::Key& key) {
    const auto [inputs, labels] = random::split<2>(key);
    return std::tuple(random::normal(inputs, {count, 8}), random::randint(labels, {count}, 0, 3));
  };
  const AuditReport report =
      audit(trainer, classes, Weights(zeros({8, 3}), zeros({3})), data, 32, make, {.seed = 1});
  EXPECT_EQ(report.in_scores.size() + report.out_scores.size(), 32u);
  EXPECT_GT(report.in_scores.size(), 5u);
  EXPECT_FALSE(report.contradicts());
}

TEST(TrainingAudit, BadDataAreErrors) {
  PlanOptions plan = options();
  plan.num_examples = 6;
  const Trainer trainer(make_plan(plan), counted(loss), optim::sgd(1));
  const Array w = zeros({kFeatures});
  const auto with = [&](const Array& data, const Array& canaries) {
    return [&, data, canaries] { audit(trainer, loss, w, std::tuple(data), std::tuple(canaries)); };
  };
  expect_error(with(zeros({2, kFeatures}), zeros({3, kFeatures})),
               "[privacy::audit] expected examples and canaries to be the plan's num_examples = 6 "
               "together, got 2 and 3; make a plan of 5");
  expect_error(with(zeros({6, kFeatures}), zeros({0, kFeatures})),
               "expected at least one canary, got 0");
  expect_error(with(zeros({6, kFeatures}), zeros(Shape{})),
               "expected as many rows in all arrays of the canaries, got float32[]");
  expect_error(
      [&] {
        counted(loss)(w, ones({2}), zeros({2, kFeatures}));
      },
      "[privacy::counted] expected the count of one example, got float32[2]");
  PlanOptions one = options();
  one.num_examples = 2;
  const Trainer small(make_plan(one), counted(loss), optim::sgd(1));
  expect_error(
      [&] {
        audit(small, loss, w, std::tuple(zeros({1, kFeatures})), std::tuple(zeros({1, kFeatures})));
      },
      "expected at least one held-");
  expect_error([&] { audited(options(), {.significance = 0, .seed = 1}); },
               "expected a significance in (0, 1), got 0");
  expect_error([&] { audited(options(), {.claimed_epsilon = -1.0, .seed = 1}); },
               "expected an accounted epsilon that is not negative, got -1");
}

}  // namespace
}  // namespace tessera::privacy::auditing::training_audit_test
