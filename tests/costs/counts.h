// What a program costs to compile and to run, counted: no clock takes part, so that the same program
// has the same counts everywhere.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/fusion/schedule.h"
#include "tessera/ir/function.h"
#include "tessera/runtime/run_cost.h"

namespace tessera::costs {

// What a pass left, and what it took.
struct PassCount {
  std::string name;
  double ops = 0;          // in all regions; after fuse: slots, steps, and nodes of kernels
  double allocations = 0;  // while it ran
  double allocated_bytes = 0;
  double seconds = 0;  // for people: no check looks at it
};

struct Counts {
  ir::Function traced;
  std::vector<PassCount> passes;  // "trace", those of the pipeline, "plan_memory"
  fusion::Schedule schedule;
  runtime::RunCost run;
};

// Compiles the function that `trace` returns for one device, or the mesh that it names, without making
// machine code.
Counts counts_of(const std::function<ir::Function()>& trace);

}  // namespace tessera::costs
