// The parts of `tessera calibrate`: measuring this machine, and comparing what is predicted from
// the figures with the times of training steps.
#pragma once

#include <functional>
#include <iosfwd>
#include <vector>

#include "tessera/mesh/costs.h"
#include "tools/commands.h"

namespace tessera::tools {

using Run = std::function<void()>;

// Everything is measured so often, some seconds apart, and the median is kept: other work on the
// machine slows one figure down and not its neighbour, and it does not last.
inline constexpr int kSweeps = 5;

double median(std::vector<double> values);
// Returns the median of the seconds of `run`: of `samples`, each of `repeats` runs, after a first
// run.
double median_seconds(const Run& run, int samples, int repeats = 1);

// Returns the speeds and the links within this process.
MachineCosts measure_process();
// Measures the links between the processes of the cluster, which all call it.
void measure_links(MachineCosts& costs);

// Predicts and measures steps of training of four models on the devices of all processes, which all
// call it; prints a line for each.
void check_predictions(std::ostream& out);

}  // namespace tessera::tools
