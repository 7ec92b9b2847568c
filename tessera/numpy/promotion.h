// Type promotion: which dtype an operation on arrays of different dtypes computes in. JAX's
// lattice, weak types included; and NumPy's broadcasting of shapes.
#pragma once

#include <initializer_list>
#include <span>

#include "tessera/ir/array.h"

namespace tessera {

struct ResultType {
  DType dtype;
  bool weak;
  friend bool operator==(const ResultType&, const ResultType&) = default;
};

// The join of two types in the lattice
//   bool -> int* -> {uint8, int8} -> ... -> int64 | uint64
//        -> float* -> {complex*, bfloat16, float16} -> float32 -> float64 | complex64 -> complex128
// where int*, float* and complex* are the weak types. Without x64, 64-bit results become their
// 32-bit kin.
ResultType promote_types(ResultType a, ResultType b);
ResultType result_type(std::span<const Array> arrays);
inline ResultType result_type(std::initializer_list<Array> arrays) {
  return result_type(std::span<const Array>(arrays.begin(), arrays.size()));
}

// `dtype`, or its 32-bit kin where x64 is off.
DType canonical_dtype(DType dtype);
// float64 and int64, or their 32-bit kin where x64 is off: what C++ numbers become.
inline DType default_float() { return canonical_dtype(float64); }
inline DType default_int() { return canonical_dtype(int64); }
// In which sin, mean and / compute: bool and integers of up to 32 bits give float32, wider ones
// float64, inexact types themselves.
DType to_inexact(DType dtype);
// In which + of bool computes where NumPy has no such operation on bool: bool gives int32, others
// themselves.
DType to_numeric(DType dtype);

// What the common dtype is turned into before the operation.
enum class Promotion : uint8_t { kAny, kNumeric, kInexact };

// x as another dtype; a complex number is true where either part is not 0. A known scalar is
// converted here and now, so that programs hold constants of the right dtype.
Array as_dtype(const Array& x, DType dtype, bool weak = false);
// The arrays converted to their common dtype; weak where all are.
std::vector<Array> promote_dtypes(std::span<const Array> arrays,
                                  Promotion promotion = Promotion::kAny);
// And broadcast to their common shape, NumPy's way. UserError naming `op` where the shapes do not
// broadcast.
std::vector<Array> promote_and_broadcast(std::string_view op, std::span<const Array> arrays,
                                         Promotion promotion = Promotion::kAny);
// One array as the dtype that `promotion` gives it; weakness stays.
Array promote(const Array& x, Promotion promotion);

// NumPy's broadcast of shapes; UserError naming `op`.
Shape broadcast_shapes(std::string_view op, std::span<const Shape> shapes);
// x repeated to `shape`; no op where it has it. UserError naming `op` where x's shape does not
// broadcast to it.
Array broadcast_array(std::string_view op, const Array& x, const Shape& shape);

}  // namespace tessera
