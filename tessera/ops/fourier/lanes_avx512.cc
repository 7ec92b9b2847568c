// LaneRoutines for processors with AVX-512.
#include "tessera/ops/fourier/lanes_targets.h"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push( \
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")
#endif
namespace tessera::ops::fourier {
namespace avx512 {
#include "tessera/ops/fourier/lane_code.h"
}  // namespace avx512

const LaneRoutines<float> k_lanes_avx512_f32 = avx512::LaneCode<float, 16>::routines();
const LaneRoutines<double> k_lanes_avx512_f64 = avx512::LaneCode<double, 8>::routines();

}  // namespace tessera::ops::fourier
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
