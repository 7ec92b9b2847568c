// The time of a run of a program on this machine, predicted from what `tessera calibrate` measured
// (mesh/costs.h): after the pipeline, before anything runs.
//
// Each step of the schedule takes as long as its arithmetic or its memory traffic, whichever takes
// longer, at the speed for its size, on the threads of this process, which shares the cores of the
// machine with the other processes of its cluster. A product that exceeds a core's cache takes the
// time of its operations plus that of its operands. Communication takes the time of the cost model
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

// Returns nullopt if no figures were measured, and for devices that are not this machine's CPUs.
std::optional<StepTime> predict_time(const Stages& stages, const Device& device);
// Returns the seconds of computation in one run, by these measured figures.
double predict_compute(const Stages& stages, const MachineCosts& costs);

}  // namespace tessera::compile
