// RunCost: the memory traffic of one run of a schedule, and how often its steps run, computed from
// the memory plan without running or compiling anything.
//
// Numbers are exact where the schedule determines them. A loop whose number of trips is not known
// counts as one trip; of a branch's branches that are not unlikely, the one that moves the most
// bytes counts. If a kernel reads an operand at computed indices, each evaluation of the load
// counts one element, but all together at most the operand's elements.
#pragma once

#include <string>
#include <vector>

#include "tessera/fusion/schedule.h"

namespace tessera::runtime {

// A step: the sum of all its runs on all devices.
struct StepCost {
  std::string name;  // the loops and branches around it, then the step: "loop: kernel (8)"
  double runs = 0;
  double bytes_read = 0, bytes_written = 0;
  double evaluations = 0;  // of ops of kernels
  // The runs within loops that are interpreted step by step instead of running as machine code
  // (routine_code.h).
  double interpreted = 0;
  double bytes() const { return bytes_read + bytes_written; }
};

struct RunCost {
  // in program order; copies that loops and branches make are steps too
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
