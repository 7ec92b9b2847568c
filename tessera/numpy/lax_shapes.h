// jax.lax's functions of shapes, indices and scatters that call other functions with some arguments
// fixed, and those of linear algebra besides the factorisations.
//
// All functions throw UserError for dimensions that do not exist, and for shapes and dtypes that do
// not fit each other, as the functions that they call do.
#pragma once

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/numpy/lax.h"

namespace tessera::lax {

// Returns x repeated along new leading dimensions of these extents.
Array broadcast(const Array& x, const Shape& sizes);
// Returns x repeated to the shape of `like`.
Array broadcast_like(const Array& x, const Array& like);
// Returns x with leading dimensions of extent 1 added up to `rank`. Throws UserError if x has more
// dimensions.
Array broadcast_to_rank(const Array& x, int64_t rank);
inline Array broadcasted_iota(DType dtype, const Shape& shape, int64_t dimension) {
  return iota(dtype, shape, dimension);
}
// Returns x with the dimensions [start, stop) merged into one.
Array collapse(const Array& x, int64_t start, int64_t stop);
Array collapse(const Array& x, int64_t start);
// Returns the shape as an array of int32.
Array shape_as_value(const Shape& shape);
// Returns keys and values sorted by the keys along a dimension. Equal keys keep their order.
std::pair<Array, Array> sort_key_val(const Array& keys, const Array& values,
                                     int64_t dimension = -1);
// Returns elements of x at indices along `axes`, one vector of indices for each axis, modulo the
// extents. The dimension of the indices comes first, followed by x's other dimensions.
Array index_take(const Array& x, const std::vector<Array>& indices, const Dims& axes);
// Returns coefficients[0] + x (coefficients[1] + x (...)), by Horner's rule. All have one shape.
Array polynomial(const Array& x, const std::vector<Array>& coefficients);
// Returns 1 - x^2, computed as (1 - x) (1 + x), which is precise near 1 and -1.
Array one_minus_square(const Array& x);
// Returns the upper half of the bits of x y, for integers of up to 32 bits.
Array mulhi(const Array& x, const Array& y);
// Returns the exclusive or along dimensions. Takes integers and bool.
Array reduce_xor(const Array& x, const Dims& axes);
// Return the k largest (smallest) elements along a dimension and their positions (int32). The
// results are exact.
std::pair<Array, Array> approx_max_k(const Array& x, int64_t k, int64_t reduction_dimension = -1);
std::pair<Array, Array> approx_min_k(const Array& x, int64_t k, int64_t reduction_dimension = -1);

// Each scatters with one kind of update. scatter_sub adds negated updates.
Array scatter_add(const Array& x, const Array& indices, const Array& updates, const IndexDims& dims,
                  const ScatterOptions& options = {});
Array scatter_sub(const Array& x, const Array& indices, const Array& updates, const IndexDims& dims,
                  const ScatterOptions& options = {});
Array scatter_mul(const Array& x, const Array& indices, const Array& updates, const IndexDims& dims,
                  const ScatterOptions& options = {});
Array scatter_min(const Array& x, const Array& indices, const Array& updates, const IndexDims& dims,
                  const ScatterOptions& options = {});
Array scatter_max(const Array& x, const Array& indices, const Array& updates, const IndexDims& dims,
                  const ScatterOptions& options = {});
struct ScatterApplyOptions {
  Shape update_shape = {};  // shape that an array of updates would have
  ScatterOptions scatter = {};
};
// Returns x with `func` applied to the elements at the indices, once even if an index occurs twice.
// func must be elementwise.
Array scatter_apply(const Array& x, const Array& indices,
                    const std::function<Array(const Array&)>& func, const IndexDims& dims,
                    const ScatterApplyOptions& options = {});

// Returns the patches of filter_shape that conv_general_dilated would multiply and sum, as
// features: [..., features * elements of the filter, ...] in the layout of the result.
Array conv_general_dilated_patches(const Array& lhs, const Shape& filter_shape, const Dims& strides,
                                   const Padding& padding, const ConvOptions& options = {});
Array conv_general_dilated_patches(const Array& lhs, const Shape& filter_shape, const Dims& strides,
                                   std::string_view padding, const ConvOptions& options = {});
// Returns a convolution with a different filter at every position. rhs is [output features, input
// features * elements of the filter, positions...] in the layout of a filter.
Array conv_general_dilated_local(const Array& lhs, const Array& rhs, const Dims& strides,
                                 const Padding& padding, const Shape& filter_shape,
                                 const ConvOptions& options = {});

// Returns each row of lhs [m, k] times the matrix of its group in rhs [groups, k, n]: the first
// group_sizes[0] rows times rhs[0], and so on. Rows beyond the last group are zeros.
Array ragged_dot(const Array& lhs, const Array& rhs, const Array& group_sizes,
                 std::optional<DType> preferred = std::nullopt);

// The generator of the bits. The default is Philox, as on JAX's CPU platform.
enum class RandomAlgorithm : uint8_t { kDefault, kPhilox, kThreeFry };
// Returns the next key, and uniform bits of a shape and an unsigned dtype. The key is uint32[4] or
// uint64[2]. Throws UserError for others.
std::pair<Array, Array> rng_bit_generator(const Array& key, const Shape& shape,
                                          DType dtype = uint32,
                                          RandomAlgorithm algorithm = RandomAlgorithm::kDefault);

namespace linalg {

// Returns the permutation of permutation_size rows that results from exchanging row i with row
// pivots[i], for each i in order.
Array lu_pivots_to_permutation(const Array& pivots, int64_t permutation_size);
// Returns the upper triangular r with r^H r = r0^H r0 + w w^H, for an upper triangular r0 of [n, n]
// and w of [n].
Array cholesky_update(const Array& r, const Array& w);
struct SymmetricProductOptions {
  double alpha = 1, beta = 0;
  bool symmetrize_output = false;  // false: only the lower triangle need be correct
};
// Returns alpha a a^T + beta c, for a of [..., n, k] and symmetric c of [..., n, n].
Array symmetric_product(const Array& a, const Array& c,
                        const SymmetricProductOptions& options = {});
// Returns u with orthonormal columns and a positive semidefinite h such that x = u h, for x of [m,
// n] with m >= n. It computes a singular value decomposition.
std::pair<Array, Array> qdwh(const Array& x);

}  // namespace linalg

}  // namespace tessera::lax
