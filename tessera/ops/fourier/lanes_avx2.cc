// LaneRoutines for processors with AVX2.
#include "tessera/ops/fourier/lanes_targets.h"

#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace tessera::ops::fourier {
namespace avx2 {
#include "tessera/ops/fourier/lane_code.h"
}  // namespace avx2

const LaneRoutines<float> k_lanes_avx2_f32 = avx2::LaneCode<float, 8>::routines();
const LaneRoutines<double> k_lanes_avx2_f64 = avx2::LaneCode<double, 4>::routines();

}  // namespace tessera::ops::fourier
#pragma GCC pop_options
#endif
