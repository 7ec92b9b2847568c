#include "tessera/ops/fourier/lanes.h"

#include "tessera/ops/fourier/lanes_targets.h"

namespace tessera::ops::fourier {
namespace {

enum class Target { kBaseline, kAvx2, kAvx512 };

Target find_target() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    return Target::kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Target::kAvx2;
#endif
  return Target::kBaseline;
}
const Target kTarget = find_target();

}  // namespace

template <>
const LaneRoutines<float>& lane_routines<float>() {
#if defined(__x86_64__)
  if (kTarget == Target::kAvx512) return k_lanes_avx512_f32;
  if (kTarget == Target::kAvx2) return k_lanes_avx2_f32;
#endif
  return k_lanes_baseline_f32;
}
template <>
const LaneRoutines<double>& lane_routines<double>() {
#if defined(__x86_64__)
  if (kTarget == Target::kAvx512) return k_lanes_avx512_f64;
  if (kTarget == Target::kAvx2) return k_lanes_avx2_f64;
#endif
  return k_lanes_baseline_f64;
}

}  // namespace tessera::ops::fourier
