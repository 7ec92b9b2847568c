// The parts of `tessera calibrate`: measuring this machine, and comparing the predictions that are
// made from the measured costs with the times of training steps.
#pragma once

#include <functional>
#include <iosfwd>
#include <vector>

#include "tessera/mesh/costs.h"
#include "tools/commands.h"

namespace tessera::tools {

using Run = std::function<void()>;

// The number of times that everything is measured, some seconds apart; the median is used. Other
// work on the machine slows single measurements down, and does not last.
inline constexpr int kSweeps = 5;

double median(std::vector<double> values);
// Returns the median of the seconds of one run over `samples` samples of `repeats` runs each, after
// a first run that does not count.
double median_seconds(const Run& run, int samples, int repeats = 1);

// Returns the speeds and the link within this process.
MachineCosts measure_process();
// Measures the links between the processes of the cluster. All processes must call it.
void measure_links(MachineCosts& costs);

// Predicts and measures training steps of four models on the devices of all processes, and prints a
// line for each model. All processes must call it.
void check_predictions(std::ostream& out);

}  // namespace tessera::tools
