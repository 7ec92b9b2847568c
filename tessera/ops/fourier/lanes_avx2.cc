// LaneRoutines for processors with AVX2.
#include "tessera/ops/fourier/lanes_targets.h"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
namespace tessera::ops::fourier {
namespace avx2 {
#include "tessera/ops/fourier/lane_code.h"
}  // namespace avx2

const LaneRoutines<float> k_lanes_avx2_f32 = avx2::LaneCode<float, 8>::routines();
const LaneRoutines<double> k_lanes_avx2_f64 = avx2::LaneCode<double, 4>::routines();

}  // namespace tessera::ops::fourier
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
