// Functions of jax.numpy that are others under another name, and small ones beside them.
#pragma once

#include <utility>
#include <vector>

#include "tessera/numpy/creation.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/sorting.h"

namespace tessera {

// --- Other names. ---
inline Array around(const Array& x, int decimals = 0) { return round(x, decimals); }
inline Array conjugate(const Array& z) { return conj(z); }
inline Array degrees(const Array& x) { return rad2deg(x); }
inline Array radians(const Array& x) { return deg2rad(x); }
inline Array bitwise_invert(const Array& x) { return bitwise_not(x); }
inline Array bitwise_left_shift(const Array& x, const Array& y) { return left_shift(x, y); }
inline Array bitwise_right_shift(const Array& x, const Array& y) { return right_shift(x, y); }
inline Array concat(const std::vector<Array>& arrays, int64_t axis = 0) {
  return concatenate(arrays, axis);
}
// x itself: arrays do not change.
inline Array copy(const Array& x) { return x; }

// --- What an array is. ---
inline int64_t ndim(const Array& x) { return x.ndim(); }
inline Shape shape(const Array& x) { return x.shape(); }
inline int64_t size(const Array& x) { return x.size(); }
inline int64_t size(const Array& x, int64_t axis) { return x.shape(axis); }
inline bool isscalar(const Array& x) { return x.ndim() == 0; }
inline bool iscomplexobj(const Array& x) { return is_complex(x.dtype()); }
inline bool isrealobj(const Array& x) { return !is_complex(x.dtype()); }

// Whether the imaginary part of each element is not 0; is 0.
Array iscomplex(const Array& x);
Array isreal(const Array& x);
// Whether x and y broadcast to each other and are equal then: one bool.
Array array_equiv(const Array& x, const Array& y);

struct CumulativeSumOptions {
  OrNone<int64_t> axis = std::nullopt;  // needed unless x is a vector
  std::optional<DType> dtype = std::nullopt;
  bool include_initial = false;  // starts with 0 (1 of products): one element more
};
// Running sums and products along an axis, as in the array API. UserError for no axis of an array
// that is not a vector.
Array cumulative_sum(const Array& x, const CumulativeSumOptions& options = {});
Array cumulative_prod(const Array& x, const CumulativeSumOptions& options = {});

// The least and the largest element.
std::pair<Array, Array> minmax(const Array& x, const ExtremumOptions& options = {});

struct GeomspaceOptions {
  bool endpoint = true;
  OptionalDType dtype = {};
  int64_t axis = 0;
};
// `num` numbers from start to stop in equal ratios; negative and complex ones too.
Array geomspace(const Array& start, const Array& stop, int64_t num = 50,
                const GeomspaceOptions& options = {});

// Matrices [..., m, n] by vectors [..., n], and conj of vectors [..., m] by matrices.
Array matvec(const Array& matrix, const Array& vector);
Array vecmat(const Array& vector, const Array& matrix);
struct CrossOptions {
  int64_t axisa = -1, axisb = -1, axisc = -1;  // of the vectors, and of the result's
};
// The cross product of vectors of three elements. UserError for others.
Array cross(const Array& a, const Array& b, const CrossOptions& options = {});

// --- Windows of M points, in the default float; ones for M <= 1. ---
Array bartlett(int64_t M);
Array blackman(int64_t M);
Array hamming(int64_t M);
Array hanning(int64_t M);

}  // namespace tessera
