// Counts the costs of compiling and running a program. No clock is used, so the same program has
// the same counts everywhere.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/fusion/schedule.h"
#include "tessera/ir/function.h"
#include "tessera/runtime/run_cost.h"

namespace tessera::costs {

// The size of the program after a pass, and the cost of the pass.
struct PassCount {
  std::string name;
  double ops = 0;          // in all regions; after fuse: slots, steps, and nodes of kernels
  double allocations = 0;  // during the pass
  double allocated_bytes = 0;
  double instructions = 0;  // 0 if they are not counted (instructions.h)
  double seconds = 0;       // only for people: no check reads it
};

struct Counts {
  ir::Function traced;
  std::vector<PassCount> passes;  // "trace", those of the pipeline, "plan_memory", "program"
  fusion::Schedule schedule;
  runtime::RunCost run;
};

// Compiles the function that `trace` returns, for one device or the mesh that it names, and makes
// its program, but no machine code. Returns the counts.
Counts counts_of(const std::function<ir::Function()>& trace);

}  // namespace tessera::costs
