#include "tessera/fusion/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/error.h"

namespace tessera::schedule_test {

using namespace fusion;

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Mesh test_mesh() {
  std::vector<Device> devices(8);
  for (size_t i = 0; i < 8; ++i) devices[i].id = static_cast<int64_t>(i);
  return Mesh(DeviceMesh{{2, 4}, devices}, {"x", "y"});
}

// Returns the schedule %2 = dot(%0, %1) summed over y, %3 = all_gather(%2) over x.
Schedule example() {
  Schedule s;
  s.mesh = test_mesh();
  s.slots = {{float32, {3, 4}, {0, 1}, 8, Slot::Kind::kInput, 0},
             {float32, {4, 5}, {1}, 4, Slot::Kind::kInput, 1},
             {float32, {3, 5}, {0}, 2},
             {float32, {6, 5}, {}, 1, Slot::Kind::kOutput, 0}};
  DotStep dot;
  dot.lhs_contract = {1};
  dot.rhs_contract = {0};
  dot.lhs = 0;
  dot.rhs = 1;
  dot.out = 2;
  dot.axes = {0, 1};
  dot.reduce_axes = {1};
  s.steps = {
      dot,
      CollectiveStep{.kind = CollectiveKind::kAllGather, .over = {0}, .dim = 0, .in = 2, .out = 3}};
  s.inputs = {0, 1};
  s.outputs = {3};
  return s;
}

TEST(Schedule, Prints) {
  EXPECT_EQ(to_string(example()),
            "schedule on Mesh('x': 2, 'y': 4)\n"
            "  %0: float32(3, 4) over {x, y} input 0\n"
            "  %1: float32(4, 5) over {y} input 1\n"
            "  %2: float32(3, 5) over {x}\n"
            "  %3: float32(6, 5) over {} output 0\n"
            "  %2 = dot(%0, %1) batch ()x() contract (1,)x(0,) over {x, y} accumulate float32 sum "
            "over {y}\n"
            "  %3 = all_gather(%2) over {x} dim 0\n"
            "  return %3\n");
}

TEST(Schedule, PrintsNestedSchedules) {
  Schedule s = example(), body;
  body.mesh = s.mesh;
  body.slots = {{float32, {6, 5}, {}, 1, Slot::Kind::kInput, 0}};
  body.inputs = body.outputs = {0};
  s.slots.push_back({float32, {6, 5}, {}, 1, Slot::Kind::kOutput, 0});
  s.steps.push_back(
      LoopStep{.body = std::make_shared<Schedule>(body), .trip_count = 3, .in = {3}, .out = {4}});
  s.outputs = {4};
  verify(s);
  EXPECT_THAT(to_string(s), HasSubstr("  %4 = loop(%3) times 3\n"
                                      "  body\n"
                                      "    schedule on Mesh('x': 2, 'y': 4)\n"
                                      "      %0: float32(6, 5) over {} input 0\n"
                                      "      return %0\n"));
}

// Returns the schedule %2 = %0 convolved with %1, over x.
Schedule convolution() {
  Schedule s;
  s.mesh = test_mesh();
  s.slots = {{float32, {2, 8, 6}, {0}, 2, Slot::Kind::kInput, 0},
             {float32, {4, 4, 3}, {}, 1, Slot::Kind::kInput, 1},
             {float32, {2, 4, 6}, {0}, 2, Slot::Kind::kOutput, 0}};
  ConvolutionParams params{.strides = {1},
                           .low = {1},
                           .high = {1},
                           .lhs_dilation = {1},
                           .rhs_dilation = {1},
                           .reversal = {0},
                           .lhs_spec = {0, 1, 2},
                           .rhs_spec = {0, 1, 2},
                           .out_spec = {0, 1, 2},
                           .feature_group_count = 2};
  s.steps = {
      ConvolutionStep{.params = std::move(params), .lhs = 0, .rhs = 1, .out = 2, .axes = {0}}};
  s.inputs = {0, 1};
  s.outputs = {2};
  return s;
}

TEST(Schedule, PrintsConvolutions) {
  verify(convolution());
  EXPECT_THAT(to_string(convolution()),
              HasSubstr("  %2 = convolution(%0, %1) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], "
                        "window = {stride = [1], pad = [[1, 1]], lhs_dilate = [1], rhs_dilate = "
                        "[1], reverse = [false]} feature groups 2 over {x}\n"));
  const StepSlots slots = step_slots(convolution().steps[0]);
  EXPECT_THAT(slots.reads, ElementsAre(0, 1));
  EXPECT_THAT(slots.writes, ElementsAre(2));
}

TEST(Schedule, InstanceMaps) {
  const Mesh mesh = test_mesh();
  EXPECT_THAT(instance_map(mesh, {1, 0}, {0, 1}), ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
  EXPECT_THAT(instance_map(mesh, {0, 1}, {1}), ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
  EXPECT_THAT(instance_map(mesh, {0}, {0, 1}), ElementsAre(0, 4));
  EXPECT_THAT(instance_map(mesh, {}, {0, 1}), ElementsAre(0));
  EXPECT_EQ(axes_size(mesh, {1, 0}), 8);
  EXPECT_EQ(axes_size(mesh, {}), 1);
}

TEST(Schedule, SlotsOfSteps) {
  const StepSlots slots = step_slots(example().steps[0]);
  EXPECT_THAT(slots.reads, ElementsAre(0, 1));  // there is no bias
  EXPECT_THAT(slots.writes, ElementsAre(2));
}

// Each rule that verify() checks is broken once.
TEST(Schedule, BrokenRules) {
  const std::vector<std::pair<std::string, std::function<void(Schedule&)>>> breaks = {
      {"7 instances", [](Schedule& s) { s.slots[0].instances = 7; }},
      {"axis 2 of",
       [](Schedule& s) {
         s.slots[0].axes = {0, 2};
       }},
      {"is (3, 5), not (3, 6)",
       [](Schedule& s) {
         s.slots[2].shape = {3, 6};
       }},
      {"contracting dim 0",
       [](Schedule& s) {
         s.slots[1].shape = {6, 5};
       }},
      {"axis 1 of the result", [](Schedule& s) { std::get<DotStep>(s.steps[0]).reduce_axes = {}; }},
      {"convolution of (2, 8, 6) and (4, 4, 3) is (2, 4, 6), not (2, 4, 5)",
       [](Schedule& s) {
         s = convolution();
         s.slots[2].shape = {2, 4, 5};
       }},
      {"axes of the result",
       [](Schedule& s) {
         s = convolution();
         s.slots[2].axes = {};
         s.slots[2].instances = 1;
       }},
      {"slot 9 of 4", [](Schedule& s) { std::get<CollectiveStep>(s.steps[1]).out = 9; }},
      {"reads %2 before it is written", [](Schedule& s) { std::swap(s.steps[0], s.steps[1]); }},
      {"writes %0, which is constant or an input",
       [](Schedule& s) {
         s.steps[1] = ViewStep{0, 0};
       }},
      {"output %2 is never written", [](Schedule& s) { s.steps.clear(), s.outputs = {2}; }},
      {"a view of 120 bytes of 60 bytes",
       [](Schedule& s) {
         s.steps[1] = ViewStep{2, 3};
       }},
      {"pair (0, 5) of 2 ranks",
       [](Schedule& s) {
         std::get<CollectiveStep>(s.steps[1]).pairs = {{0, 5}};
       }},
      {"groups", [](Schedule& s) { std::get<CollectiveStep>(s.steps[1]).groups = {{0}}; }},
      {"step 1: literal",
       [](Schedule& s) {
         s.steps[1] = InstanceTableStep{3, {Literal(float32, {1})}};
       }},
      {"a loop without a body", [](Schedule& s) { s.steps[1] = LoopStep{}; }},
      {"call solve without a function",
       [](Schedule& s) { s.steps[1] = CallStep{.name = "solve"}; }},
  };
  verify(example());
  for (const auto& [text, apply] : breaks) {
    Schedule s = example();
    apply(s);
    try {
      verify(s);
      ADD_FAILURE() << "passed, expected: " << text;
    } catch (const InternalError& e) {
      EXPECT_THAT(e.what(), HasSubstr(text));
    }
  }
}

}  // namespace
}  // namespace tessera::schedule_test
