// One step of a known fold on elements of any dtype, for the host calls of scatter and of the
// windows. Integers wrap, a NaN makes the result NaN, -0 is less than 0, bools are combined by
// logical operations, and floats below 32 bits are computed in float32.
#pragma once

#include <algorithm>
#include <complex>
#include <type_traits>

#include "tessera/base/dtype.h"
#include "tessera/base/error.h"
#include "tessera/base/extremum.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/ir/factors.h"
#include "tessera/ir/format.h"

namespace tessera::ops {

template <ReduceKind kind, class T>
T fold_scalar(T a, T b) {
  constexpr bool is_sum = kind == ReduceKind::kSum, is_product = kind == ReduceKind::kProduct,
                 is_max = kind == ReduceKind::kMax;
  if constexpr (is_half_type<T>) {
    return T(fold_scalar<kind, float>(static_cast<float>(a), static_cast<float>(b)));
  } else if constexpr (std::is_same_v<T, bool>) {
    return is_sum || is_max || kind == ReduceKind::kOr ? a || b : a && b;
  } else if constexpr (is_sum || is_product) {
    if constexpr (std::is_integral_v<T>) {
      const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
      return static_cast<T>(is_sum ? x + y : x * y);
    } else {
      return is_sum ? a + b : a * b;
    }
  } else if constexpr (is_complex_type<T>) {
    return a;  // type rules exclude this case
  } else if constexpr (kind == ReduceKind::kAnd || kind == ReduceKind::kOr) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(kind == ReduceKind::kAnd ? a & b : a | b);
    return a;
  } else {
    if constexpr (std::is_floating_point_v<T>)
      return is_max ? ieee_maximum(a, b) : ieee_minimum(a, b);
    return is_max ? std::max(a, b) : std::min(a, b);
  }
}

// Calls f(std::integral_constant<ReduceKind, kind>) for a fold of two scalars.
template <class F>
void visit_fold(ReduceKind kind, F&& f) {
  switch (kind) {
    case ReduceKind::kSum:
      return f(std::integral_constant<ReduceKind, ReduceKind::kSum>{});
    case ReduceKind::kProduct:
      return f(std::integral_constant<ReduceKind, ReduceKind::kProduct>{});
    case ReduceKind::kMin:
      return f(std::integral_constant<ReduceKind, ReduceKind::kMin>{});
    case ReduceKind::kMax:
      return f(std::integral_constant<ReduceKind, ReduceKind::kMax>{});
    case ReduceKind::kAnd:
      return f(std::integral_constant<ReduceKind, ReduceKind::kAnd>{});
    case ReduceKind::kOr:
      return f(std::integral_constant<ReduceKind, ReduceKind::kOr>{});
    default:
      TESSERA_CHECK(false, "not a fold of two scalars");
  }
}

}  // namespace tessera::ops
