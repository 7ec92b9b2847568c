// RunCost: the memory traffic of one run of a schedule, and how often its steps run. It is computed
// from the memory plan; nothing is run or compiled.
//
// Numbers are exact if the schedule determines them. A loop with an unknown number of trips counts
// as one trip; a conditional counts as the branch that moves and evaluates the most, except
// unlikely ones. If a kernel reads an operand at computed indices, each evaluation of the load
// counts as one element, but all together count as at most the operand's elements.
#pragma once

#include <string>
#include <vector>

#include "tessera/fusion/schedule.h"

namespace tessera::runtime {

// The cost of a step: the sum over all its runs, on all devices.
struct StepCost {
  std::string name;  // the loops and branches around it, then the step: "loop: kernel (8)"
  double runs = 0;
  double bytes_read = 0, bytes_written = 0;
  double evaluations = 0;  // of scalar ops in kernels
  // The runs inside loops that are interpreted step by step instead of running as machine code
  // (routine_code.h).
  double interpreted = 0;
  double bytes() const { return bytes_read + bytes_written; }
};

struct RunCost {
  // The steps in program order, including the copies that loops and branches make.
  std::vector<StepCost> steps;
  int64_t allocations = 0;  // of memory for results and temporaries
  int64_t arena_bytes = 0;

  double runs() const;
  double bytes() const;
  double evaluations() const;
  double interpreted() const;
};

RunCost run_cost(const Schedule& schedule);

}  // namespace tessera::runtime
