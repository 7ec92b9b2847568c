// Which results of a step may be in their operand's memory, as far as the step itself is concerned.
// The assignment of memory to slots (runtime/storage_plan.h, codegen/routine_homes.h) decides
// whether one is, which requires that nothing reads the operand afterwards.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "tessera/fusion/schedule.h"

namespace tessera::fusion {

// For a loop or a branch: the positions in `in` and in `out` of operands and results that share
// memory. The code of the step first copies the operand there unless it is there already.
using InPlace = std::vector<std::pair<int, int>>;

// Returns the pairs (in, out) of slots for which out may have in's memory; the step then writes
// only what changes. `nested`: for a loop or a branch, the pairs of its schedules; otherwise empty.
std::vector<std::pair<int, int>> in_place_slots(const Step& step, const InPlace& nested);

// Returns the slots that the step reads, each as often as it reads it.
std::vector<int> reads_of(const Step& step);

// Returns whether a step reads the input, or a result is the input.
bool reads_input(const Schedule& schedule, size_t input);

// Returns the pairs of a conditional that may share memory: every branch that reads the operand
// appears to return it, changed only by updates. Whether it does is known when the branch has its
// memory.
InPlace branch_candidates(const BranchStep& branch, const Schedule& around);

// Returns, for each of the `inputs` of a schedule, the output that must be in its memory if a step
// overwrites it; -1: no step may.
std::vector<int> ends_of(const InPlace& pairs, size_t first, size_t inputs);

}  // namespace tessera::fusion
