// LaneRoutines for any processor: the compiler uses the vectors that the baseline has.
#include "tessera/ops/fourier/lanes_targets.h"

namespace tessera::ops::fourier {
namespace baseline {
#include "tessera/ops/fourier/lane_code.h"
}  // namespace baseline

const LaneRoutines<float> k_lanes_baseline_f32 = baseline::LaneCode<float, 4>::routines();
const LaneRoutines<double> k_lanes_baseline_f64 = baseline::LaneCode<double, 2>::routines();

}  // namespace tessera::ops::fourier
