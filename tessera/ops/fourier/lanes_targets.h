// Declares the LaneRoutines of each instruction set, among which lanes.cc chooses. The source files
// that define them include nothing else.
#pragma once

#include "tessera/ops/fourier/lanes.h"

namespace tessera::ops::fourier {

extern const LaneRoutines<float> k_lanes_avx512_f32, k_lanes_avx2_f32, k_lanes_baseline_f32;
extern const LaneRoutines<double> k_lanes_avx512_f64, k_lanes_avx2_f64, k_lanes_baseline_f64;

}  // namespace tessera::ops::fourier
