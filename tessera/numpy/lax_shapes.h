// jax.lax's functions of shapes, indices and scatters that are others with some arguments fixed, and
// those of linear algebra beside the factorisations.
//
// Errors, of all: UserError for dimensions that do not exist and for shapes and dtypes that do not
// fit each other, as for the functions that they are made of.
#pragma once

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/numpy/lax.h"

namespace tessera::lax {

// x repeated along new leading dimensions of these extents.
Array broadcast(const Array& x, const Shape& sizes);
// x repeated to the shape of `like`.
Array broadcast_like(const Array& x, const Array& like);
// x with leading dimensions of extent 1, as many as `rank` asks for. UserError for more dimensions.
Array broadcast_to_rank(const Array& x, int64_t rank);
inline Array broadcasted_iota(DType dtype, const Shape& shape, int64_t dimension) {
  return iota(dtype, shape, dimension);
}
// x with the dimensions [start, stop) as one.
Array collapse(const Array& x, int64_t start, int64_t stop);
Array collapse(const Array& x, int64_t start);
// A shape as an array of default integers.
Array shape_as_value(const Shape& shape);
// keys and values in the order of the keys along a dimension; equal keys keep their order.
std::pair<Array, Array> sort_key_val(const Array& keys, const Array& values,
                                     int64_t dimension = -1);
// Elements of x at indices along `axes`, one vector of indices an axis, modulo the extents: the
// indices in front, then x's other dimensions.
Array index_take(const Array& x, const std::vector<Array>& indices, const Dims& axes);
// coefficients[0] + x (coefficients[1] + x (...)), by Horner's rule, of one shape.
Array polynomial(const Array& x, const std::vector<Array>& coefficients);
// 1 - x^2 as (1 - x) (1 + x), which is precise near 1 and -1.
Array one_minus_square(const Array& x);
// The upper half of the bits of the product of integers of twice as many bits. Of 32 bits and less.
Array mulhi(const Array& x, const Array& y);
// Exclusive or along dimensions. Of integers and bool.
Array reduce_xor(const Array& x, const Dims& axes);
// The k largest (smallest) elements along a dimension and their places (int32). They are exact.
std::pair<Array, Array> approx_max_k(const Array& x, int64_t k, int64_t reduction_dimension = -1);
std::pair<Array, Array> approx_min_k(const Array& x, int64_t k, int64_t reduction_dimension = -1);

// scatter of one kind each; scatter_sub of negated updates.
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
  Shape update_shape = {};  // of the updates that there would be
  ScatterOptions scatter = {};
};
// x with `func` applied to the elements at the indices, element by element; once where an index
// comes twice. func has to be elementwise.
Array scatter_apply(const Array& x, const Array& indices,
                    const std::function<Array(const Array&)>& func, const IndexDims& dims,
                    const ScatterApplyOptions& options = {});

// Patches of filter_shape, as features: what conv_general_dilated multiplies and sums, [..., features
// * elements of the filter, ...] in the layout of the result.
Array conv_general_dilated_patches(const Array& lhs, const Shape& filter_shape, const Dims& strides,
                                   const Padding& padding, const ConvOptions& options = {});
Array conv_general_dilated_patches(const Array& lhs, const Shape& filter_shape, const Dims& strides,
                                   std::string_view padding, const ConvOptions& options = {});
// A convolution with a filter of its own at every place: rhs is [output features, input features *
// elements of the filter, places...] in the layout of a filter.
Array conv_general_dilated_local(const Array& lhs, const Array& rhs, const Dims& strides,
                                 const Padding& padding, const Shape& filter_shape,
                                 const ConvOptions& options = {});

// Row i of lhs [m, k] by the matrix of its group, of rhs [groups, k, n]: the first group_sizes[0]
// rows by the first one, and so on. Rows of no group give zeros.
Array ragged_dot(const Array& lhs, const Array& rhs, const Array& group_sizes,
                 std::optional<DType> preferred = std::nullopt);

// What generates the bits; the default is Philox, as on JAX's CPU platform.
enum class RandomAlgorithm : uint8_t { kDefault, kPhilox, kThreeFry };
// The key after, and uniform bits of a shape and an unsigned dtype. The key: uint32[4], or uint64[2]. UserError for
// others.
std::pair<Array, Array> rng_bit_generator(const Array& key, const Shape& shape,
                                          DType dtype = uint32,
                                          RandomAlgorithm algorithm = RandomAlgorithm::kDefault);

namespace linalg {

// The permutation that exchanging row i with row pivots[i], one after the other, makes of
// permutation_size rows.
Array lu_pivots_to_permutation(const Array& pivots, int64_t permutation_size);
// The upper triangular r with r^H r = r0^H r0 + w w^H, for an upper triangular r0 of [n, n] and w of
// [n].
Array cholesky_update(const Array& r, const Array& w);
struct SymmetricProductOptions {
  double alpha = 1, beta = 0;
  bool symmetrize_output = false;  // false: only the lower triangle is said to be right
};
// alpha a a^T + beta c, for a of [..., n, k] and symmetric c of [..., n, n].
Array symmetric_product(const Array& a, const Array& c,
                        const SymmetricProductOptions& options = {});
// x = u h with orthonormal columns u and positive semidefinite h, by a singular value decomposition, for x
// of [m, n], m >= n.
std::pair<Array, Array> qdwh(const Array& x);

}  // namespace linalg

}  // namespace tessera::lax
