// Audits the whole trainer. A run of privacy::Trainer has 1,000 canaries, of which it trains on a
// random half. It must not reveal more about them than its plan claims (Steinke, Nasr and
// Jagielski, arXiv 2305.08846). Without the noise or the clipping it reveals more, so the audit can
// fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "tessera/numpy/creation.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"
#include "tessera/optim/optim.h"
#include "tessera/privacy/auditing/canary_score_auditor.h"
#include "tessera/privacy/trainer.h"
#include "tessera/random/random.h"

namespace tessera::privacy::trainer_audit_test {
namespace {

constexpr int64_t kCanaries = 1000, kFeatures = 4096;

// The gradient of an example is its features. A canary's gradient is a direction that it shares
// with hardly any other example. This is the most that a linear model, or the last layer of any
// model, can reveal about an example.
constexpr auto loss = [](const Array& w, const Array& x) {
  return -mean(sum(x * w, {.axis = -1}));
};

struct Audit {
  double one_run, one_run_fdp, auroc;
};

// Audits a run with this plan's noise and clip norm, for canaries of this length.
Audit audit(const PlanOptions& options, double length) {
  const random::Key key = random::key(11);
  const Array directions =
      random::normal(key, {kCanaries, kFeatures}) * (length / std::sqrt(kFeatures));
  const std::vector<float> coins =
      to_vector<float>(random::uniform(random::fold_in(key, uint32_t{1}), {kCanaries}));
  std::vector<float> member(coins.size());
  std::transform(coins.begin(), coins.end(), member.begin(),
                 [](float u) { return u < 0.5f ? 1.f : 0.f; });
  // A canary that was left out is an example of zeros, the neighbour under kReplaceSpecial.
  const Array x = directions * reshape(from_host(member, {kCanaries}), {kCanaries, 1});

  const Trainer trainer(make_plan(options), loss, optim::sgd(1));
  auto state = trainer.init(zeros({kFeatures}), reproducible(random::key(5)));
  while (trainer.steps_done(state) < trainer.plan().steps()) trainer.step(state, x);
  const std::vector<float> scores = to_vector<float>(sum(directions * state.params, {.axis = -1}));
  std::vector<double> in, out;
  for (size_t i = 0; i < scores.size(); ++i) (member[i] > 0 ? in : out).push_back(scores[i]);
  const auditing::CanaryScoreAuditor auditor(std::move(in), std::move(out));
  const auditing::OneRunOptions one_run{.significance = 0.05,
                                        .delta = options.delta,
                                        .threshold_strategy = auditing::Split{.seed = 3}};
  return {auditor.epsilon_one_run(one_run), auditor.epsilon_one_run_fdp(one_run),
          auditor.attack_auroc()};
}

PlanOptions plan_options() {
  return {.num_examples = kCanaries,
          .steps = 12,
          .sampling_prob = .5,
          .epsilon = 2,
          .delta = 1e-5,
          .relation = NeighboringRelation::kReplaceSpecial,
          .l2_clip_norm = 1};
}

TEST(TrainerAudit, CanariesTellNoMoreThanThePlanClaims) {
  const double claimed = make_plan(plan_options()).epsilon();
  EXPECT_LE(claimed, 2);
  const Audit run = audit(plan_options(), 1);
  EXPECT_LT(run.one_run, claimed);
  EXPECT_LT(run.one_run_fdp, claimed);
  EXPECT_GT(run.auroc, .55);  // the attack is better than chance
  std::cout << "one run " << run.one_run << ", f-DP " << run.one_run_fdp << ", AUROC " << run.auroc
            << "\n";
}

// The same audit, for trainers that are less private than claimed.
TEST(TrainerAudit, WhatIsNotPrivateIsFound) {
  const double claimed = make_plan(plan_options()).epsilon();
  PlanOptions silent = plan_options();
  silent.epsilon.reset();
  silent.noise_multiplier = 0;
  const Audit without_noise = audit(silent, 1);
  EXPECT_GT(without_noise.one_run, claimed);
  EXPECT_GT(without_noise.one_run_fdp, claimed);

  // Simulates a trainer that does not clip examples that are ten times too long: the clip norm is
  // above their length, and the noise is that for a norm of 1.
  PlanOptions unclipped = plan_options();
  unclipped.epsilon.reset();
  unclipped.l2_clip_norm = 20;
  unclipped.noise_multiplier = make_plan(plan_options()).noise_multiplier() / 20;
  const Audit without_clip = audit(unclipped, 10);
  EXPECT_GT(without_clip.one_run, claimed);
  EXPECT_GT(without_clip.one_run_fdp, claimed);
}

}  // namespace
}  // namespace tessera::privacy::trainer_audit_test
