// Homes: finds which slots of a schedule inside a routine (routine.h) share memory: views, and
// results of updates if nothing reads the operand afterwards.
#pragma once

#include <unordered_map>
#include <vector>

#include "tessera/fusion/in_place.h"

namespace tessera::codegen {

struct Homes {
  // For each slot, the slot whose memory it has: itself, or an earlier one.
  std::vector<size_t> home;
  // For each input, whether a step overwrites it.
  std::vector<bool> overwritten;
};

// Finds the homes of slots. It caches the homes of loops and branches by the addresses of their
// steps, so it must not outlive their schedules.
class HomeFinder {
 public:
  // Returns the homes of the schedule's slots. `writable`: the inputs that may be overwritten.
  Homes find(const Schedule& schedule, const std::vector<bool>& writable);

  // Returns the pairs of operands and results of the step that share memory. It is empty for all
  // steps except loops and branches.
  const fusion::InPlace& in_place(const Step& step, const Schedule& around);
  const fusion::InPlace& in_place(const LoopStep& loop);
  const fusion::InPlace& in_place(const BranchStep& branch, const Schedule& around);

 private:
  std::unordered_map<const void*, fusion::InPlace> found_;  // by the address of the step
};

// Returns which inputs of a nested schedule the pairs make writable. `first` is the input for
// position 0 of the step's `in`.
std::vector<bool> writable_inputs(const Schedule& nested, const fusion::InPlace& pairs,
                                  size_t first);

}  // namespace tessera::codegen
