// Finds which results of a step may take their operand's memory, as far as the step itself is
// concerned. The assignment of memory to slots (runtime/storage_plan.h,
// codegen/routines/routine_homes.h) decides whether one does, which requires that nothing reads the
// operand afterwards.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "tessera/fusion/schedule.h"

namespace tessera::fusion {

// For a loop or a branch, pairs of positions, in `in` and in `out`, of operands and results that
// share memory. The step's code first copies the operand to that memory if it is elsewhere.
using InPlace = std::vector<std::pair<int, int>>;

// Returns pairs (in, out) of slots such that out may take in's memory; the step then writes only
// what changes. For a loop or a branch, `nested` has the pairs found in its schedules; otherwise it
// is empty.
std::vector<std::pair<int, int>> in_place_slots(const Step& step, const InPlace& nested);

// Returns the slots that the step reads, each as often as the step reads it.
std::vector<int> reads_of(const Step& step);

// Returns whether a step reads the input, or a result is the input.
bool reads_input(const Schedule& schedule, size_t input);

// Returns the pairs of a conditional that may share memory: every branch that reads the operand
// seems to return it, changed only by updates. Whether it really does is known only when the
// branch's slots have memory.
InPlace branch_candidates(const BranchStep& branch, const Schedule& around);

// Returns, for each of the `inputs` of a schedule, the output that must take its memory if a step
// overwrites the input; -1: no step may overwrite it.
std::vector<int> ends_of(const InPlace& pairs, size_t first, size_t inputs);

}  // namespace tessera::fusion
