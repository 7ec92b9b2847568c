// Walks visit each step of a schedule and of its nested schedules once, and their costs are those
// of a run.
#include "tessera/fusion/schedule_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::schedule_walk_test {

using namespace fusion;

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::shared_ptr<const Schedule> holding(std::vector<Step> steps) {
  Schedule s;
  s.steps = std::move(steps);
  return std::make_shared<const Schedule>(std::move(s));
}

// Steps of a kind are distinguished by the slot that they write.
Step view(int out) { return ViewStep{.in = 0, .out = out}; }
Step dot(int out) {
  DotStep step;
  step.out = out;
  return step;
}

// Returns view 1, 5 iterations of (condition: view 2; body: view 3 and the branches view 4 | view
// 5, dot 6 | dot 7, of which branch 1 is expected), and view 8.
Schedule nested() {
  const BranchStep branch{
      .branches = {holding({view(4)}), holding({view(5), dot(6)}), holding({dot(7)})},
      .expected = 1};
  const LoopStep loop{
      .cond = holding({view(2)}), .body = holding({view(3), branch}), .trip_count = 5};
  return *holding({view(1), loop, view(8)});
}

// Returns the slots that views and products write, in the order of the walk.
std::vector<int> visited(const Schedule& s, Branches which) {
  std::vector<int> out;
  for_each_step(
      s,
      [&](const Step& step, const Schedule&) {
        if (const auto* v = std::get_if<ViewStep>(&step)) out.push_back(v->out);
        if (const auto* d = std::get_if<DotStep>(&step)) out.push_back(d->out);
      },
      which);
  return out;
}

TEST(ScheduleWalk, StepsComeInOrderWithThoseThatTheyHold) {
  EXPECT_THAT(visited(nested(), Branches::kAll), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST(ScheduleWalk, RareBranchesAreLeftOut) {
  EXPECT_THAT(visited(nested(), Branches::kNotUnlikely), ElementsAre(1, 2, 3, 5, 6, 8));
}

TEST(ScheduleWalk, AStepComesWithTheScheduleAroundIt) {
  const Schedule s = nested();
  const Schedule *around_loop = nullptr, *around_branch = nullptr;
  for_each_step(s, [&](const Step& step, const Schedule& around) {
    if (std::holds_alternative<LoopStep>(step)) around_loop = &around;
    if (std::holds_alternative<BranchStep>(step)) around_branch = &around;
  });
  EXPECT_EQ(around_loop, &s);
  EXPECT_EQ(around_branch, std::get<LoopStep>(s.steps[1]).body.get());
}

TEST(ScheduleWalk, WhatAStepHoldsIsEnteredIfTheVisitorSaysSo) {
  std::vector<int> views;
  for_each_step(nested(), [&](const Step& step, const Schedule&) {
    if (const auto* v = std::get_if<ViewStep>(&step)) views.push_back(v->out);
    return !std::holds_alternative<LoopStep>(step);
  });
  EXPECT_THAT(views, ElementsAre(1, 8));
}

TEST(ScheduleWalk, SchedulesAreReplacedOneLevelDeep) {
  const Schedule s = nested();
  Step loop = s.steps[1], leaf = s.steps[0];
  const auto without_steps = [](const Schedule&) { return Schedule(); };
  replace_nested(loop, without_steps);
  replace_nested(leaf, without_steps);
  EXPECT_THAT(std::get<LoopStep>(loop).cond->steps, IsEmpty());
  EXPECT_THAT(std::get<LoopStep>(loop).body->steps, IsEmpty());
  EXPECT_EQ(std::get<LoopStep>(s.steps[1]).body->steps.size(), 2U) << "the step was a copy";
  LoopStep counted = std::get<LoopStep>(s.steps[1]);
  counted.cond = nullptr;
  Step no_condition = counted;
  replace_nested(no_condition, without_steps);
  EXPECT_EQ(std::get<LoopStep>(no_condition).cond, nullptr);
}

TEST(ScheduleWalk, EveryScheduleIsVisited) {
  const Schedule s = nested();
  int of_all = 0, of_loop = 0;
  for_each_schedule(s, [&](const Schedule&) { ++of_all; });
  for_each_schedule(std::get<LoopStep>(s.steps[1]), [&](const Schedule&) { ++of_loop; });
  EXPECT_EQ(of_all, 6);
  EXPECT_EQ(of_loop, 5);
}

// The cost of a step without nested schedules: 1 for a view, 10 for a product.
struct Costs {
  int operator()(const ViewStep&, const Schedule&) const { return 1; }
  int operator()(const DotStep&, const Schedule&) const { return 10; }
  int operator()(const KernelStep&, const Schedule&) const { return 0; }
  int operator()(const ConvolutionStep&, const Schedule&) const { return 0; }
  int operator()(const CollectiveStep&, const Schedule&) const { return 0; }
  int operator()(const InstanceTableStep&, const Schedule&) const { return 0; }
  int operator()(const CallStep&, const Schedule&) const { return 0; }
  int operator()(const UpdateStep&, const Schedule&) const { return 0; }
};

TEST(ScheduleWalk, ARunCostsEveryTripAndTheDearestBranch) {
  EXPECT_EQ(cost_of_run(nested(), Costs()), 1 + 5 * (1 + 1 + 11) + 1);
}

TEST(ScheduleWalk, WithoutAnExpectedBranchTheDearestOfAllCounts) {
  const BranchStep branch{.branches = {holding({view(1)}), holding({dot(2), dot(3)})}};
  EXPECT_EQ(cost_of_run(*holding({branch}), Costs()), 20);
}

TEST(ScheduleWalk, ALoopOfAnUnknownNumberOfTripsCountsOnce) {
  const LoopStep loop{.cond = holding({view(1)}), .body = holding({dot(2)})};
  EXPECT_EQ(cost_of_run(*holding({loop}), Costs()), 11);
}

}  // namespace
}  // namespace tessera::schedule_walk_test
