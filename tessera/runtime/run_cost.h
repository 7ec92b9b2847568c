// RunCost: what one run of a schedule does to memory and how often its steps run, worked out from
// the memory plan without running anything and without code.
//
// Numbers are exact where the schedule says them. A loop whose trips nobody knows counts as one
// trip; of a branch, the way that moves the most bytes counts, of those that are not rare. An
// operand that a kernel reads at places that it computes counts once an evaluation of the load, but
// never more than its elements.
#pragma once

#include <string>
#include <vector>

#include "tessera/fusion/schedule.h"

namespace tessera::runtime {

// A step, all its runs on all devices together.
struct StepCost {
  std::string name;  // the loops and branches around it, then the step: "loop: kernel (8)"
  double runs = 0;
  double bytes_read = 0, bytes_written = 0;
  double evaluations = 0;  // of ops of kernels
  // Its runs within loops that are run step by step instead of as machine code (routine_code.h).
  double interpreted = 0;
  double bytes() const { return bytes_read + bytes_written; }
};

struct RunCost {
  std::vector<StepCost> steps;  // in program order; copies that loops and branches make are steps
  int64_t allocations = 0;      // of memory for results and temporaries
  int64_t arena_bytes = 0;

  double runs() const;
  double bytes() const;
  double evaluations() const;
  double interpreted() const;
};

RunCost run_cost(const Schedule& schedule);

}  // namespace tessera::runtime
