// Fusion of loops and branches: values that become constant, vary between devices or are dropped.
// Every schedule is run by the interpreter and compared with the evaluator.
#include <gmock/gmock.h>

#include "fusion_testing.h"
#include "tessera/fusion/control_steps.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ops/collectives/collectives.h"
#include "tests/trace/control_flow.h"

namespace tessera::fusion_testing::control_test {

using namespace fusion;

namespace {

using namespace array_math;
namespace control = testing_control;
using testing::HasSubstr;

const LoopStep& loop_of(const Schedule& s) {
  for (const Step& step : s.steps)
    if (const auto* loop = std::get_if<LoopStep>(&step)) return *loop;
  TESSERA_CHECK(false, "no loop");
  __builtin_unreachable();
}
const BranchStep& branch_of(const Schedule& s) {
  for (const Step& step : s.steps)
    if (const auto* branch = std::get_if<BranchStep>(&step)) return *branch;
  TESSERA_CHECK(false, "no branch");
  __builtin_unreachable();
}

// A reference to a step of a temporary schedule would dangle.
const LoopStep& loop_of(Schedule&&) = delete;
const BranchStep& branch_of(Schedule&&) = delete;

TEST(FuseControl, ScanIsOneLoopOverSlices) {
  for (bool reverse : {false, true}) {
    const Function f = trace({f32({3}), f32({3}), f32({5, 3})}, [&](const Arrays& x) {
      return control::scan(
          5, {x[0]}, {x[1]}, {x[2]},
          [](const Arrays& b) {
            const Array next = lax::sin(b[1]) * b[0] + b[2];
            return Arrays{next, next * b[2]};
          },
          reverse);
    });
    const Schedule s = check(f);
    ASSERT_EQ(s.steps.size(), 1U) << to_string(s);
    const LoopStep& loop = loop_of(s);
    EXPECT_EQ(loop.trip_count, 5);
    EXPECT_EQ(loop.reverse, reverse);
    EXPECT_EQ(loop.consts.size(), 1U);
    EXPECT_EQ(loop.in.size(), 1U);
    EXPECT_EQ(loop.xs.size(), 1U);
    EXPECT_EQ(loop.ys.size(), 1U);
    EXPECT_EQ(loop.body->steps.size(), 1U) << "the body is one kernel\n" << to_string(s);
  }
}

TEST(FuseControl, CarriesThatNobodyNeedsAreDropped) {
  // Carry 1 is only read by itself, carry 2 does not change, and only the second stacked result is
  // used.
  const Function f = trace({f32({3}), f32({3}), f32({3})}, [](const Arrays& x) {
    const Arrays out = control::scan(4, {}, {x[0], x[1], x[2]}, {}, [](const Arrays& b) {
      return Arrays{b[0] + b[2], b[1] * b[1], b[2], b[1], b[0] * b[2]};
    });
    return Arrays{out[0], out[4]};
  });
  const Schedule s = check(f);
  const LoopStep& loop = loop_of(s);
  EXPECT_EQ(loop.consts.size(), 1U);
  EXPECT_EQ(loop.in.size(), 1U);
  EXPECT_EQ(loop.ys.size(), 1U);
}

TEST(FuseControl, InvariantCarriesOfAWhileAreConstants) {
  const Function f = trace({f32({3}), f32({}), array_type(int32, {})}, [](const Arrays& x) {
    return control::while_loop(
        {x[0], x[1], x[2]},
        [](const Arrays& c) { return Arrays{lax::lt(c[2], Array(Literal::scalar(5)))}; },
        [](const Arrays& c) {
          return Arrays{c[0] * 2 + lax::broadcast_in_dim(c[1], {3}, {}), c[1], c[2] + 1};
        });
  });
  const Schedule s = check(
      f, {random_literal(f32({3}), 1), random_literal(f32({}), 2), Literal::scalar(int32_t{-3})});
  const LoopStep& loop = loop_of(s);
  EXPECT_EQ(loop.consts.size(), 1U);
  EXPECT_EQ(loop.in.size(), 2U);
  ASSERT_NE(loop.cond, nullptr);
}

TEST(FuseControl, BranchesOfAnIndexOrABool) {
  const std::vector<FlatFn> branches = {[](const Arrays& x) {
                                          return Arrays{x[0] + x[1], x[0]};
                                        },
                                        [](const Arrays& x) {
                                          return Arrays{lax::exp(x[1]), x[0] * 3};
                                        }};
  const Function f = trace({array_type(int32, {}), f32({4}), f32({4})}, [&](const Arrays& x) {
    return control::branch(x[0], {x[1], x[2]}, branches);
  });
  for (int32_t i : {-1, 0, 1, 2})
    check(f, {Literal::scalar(i), random_literal(f32({4}), 1), random_literal(f32({4}), 2)});
  const Function g = trace({array_type(bool_, {}), f32({4}), f32({4})}, [&](const Arrays& x) {
    return Arrays{control::branch(x[0], {x[1], x[2]}, branches)[0]};
  });
  for (bool p : {false, true}) {
    const Schedule s =
        check(g, {Literal::scalar(p), random_literal(f32({4}), 1), random_literal(f32({4}), 2)});
    EXPECT_EQ(branch_of(s).out.size(), 1U) << "the other result is dead";
  }
}

TEST(FuseControl, NestedLoops) {
  const Function f = trace({f32({2}), f32({3, 4, 2})}, [](const Arrays& x) {
    return control::scan(3, {}, {x[0]}, {x[1]}, [](const Arrays& outer) {
      return control::scan(4, {}, {outer[0]}, {outer[1]}, [](const Arrays& b) {
        return Arrays{b[0] * 0.5 + b[1], b[0] * b[1]};
      });
    });
  });
  check(f);
}

// --- On several devices ---

const Mesh line = Mesh::abstract({4}, {"x"});

// Fuses f, where input k varies over axes[k], and compares the schedule with the evaluation on all
// devices.
Schedule check_on(const Function& f, const std::vector<AxisList>& axes) {
  const Schedule schedule = fuse(simplified(f), line, {.input_axes = axes});
  std::vector<std::vector<Literal>> instances;
  std::vector<DeviceLiterals> devices;
  uint32_t seed = 1;
  for (size_t k = 0; k < axes.size(); ++k) {
    auto& mine = instances.emplace_back();
    for (int64_t i = 0; i < axes_size(line, axes[k]); ++i)
      mine.push_back(random_literal(f.input_types()[k], seed++));
    auto& on_device = devices.emplace_back();
    for (int32_t i : instance_map(line, {0}, axes[k])) on_device.push_back(mine[i]);
  }
  const std::vector<DeviceLiterals> want = evaluate_spmd(f, devices, line);
  const auto got = ScheduleInterpreter(schedule).run(instances);
  for (size_t k = 0; k < want.size(); ++k) {
    const std::vector<int32_t> place =
        instance_map(line, {0}, schedule.slots[schedule.outputs[k]].axes);
    for (size_t device = 0; device < place.size(); ++device)
      expect_close(got[k][place[device]], want[k][device],
                   fmt::format("result {} on device {}\n{}", k, device, to_string(schedule)));
  }
  return schedule;
}

TEST(FuseControl, ACarryVariesOnceATripMakesItVary) {
  // Carry 0 varies after the first iteration because it reads carry 1. Carry 2 is the same on all
  // devices.
  const AxisEnv::Scope scope(line, {"x"}, false);
  const Function f = trace({f32({3}), f32({3}), f32({3}), f32({3})}, [](const Arrays& x) {
    return control::scan(3, {x[3]}, {x[0], x[1], x[2]}, {}, [](const Arrays& b) {
      return Arrays{b[1] + b[2], b[2] * b[0], b[3] * 2, lax::psum(b[1], "x")};
    });
  });
  const Schedule s = check_on(f, {{}, {}, {}, {0}});
  const LoopStep& loop = loop_of(s);
  EXPECT_EQ(s.slots[loop.out[0]].axes, (AxisList{0}));
  EXPECT_EQ(s.slots[loop.out[1]].axes, (AxisList{0}));
  EXPECT_EQ(s.slots[loop.out[2]].axes, AxisList{});
  EXPECT_EQ(s.slots[loop.ys[0]].axes, AxisList{}) << "a sum over all devices";
}

TEST(FuseControl, ResultsOfBranchesVaryAsAnyOfThem) {
  const AxisEnv::Scope scope(line, {"x"}, false);
  const Function f = trace({array_type(int32, {}), f32({3}), f32({3})}, [](const Arrays& x) {
    return control::branch(x[0], {x[1], x[2]},
                           {[](const Arrays& b) { return Arrays{b[0]}; },
                            [](const Arrays& b) { return Arrays{b[1] * 2}; }});
  });
  const Schedule s = check_on(f, {{}, {}, {0}});
  EXPECT_EQ(s.slots[branch_of(s).out[0]].axes, (AxisList{0}));
}

TEST(FuseControl, RefusesConditionsThatDifferBetweenDevices) {
  const AxisEnv::Scope scope(line, {"x"}, false);
  const Function loop = trace({f32({})}, [](const Arrays& x) {
    return control::while_loop(
        {x[0]}, [](const Arrays& c) { return Arrays{lax::lt(c[0], Array(Literal::scalar(1.F)))}; },
        [](const Arrays& c) { return Arrays{c[0] + 1}; });
  });
  const Function choice = trace({array_type(bool_, {}), f32({})}, [](const Arrays& x) {
    const FlatFn same = [](const Arrays& b) { return b; };
    return control::branch(x[0], {x[1]}, {same, [](const Arrays& b) { return Arrays{b[0] * 2}; }});
  });
  auto message = [](const Function& f, std::vector<AxisList> axes) -> std::string {
    try {
      fuse(simplified(f), line, {.input_axes = std::move(axes)});
    } catch (const UserError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(message(loop, {{0}}),
              HasSubstr("[while] expected a condition that is the same on all devices, got one "
                        "that varies over 'x'"));
  EXPECT_THAT(message(choice, {{0}, {}}), HasSubstr("[case] expected an index that is the same"));
}

}  // namespace
}  // namespace tessera::fusion_testing::control_test
