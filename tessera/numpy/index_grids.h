// Arrays of indices, as in jax.numpy: of grids, diagonals and triangles, and conversions between
// indices of an array and of its flattened elements.
//
// All functions throw UserError for ranks and extents that they do not take.
#pragma once

#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"
#include "tessera/numpy/creation.h"

namespace tessera {

// Returns the index along each dimension of every element of a shape: [rank, dimensions...].
Array indices(const Shape& dimensions, OptionalDType dtype = {});
// Returns the same as one array for each dimension, with extents of 1 along all others.
std::vector<Array> sparse_indices(const Shape& dimensions, OptionalDType dtype = {});
// Returns the vectors as arrays that broadcast to a grid: vector k along dimension k. A bool vector
// means the positions where it is true; its values must be known.
std::vector<Array> ix_(const std::vector<Array>& vectors);

// Returns the indices of the diagonal of an array with ndim dimensions of extent n, one array for
// each dimension.
std::vector<Array> diag_indices(int64_t n, int64_t ndim = 2);
// Returns the indices of x's diagonal. Throws UserError for extents that differ.
std::vector<Array> diag_indices_from(const Array& x);
// tril_indices returns the rows and the columns of the elements of an n x m matrix with column <=
// row + k, triu_indices of those with column >= row + k. m = None means n.
std::vector<Array> tril_indices(int64_t n, int64_t k = 0, OrNone<int64_t> m = None);
std::vector<Array> triu_indices(int64_t n, int64_t k = 0, OrNone<int64_t> m = None);
std::vector<Array> tril_indices_from(const Array& x, int64_t k = 0);
std::vector<Array> triu_indices_from(const Array& x, int64_t k = 0);
// Returns the rows and the columns of the first `size` nonzero elements of mask_func(ones({n, n}),
// k).
std::vector<Array> mask_indices(int64_t n, Array (*mask_func)(const Array&, int64_t), int64_t size,
                                int64_t k = 0);

// Returns the indices of the elements at these positions of the flattened array, one array for each
// dimension. Negative positions count from the end; those outside are clipped.
std::vector<Array> unravel_index(const Array& indices, const Shape& shape);
// What ravel_multi_index does with indices outside of the array: throw UserError, for which the
// indices must be known (kRaise); clip them (kClip); take them modulo the extent (kWrap); or
// compute with them as they are (kIgnore).
enum class RavelMode : uint8_t { kRaise, kClip, kWrap, kIgnore };
// Returns the positions of elements in the flattened array, in row-major order, from one array of
// indices for each dimension. Throws UserError if the arrays are not of integers, if their number
// is not that of the dimensions, and for indices outside of `dims` with kRaise.
Array ravel_multi_index(const std::vector<Array>& multi_index, const Shape& dims,
                        RavelMode mode = RavelMode::kRaise);

}  // namespace tessera
