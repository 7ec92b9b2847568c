// Predicts how long a run of a program takes on this machine, before anything runs, from what
// `tessera calibrate` measured (mesh/costs.h).
//
// A step of the schedule takes the time of its arithmetic or of its memory traffic, whichever is
// longer, at the speed measured for its size. It has the threads of this process; all processes of
// the cluster on this machine share its cores. A product that exceeds a core's cache takes the time
// of its operations plus that of its operands. Communication takes the time of the cost model
// (spmd/cost.h).
#pragma once

#include <optional>

#include "tessera/compile/pipeline.h"
#include "tessera/mesh/costs.h"

namespace tessera::compile {

struct StepTime {
  double compute = 0, communication = 0;  // seconds of one run
  double total() const { return compute + communication; }
};

// Returns nullopt if the machine was not calibrated, and for devices that are not its CPUs.
std::optional<StepTime> predict_time(const Stages& stages, const Device& device);
// Returns the seconds of computation in one run, given these measured costs.
double predict_compute(const Stages& stages, const MachineCosts& costs);

}  // namespace tessera::compile
