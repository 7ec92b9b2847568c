// Arrays of indices: of grids, diagonals and triangles, and between indices of an array and of its
// flattened elements, as in jax.numpy.
//
// Errors, of all: UserError for ranks and extents that a function does not take.
#pragma once

#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"
#include "tessera/numpy/creation.h"

namespace tessera {

// The index along each dimension, of every element of a shape: [dimensions, shape...].
Array indices(const Shape& dimensions, OptionalDType dtype = {});
// The same as one array a dimension, with extents of 1 along all others.
std::vector<Array> sparse_indices(const Shape& dimensions, OptionalDType dtype = {});
// Vectors as arrays that broadcast to a grid: vector k along dimension k. A bool vector stands for
// the places where it is true, which must be known.
std::vector<Array> ix_(const std::vector<Array>& vectors);

// The indices of the diagonal of an array of ndim dimensions of extent n, one array a dimension.
std::vector<Array> diag_indices(int64_t n, int64_t ndim = 2);
// Of x's diagonal. UserError for extents that differ.
std::vector<Array> diag_indices_from(const Array& x);
// Rows and columns of the elements of an n x m matrix (m None: n) with column <= row + k; >=.
std::vector<Array> tril_indices(int64_t n, int64_t k = 0, OrNone<int64_t> m = None);
std::vector<Array> triu_indices(int64_t n, int64_t k = 0, OrNone<int64_t> m = None);
std::vector<Array> tril_indices_from(const Array& x, int64_t k = 0);
std::vector<Array> triu_indices_from(const Array& x, int64_t k = 0);
// Rows and columns of the first `size` elements that mask_func(ones({n, n}), k) leaves.
std::vector<Array> mask_indices(int64_t n, Array (*mask_func)(const Array&, int64_t), int64_t size,
                                int64_t k = 0);

// The indices of elements that stand at these places of the flattened array, one array a dimension;
// what is outside is moved inside. Negative places count from the end.
std::vector<Array> unravel_index(const Array& indices, const Shape& shape);
// What ravel_multi_index does with indices outside: an error, which needs known indices; the
// nearest inside; modulo the extent; computes on.
enum class RavelMode : uint8_t { kRaise, kClip, kWrap, kIgnore };
// The places in the flattened array, row-major. UserError for other than integers, for one array too
// many or too few, and for indices outside of `dims` with kRaise.
Array ravel_multi_index(const std::vector<Array>& multi_index, const Shape& dims,
                        RavelMode mode = RavelMode::kRaise);

}  // namespace tessera
