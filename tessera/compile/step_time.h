// What a run of a program takes on this machine, predicted from what `tessera calibrate` measured
// (mesh/costs.h): after the pipeline, before anything runs.
//
// Each step of the schedule takes as long as its arithmetic, or as its bytes if these take longer,
// at the speed that its size has here, on the threads of this process, which shares the cores of
// the machine with the others of its cluster. A product that no core's cache holds takes its flop and
// its operands, one after the other. What is communicated is the cost model's
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

// Nothing where no figures were measured, and for devices that are not this machine's CPUs.
std::optional<StepTime> predict_time(const Stages& stages, const Device& device);
// What it takes to compute, by these figures, which are measured ones: seconds of one run here.
double predict_compute(const Stages& stages, const MachineCosts& costs);

}  // namespace tessera::compile
