// Walks over a Schedule and the schedules that are nested in its loops and branches. Only this file
// knows which kinds of steps contain schedules: a new kind must be added to for_each_nested.
#pragma once

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include "tessera/base/overloaded.h"
#include "tessera/fusion/schedule.h"

namespace tessera::fusion {

// Which branches of a BranchStep a walk enters.
enum class Branches : uint8_t { kAll, kNotUnlikely };

// Calls f with each schedule that the step contains: a loop's condition before its body, branches
// in order. Schedules nested in these are not visited.
template <class F>
void for_each_nested(const LoopStep& loop, const F& f) {
  if (loop.cond) f(*loop.cond);
  f(*loop.body);
}
template <class F>
void for_each_nested(const Step& step, const F& f, Branches which = Branches::kAll) {
  std::visit(Overloaded{
                 [&](const LoopStep& loop) { for_each_nested(loop, f); },
                 [&](const BranchStep& branch) {
                   for (size_t b = 0; b < branch.branches.size(); ++b)
                     if (which == Branches::kAll || !branch.is_unlikely(b)) f(*branch.branches[b]);
                 },
                 [](const KernelStep&) {},
                 [](const DotStep&) {},
                 [](const ConvolutionStep&) {},
                 [](const CollectiveStep&) {},
                 [](const InstanceTableStep&) {},
                 [](const ViewStep&) {},
                 [](const CallStep&) {},
                 [](const UpdateStep&) {},
             },
             step);
}

// Replaces each schedule that the step contains by f(schedule).
template <class F>
void replace_nested(Step& step, const F& f) {
  const auto replace = [&](std::shared_ptr<const Schedule>& nested) {
    if (nested) nested = std::make_shared<const Schedule>(f(*nested));
  };
  std::visit(Overloaded{
                 [&](LoopStep& loop) {
                   replace(loop.cond);
                   replace(loop.body);
                 },
                 [&](BranchStep& branch) {
                   for (std::shared_ptr<const Schedule>& nested : branch.branches) replace(nested);
                 },
                 [](KernelStep&) {},
                 [](DotStep&) {},
                 [](ConvolutionStep&) {},
                 [](CollectiveStep&) {},
                 [](InstanceTableStep&) {},
                 [](ViewStep&) {},
                 [](CallStep&) {},
                 [](UpdateStep&) {},
             },
             step);
}

// Calls f(schedule) for the schedule, or for those that the loop contains, and for all schedules
// nested in them.
template <class F>
void for_each_schedule(const Schedule& s, const F& f) {
  f(s);
  for (const Step& step : s.steps)
    for_each_nested(step, [&](const Schedule& nested) { for_each_schedule(nested, f); });
}
template <class F>
void for_each_schedule(const LoopStep& loop, const F& f) {
  for_each_nested(loop, [&](const Schedule& nested) { for_each_schedule(nested, f); });
}

// Calls f(step, schedule) for each step of the schedule and of those nested in it at any depth. A
// loop or branch comes before the steps that it contains. If f returns a bool, the steps inside are
// visited only if it is true.
template <class F>
void for_each_step(const Schedule& s, const F& f, Branches which = Branches::kAll) {
  for (const Step& step : s.steps) {
    bool enters = true;
    if constexpr (std::is_void_v<std::invoke_result_t<const F&, const Step&, const Schedule&>>) {
      f(step, s);
    } else {
      enters = f(step, s);
    }
    if (!enters) continue;
    for_each_nested(
        step, [&](const Schedule& nested) { for_each_step(nested, f, which); }, which);
  }
}

// Returns the cost of one run of the schedule. cost(step, schedule) is the cost of a step that
// contains no schedules. A loop costs as much as its condition and body, times the number of trips
// (once if the number is not known). A conditional costs as much as its most expensive branch that
// is not unlikely.
template <class Cost,
          class Total = std::invoke_result_t<const Cost&, const ViewStep&, const Schedule&>>
Total cost_of_run(const Schedule& s, const Cost& cost) {
  Total total = 0;
  for (const Step& step : s.steps) {
    Total sum = 0, most = 0;
    for_each_nested(
        step,
        [&](const Schedule& nested) {
          const Total one = cost_of_run(nested, cost);
          sum += one;
          most = std::max(most, one);
        },
        Branches::kNotUnlikely);
    total += std::visit(Overloaded{
                            [&](const LoopStep& loop) {
                              const int64_t trips = std::max<int64_t>(1, loop.trip_count);
                              return static_cast<Total>(trips) * sum;
                            },
                            [&](const BranchStep&) { return most; },
                            [&](const auto& other) { return cost(other, s); },
                        },
                        step);
  }
  return total;
}

}  // namespace tessera::fusion
