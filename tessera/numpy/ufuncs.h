// Functions of jax.numpy that are other functions under another name, and further small ones.
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
Array around(const Array& x, int decimals = 0);
Array conjugate(const Array& z);
Array degrees(const Array& x);
Array radians(const Array& x);
Array bitwise_invert(const Array& x);
Array bitwise_left_shift(const Array& x, const Array& y);
Array bitwise_right_shift(const Array& x, const Array& y);
Array concat(const std::vector<Array>& arrays, int64_t axis = 0);
// Returns x itself, because arrays do not change.
inline Array copy(const Array& x) { return x; }

// --- Properties of an array. ---
inline int64_t ndim(const Array& x) { return x.ndim(); }
inline Shape shape(const Array& x) { return x.shape(); }
inline int64_t size(const Array& x) { return x.size(); }
inline int64_t size(const Array& x, int64_t axis) { return x.shape(axis); }
inline bool isscalar(const Array& x) { return x.ndim() == 0; }
inline bool iscomplexobj(const Array& x) { return is_complex(x.dtype()); }
inline bool isrealobj(const Array& x) { return !is_complex(x.dtype()); }

// Return for each element whether its imaginary part is not 0 (iscomplex) or is 0 (isreal).
Array iscomplex(const Array& x);
Array isreal(const Array& x);
// Returns one bool: whether x and y broadcast to each other and are then equal.
Array array_equiv(const Array& x, const Array& y);

struct CumulativeSumOptions {
  OrNone<int64_t> axis = std::nullopt;  // required unless x is a vector
  std::optional<DType> dtype = std::nullopt;
  bool include_initial = false;  // starts with 0 (1 for products), one element more
};
// Return running sums and products along an axis, as in the array API. Throw UserError if no axis
// is given and x is not a vector.
Array cumulative_sum(const Array& x, const CumulativeSumOptions& options = {});
Array cumulative_prod(const Array& x, const CumulativeSumOptions& options = {});

// Returns the smallest and the largest elements.
std::pair<Array, Array> minmax(const Array& x, const ExtremumOptions& options = {});

struct GeomspaceOptions {
  bool endpoint = true;
  OptionalDType dtype = {};
  int64_t axis = 0;
};
// Returns `num` numbers from start to stop in equal ratios. Start and stop may be negative or
// complex.
Array geomspace(const Array& start, const Array& stop, int64_t num = 50,
                const GeomspaceOptions& options = {});

// matvec returns matrices [..., m, n] times vectors [..., n]; vecmat returns the conjugates of
// vectors [..., m] times matrices.
Array matvec(const Array& matrix, const Array& vector);
Array vecmat(const Array& vector, const Array& matrix);
struct CrossOptions {
  int64_t axisa = -1, axisb = -1, axisc = -1;  // axes of the vectors in a, in b and in the result
};
// Returns the cross product of vectors of three elements. Throws UserError for others.
Array cross(const Array& a, const Array& b, const CrossOptions& options = {});

// --- Windows of M points, in the default float; ones for M <= 1. ---
Array bartlett(int64_t M);
Array blackman(int64_t M);
Array hamming(int64_t M);
Array hanning(int64_t M);

}  // namespace tessera
