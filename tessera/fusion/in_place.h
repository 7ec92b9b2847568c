// Results in their operand's memory: which results of a step may be, as far as the step itself is
// concerned. Whether one is, whoever gives the slots their memory decides (runtime/storage_plan.h,
// codegen/routine_homes.h): only then, if nothing reads the operand afterwards.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "tessera/fusion/schedule.h"

namespace tessera::fusion {

// Of a loop or a branch: the positions in `in` and in `out` of operands and results that are one
// memory. Who runs the step copies the operand there first unless it is there already.
using InPlace = std::vector<std::pair<int, int>>;

// Returns the pairs (in, out) of slots of which out may be in's memory; the step then writes only
// what changes. `nested`: of a loop or a branch, what was found for its schedules; else empty.
std::vector<std::pair<int, int>> in_place_slots(const Step& step, const InPlace& nested);

// Returns the slots that the step reads, each as often as it reads it.
std::vector<int> reads_of(const Step& step);

// Returns whether a step or a result of the schedule is the input.
bool reads_input(const Schedule& schedule, size_t input);

// Returns the pairs that a branch may have in place: every branch that reads the operand seems to
// return it, changed by updates at most. Whether it does shows when the branch has its memory.
InPlace branch_candidates(const BranchStep& branch, const Schedule& around);

// Of each input of a schedule that so many `inputs` enter, the output that has to be in its memory
// if a step overwrites it; -1: no step may.
std::vector<int> ends_of(const InPlace& pairs, size_t first, size_t inputs);

}  // namespace tessera::fusion
