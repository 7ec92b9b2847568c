// Type promotion: which dtype an operation on arrays of different dtypes computes in. JAX's lattice, weak types included.
#pragma once

#include <span>

#include "tessera/ir/array.h"

namespace tessera {

struct ResultType {
  DType dtype;
  bool weak;
  friend bool operator==(const ResultType&, const ResultType&) = default;
};

// The join of two types in the lattice
//   bool -> int* -> {uint8, int8} -> ... -> int64 | uint64 -> float* -> {complex*, bfloat16, float16} -> float32 -> float64 | complex64 ->
//   complex128
// where int*, float* and complex* are the weak types. Without x64, 64-bit results become their 32-bit kin.
ResultType promote_types(ResultType a, ResultType b);
ResultType result_type(std::span<const Array> arrays);

// float32 for integers and bool (float64 with x64), unchanged for inexact types: the dtype in which sin, mean, / compute.
DType to_inexact(DType dtype);
// `dtype`, or its 32-bit kin where x64 is off.
DType canonical_dtype(DType dtype);

// The arrays converted to their common dtype and broadcast to their common shape, NumPy's way. UserError naming `op` where the
// shapes do not broadcast.
std::vector<Array> promote_and_broadcast(std::string_view op, std::span<const Array> arrays);
std::vector<Array> promote_dtypes(std::span<const Array> arrays);
// NumPy's broadcast of shapes; UserError naming `op`.
Shape broadcast_shapes(std::string_view op, std::span<const Shape> shapes);

}  // namespace tessera
