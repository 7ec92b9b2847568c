// Type promotion: the dtype in which an operation on arrays of different dtypes computes. It is
// JAX's lattice, including weak types. Also NumPy's broadcasting of shapes.
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

// Returns the join of two types in the lattice
//   bool -> int* -> {uint8, int8} -> ... -> int64 | uint64
//        -> float* -> {complex*, bfloat16, float16} -> float32 -> float64 | complex64 -> complex128
// where int*, float* and complex* are the weak types. Without x64, 64-bit results become the 32-bit
// dtypes of their kind.
ResultType promote_types(ResultType a, ResultType b);
ResultType result_type(std::span<const Array> arrays);
inline ResultType result_type(std::initializer_list<Array> arrays) {
  return result_type(std::span<const Array>(arrays.begin(), arrays.size()));
}

// Returns `dtype`, or if x64 is disabled the 32-bit dtype for a 64-bit one.
DType canonical_dtype(DType dtype);
// Return the dtype of C++ numbers: float64 and int64, or if x64 is disabled float32 and int32.
inline DType default_float() { return canonical_dtype(float64); }
inline DType default_int() { return canonical_dtype(int64); }
// Returns the dtype in which sin, mean and / compute: float32 for bool and integers of up to 32
// bits, float64 for wider ones, and inexact dtypes themselves.
DType to_inexact(DType dtype);
// Returns the dtype in which functions compute that NumPy does not have for bool, such as
// floor_divide: int32 for bool, others themselves.
DType to_numeric(DType dtype);

// The conversion of the common dtype before the operation: none, to_numeric() or to_inexact().
enum class Promotion : uint8_t { kAny, kNumeric, kInexact };

// Returns x as another dtype. A complex number becomes true if either part is not 0. A known scalar
// is converted at once, so that programs hold constants of the right dtype.
Array as_dtype(const Array& x, DType dtype, bool weak = false);
// Returns the arrays converted to their common dtype. They are weakly typed if all arguments are.
std::vector<Array> promote_dtypes(std::span<const Array> arrays,
                                  Promotion promotion = Promotion::kAny);
// Does the same and broadcasts to their common shape, by NumPy's rules. Throws UserError naming
// `op` if the shapes do not broadcast.
std::vector<Array> promote_and_broadcast(std::string_view op, std::span<const Array> arrays,
                                         Promotion promotion = Promotion::kAny);
// Returns one array as the dtype that `promotion` gives it. It stays weakly typed if it is.
Array promote(const Array& x, Promotion promotion);

// Returns the shape to which all shapes broadcast by NumPy's rules. Throws UserError naming `op` if
// they do not.
Shape broadcast_shapes(std::string_view op, std::span<const Shape> shapes);
// Returns x repeated to `shape`, or x itself if it has that shape. Throws UserError naming `op` if
// x's shape does not broadcast to it.
Array broadcast_array(std::string_view op, const Array& x, const Shape& shape);

}  // namespace tessera
