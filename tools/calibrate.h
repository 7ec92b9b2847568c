// What `tessera calibrate` consists of: measuring this machine, and comparing what is predicted
// from the figures with what steps of training take.
#pragma once

#include <functional>
#include <iosfwd>
#include <vector>

#include "tessera/mesh/costs.h"
#include "tools/commands.h"

namespace tessera::tools {

using Run = std::function<void()>;

// All is measured so often, some seconds apart, and the median kept: what others do on the machine
// meanwhile slows one figure down and not its neighbour, and it does not last.
inline constexpr int kSweeps = 5;

double median(std::vector<double> values);
// The median of the seconds that `run` takes: `samples` of `repeats` runs each, after a first one.
double median_seconds(const Run& run, int samples, int repeats = 1);

// Speeds and the links within this process.
MachineCosts measure_process();
// The links between the processes of the cluster, which all call it.
void measure_links(MachineCosts& costs);

// Steps of training of four models on the devices of all processes, which all call it: predicted
// and measured, a line each.
void check_predictions(std::ostream& out);

}  // namespace tessera::tools
