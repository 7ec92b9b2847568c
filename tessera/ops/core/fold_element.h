// One step of a known fold, for every dtype that the fold accepts: like scalar_fold.h, and for
// complex numbers the minimum and maximum by the real, then by the imaginary part. Host calls of
// scatter and of the windows use it.
#pragma once

#include "tessera/ops/core/scalar_fold.h"
#include "tessera/ops/core/scalar_math.h"

namespace tessera::ops {

template <ReduceKind kind, class T>
T fold_element(T a, T b) {
  constexpr bool is_max = kind == ReduceKind::kMax;
  if constexpr (is_complex_type<T> && (is_max || kind == ReduceKind::kMin)) {
    const scalar::Complex x(a), y(b);
    return T(is_max ? scalar::maximum(x, y) : scalar::minimum(x, y));
  } else {
    return fold_scalar<kind, T>(a, b);
  }
}

}  // namespace tessera::ops
