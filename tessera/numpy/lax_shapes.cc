#include "tessera/numpy/lax_shapes.h"

#include "tessera/compile/composite.h"
#include "tessera/compile/control_flow.h"
#include "tessera/interchange/foreign/rng_bits.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/linalg.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/sorting.h"

namespace tessera::lax {

Array broadcast(const Array& x, const Shape& sizes) {
  for (int64_t extent : sizes)
    if (extent < 0) shape_error("broadcast", "expected extents of at least 0, got {}", sizes);
  Shape shape = sizes;
  shape.insert(shape.end(), x.shape().begin(), x.shape().end());
  Dims to;
  for (int64_t d = 0; d < x.ndim(); ++d) to.push_back(sizes.rank() + d);
  return broadcast_in_dim(x, shape, to);
}

Array broadcast_like(const Array& x, const Array& like) { return broadcast_to(x, like.shape()); }

Array broadcast_to_rank(const Array& x, int64_t rank) {
  if (rank < x.ndim())
    value_error("broadcast_to_rank", "expected a rank of at least {} for {}, got {}", x.ndim(),
                describe(x.type()), rank);
  Shape shape(static_cast<size_t>(rank - x.ndim()), 1);
  shape.insert(shape.end(), x.shape().begin(), x.shape().end());
  return lax::reshape(x, shape);
}

Array collapse(const Array& x, int64_t start, int64_t stop) {
  const int64_t rank = x.ndim();
  const auto bound = [&](int64_t d) { return d < 0 ? d + rank : d; };
  const int64_t first = bound(start), last = bound(stop);
  if (first < 0 || first > last || last > rank)
    value_error("collapse", "expected 0 <= start <= stop <= {} of {}, got {} and {}", rank,
                describe(x.type()), start, stop);
  Shape shape(x.shape().begin(), x.shape().begin() + first);
  int64_t extent = 1;
  for (int64_t d = first; d < last; ++d) extent *= x.shape()[d];
  shape.push_back(extent);
  shape.insert(shape.end(), x.shape().begin() + last, x.shape().end());
  return lax::reshape(x, shape);
}
Array collapse(const Array& x, int64_t start) { return collapse(x, start, x.ndim()); }

Array shape_as_value(const Shape& shape) {
  std::vector<int32_t> extents(shape.begin(), shape.end());
  return from_host(extents);
}

std::pair<Array, Array> sort_key_val(const Array& keys, const Array& values, int64_t dimension) {
  if (keys.shape() != values.shape())
    shape_error("sort_key_val", "expected keys and values of one shape, got {} and {}",
                describe(keys.type()), describe(values.type()));
  const std::vector<Array> out = sort(std::vector<Array>{keys, values}, dimension, 1);
  return {out[0], out[1]};
}

Array index_take(const Array& x, const std::vector<Array>& indices, const Dims& axes) {
  const Dims at = Axes(axes).in_order("index_take", x.ndim());
  if (static_cast<int64_t>(indices.size()) != at.rank())
    value_error("index_take", "expected one vector of indices for each of {} axes, got {}",
                at.rank(), indices.size());
  std::vector<Array> columns;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i].ndim() != 1 || !is_integer(indices[i].dtype()))
      type_error("index_take", "expected vectors of integers, got {}", describe(indices[i].type()));
    const int64_t extent = x.shape()[at[static_cast<int64_t>(i)]];
    columns.push_back(lax::expand_dims(remainder(indices[i], extent), {1}));
  }
  Shape sizes = x.shape();
  for (int64_t d : at) sizes[d] = 1;
  IndexDims dims{.offset_dims = {}, .collapsed_slice_dims = Dims(at), .start_index_map = at};
  for (int64_t d = 1; d <= x.ndim() - at.rank(); ++d) dims.offset_dims.push_back(d);
  std::sort(dims.collapsed_slice_dims.begin(), dims.collapsed_slice_dims.end());
  return gather(x, tessera::concatenate(columns, 1), dims, sizes, IndexMode::kPromiseInBounds);
}

Array polynomial(const Array& x, const std::vector<Array>& coefficients) {
  std::vector<Array> args{x};
  args.insert(args.end(), coefficients.begin(), coefficients.end());
  return composite("polynomial", {}, args, [](const NoParams&, std::span<const Array> a) {
    const Array& x = a[0];
    Array out = lax::full_like(x, 0);
    for (size_t i = a.size(); i-- > 1;)
      out = out * x + broadcast_array("polynomial", as_dtype(a[i], x.dtype()), x.shape());
    return out;
  });
}

Array one_minus_square(const Array& x) {
  return composite("one_minus_square", {}, {x}, [](const NoParams&, std::span<const Array> a) {
    return lax::mul(lax::sub(lax::full_like(a[0], 1), a[0]),
                    lax::add(lax::full_like(a[0], 1), a[0]));
  });
}

Array mulhi(const Array& x, const Array& y) {
  if (x.dtype() != y.dtype() || x.shape() != y.shape() || !is_integer(x.dtype()))
    type_error("mulhi", "expected integers of one dtype and shape, got {} and {}",
               describe(x.type()), describe(y.type()));
  const int64_t bits = 8 * itemsize(x.dtype());
  if (bits > 32)
    type_error("mulhi", "expected integers of at most 32 bits, got {}", describe(x.type()));
  return composite("mulhi", {}, {x, y}, [](const NoParams&, std::span<const Array> a) {
    const DType dtype = a[0].dtype(), wide = is_unsigned(dtype) ? uint64 : int64;
    const Array product =
        lax::mul(lax::convert_element_type(a[0], wide), lax::convert_element_type(a[1], wide));
    const Array places = lax::full_like(product, 8.0 * static_cast<double>(itemsize(dtype)));
    return lax::convert_element_type(is_unsigned(dtype)
                                         ? lax::shift_right_logical(product, places)
                                         : lax::shift_right_arithmetic(product, places),
                                     dtype);
  });
}

Array reduce_xor(const Array& x, const Dims& axes) {
  if (!is_integer(x.dtype()) && x.dtype() != bool_)
    type_error("reduce_xor", "expected integers or bool, got {}", describe(x.type()));
  const Dims over = Axes(axes).ascending("reduce_xor", x.ndim());
  const std::vector<Array> operands{x}, inits{full({}, 0, x.dtype())};
  return reduce(
      operands, inits,
      [](const std::vector<Array>& a) { return std::vector<Array>{lax::bitwise_xor(a[0], a[1])}; },
      over)[0];
}

std::pair<Array, Array> approx_max_k(const Array& x, int64_t k, int64_t reduction_dimension) {
  return tessera::top_k(x, k, reduction_dimension);
}
std::pair<Array, Array> approx_min_k(const Array& x, int64_t k, int64_t reduction_dimension) {
  const auto [values, places] = tessera::top_k(lax::neg(x), k, reduction_dimension);
  return {lax::neg(values), places};
}

Array scatter_add(const Array& x, const Array& indices, const Array& updates, const IndexDims& dims,
                  const ScatterOptions& options) {
  return scatter(x, indices, updates, dims, ScatterKind::kAdd, options);
}
Array scatter_sub(const Array& x, const Array& indices, const Array& updates, const IndexDims& dims,
                  const ScatterOptions& options) {
  return scatter(x, indices, lax::neg(updates), dims, ScatterKind::kAdd, options);
}
Array scatter_mul(const Array& x, const Array& indices, const Array& updates, const IndexDims& dims,
                  const ScatterOptions& options) {
  return scatter(x, indices, updates, dims, ScatterKind::kMul, options);
}
Array scatter_min(const Array& x, const Array& indices, const Array& updates, const IndexDims& dims,
                  const ScatterOptions& options) {
  return scatter(x, indices, updates, dims, ScatterKind::kMin, options);
}
Array scatter_max(const Array& x, const Array& indices, const Array& updates, const IndexDims& dims,
                  const ScatterOptions& options) {
  return scatter(x, indices, updates, dims, ScatterKind::kMax, options);
}

Array scatter_apply(const Array& x, const Array& indices,
                    const std::function<Array(const Array&)>& func, const IndexDims& dims,
                    const ScatterApplyOptions& o) {
  // Marks the elements that a scatter would reach, and applies func to all elements.
  const Array reached = scatter(full(x.shape(), 0, int32), indices, full(o.update_shape, 1, int32),
                                dims, ScatterKind::kMax, o.scatter);
  const Array changed = func(x);
  if (changed.shape() != x.shape() || changed.dtype() != x.dtype())
    shape_error("scatter_apply", "expected a function that returns {}, got {}", describe(x.type()),
                describe(changed.type()));
  return lax::select(lax::ne(reached, lax::full_like(reached, 0)), changed, x);
}

namespace {

// The layouts of the operands and of the result, or the default ones.
struct Layouts {
  std::string lhs, rhs, out;
};
Layouts layouts_of(const ConvOptions& o, int64_t spatial) {
  static constexpr std::string_view kSpatial = "0123456789";
  const std::string places(kSpatial.substr(0, static_cast<size_t>(spatial)));
  const auto or_default = [](std::string_view given, const std::string& otherwise) {
    return given.empty() ? otherwise : std::string(given);
  };
  return {or_default(o.lhs_layout, "NC" + places), or_default(o.rhs_layout, "OI" + places),
          or_default(o.out_layout, "NC" + places)};
}
int64_t place_in(const std::string& layout, char letter) {
  return static_cast<int64_t>(layout.find(letter));
}

template <class P>
Array patches(const Array& lhs, const Shape& filter_shape, const Dims& strides, const P& padding,
              const ConvOptions& o) {
  const char* name = "conv_general_dilated_patches";
  const int64_t spatial = filter_shape.rank();
  if (lhs.ndim() != spatial + 2)
    shape_error(name, "expected {} dimensions for a filter of {}, got {}", spatial + 2,
                filter_shape, describe(lhs.type()));
  const Layouts layouts = layouts_of(o, spatial);
  for (const std::string& layout : {layouts.lhs, layouts.rhs, layouts.out})
    if (static_cast<int64_t>(layout.size()) != spatial + 2)
      value_error(name, "expected a layout of {} letters, got \"{}\"", spatial + 2, layout);
  const int64_t features = lhs.shape()[place_in(layouts.lhs, 'C')];
  int64_t elements = 1;
  for (int64_t extent : filter_shape) elements *= extent;
  // For each feature one filter for each element, which selects it: [features * elements, 1,
  // filter...]. It is then transposed to the layout of filters.
  Shape shape{features * elements, 1};
  shape.insert(shape.end(), filter_shape.begin(), filter_shape.end());
  const Array filters = lax::reshape(tile(eye(elements, {}, 0, lhs.dtype()), {features, 1}), shape);
  Dims order(layouts.rhs.size(), 0);
  int64_t next = 2;
  for (size_t d = 0; d < layouts.rhs.size(); ++d) {
    const char letter = layouts.rhs[d];
    order[static_cast<int64_t>(d)] = letter == 'O' ? 0 : letter == 'I' ? 1 : next++;
  }
  ConvOptions options = o;

  options.feature_group_count = features;
  return lax::conv_general_dilated(lhs, lax::transpose(filters, order), strides, padding, options);
}

}  // namespace

Array conv_general_dilated_patches(const Array& lhs, const Shape& filter_shape, const Dims& strides,
                                   const Padding& padding, const ConvOptions& o) {
  return patches(lhs, filter_shape, strides, padding, o);
}
Array conv_general_dilated_patches(const Array& lhs, const Shape& filter_shape, const Dims& strides,
                                   std::string_view padding, const ConvOptions& o) {
  return patches(lhs, filter_shape, strides, padding, o);
}

Array conv_general_dilated_local(const Array& lhs, const Array& rhs, const Dims& strides,
                                 const Padding& padding, const Shape& filter_shape,
                                 const ConvOptions& o) {
  const char* name = "conv_general_dilated_local";
  if (!o.lhs_layout.empty() || !o.rhs_layout.empty() || !o.out_layout.empty())
    value_error(name,
                "expected the layouts NC..., OI... and NC..., got others; transpose the "
                "operands");
  const Array parts = conv_general_dilated_patches(lhs, filter_shape, strides, padding, o);
  const int64_t rank = parts.ndim();
  Dims places;
  for (int64_t d = 2; d < rank; ++d) places.push_back(d);
  bool fits = rhs.ndim() == rank && rhs.shape()[1] == parts.shape()[1];
  for (int64_t d : places) fits = fits && rhs.shape()[d] == parts.shape()[d];
  if (!fits)
    shape_error(name,
                "expected a filter [output features, {}, places...] for patches of {}, got {}",
                parts.shape()[1], describe(parts.type()), describe(rhs.type()));
  const Array out = lax::dot_general(
      parts, rhs,
      {.lhs_contract = {1}, .rhs_contract = {1}, .lhs_batch = places, .rhs_batch = places});
  return tessera::moveaxis(out, {-2, -1}, {0, 1});
}

Array ragged_dot(const Array& lhs, const Array& rhs, const Array& group_sizes,
                 std::optional<DType> preferred) {
  const char* name = "ragged_dot";
  if (lhs.ndim() != 2 || rhs.ndim() != 3 || lhs.shape()[1] != rhs.shape()[1])
    shape_error(name, "expected lhs [m, k] and rhs [groups, k, n], got {} and {}",
                describe(lhs.type()), describe(rhs.type()));
  if (group_sizes.shape() != Shape{rhs.shape()[0]} || !is_integer(group_sizes.dtype()))
    type_error(name, "expected {} integers as group_sizes, got {}", rhs.shape()[0],
               describe(group_sizes.type()));
  if (lhs.dtype() != rhs.dtype())
    type_error(name, "expected operands of one dtype, got {} and {}", describe(lhs.type()),
               describe(rhs.type()));
  struct RaggedParams {
    std::optional<DType> preferred;
  };
  return composite(
      name, RaggedParams{preferred}, {lhs, rhs, group_sizes},
      [](const RaggedParams& p, std::span<const Array> a) {
        const Array ends = tessera::cumsum(a[2]), row = iota(a[2].dtype(), {a[0].shape()[0]});
        const Array begins = lax::expand_dims(lax::sub(ends, a[2]), {1}),
                    behind = lax::expand_dims(ends, {1});
        // [groups, m]: whether the row is in the group
        const Array inside = less_equal(begins, row) & less(row, behind);
        const Array rows = where(lax::expand_dims(inside, {2}), lax::expand_dims(a[0], {0}),
                                 full({}, 0, a[0].dtype()));
        return lax::dot_general(rows, a[1], {.lhs_contract = {0, 2}, .rhs_contract = {0, 1}},
                                p.preferred);
      });
}

std::pair<Array, Array> rng_bit_generator(const Array& key, const Shape& shape, DType dtype,
                                          RandomAlgorithm algorithm) {
  const char* name = "rng_bit_generator";
  const bool words = key.dtype() == uint32 && key.shape() == Shape{4};
  if (!words && !(key.dtype() == uint64 && key.shape() == Shape{2}))
    type_error(name, "expected a key of uint32[4] or uint64[2], got {}", describe(key.type()));
  if (!is_unsigned(dtype)) type_error(name, "expected an unsigned dtype, got {}", dtype);
  struct BitsParams {
    Shape shape;
    DType dtype;
    interchange::foreign::RngAlgorithm algorithm;
  };
  const BitsParams params{shape, dtype, static_cast<interchange::foreign::RngAlgorithm>(algorithm)};
  const std::vector<Array> out =
      composite(name, params, {key}, [](const BitsParams& p, std::span<const Array> a) {
        const bool words = a[0].dtype() == uint32;
        const Array state =
            words ? lax::bitcast_convert_type(lax::reshape(a[0], {2, 2}), uint64) : a[0];
        std::vector<Array> out =
            interchange::foreign::rng_bits(p.algorithm, state, p.shape, p.dtype);
        if (words) out[0] = lax::reshape(lax::bitcast_convert_type(out[0], uint32), {4});
        return out;
      });
  return {out[0], out[1]};
}

namespace linalg {

Array lu_pivots_to_permutation(const Array& pivots, int64_t permutation_size) {
  const char* name = "lu_pivots_to_permutation";
  if (pivots.ndim() == 0 || !is_integer(pivots.dtype()) || pivots.shape().back() > permutation_size)
    type_error(name, "expected at most {} integer pivots along the last dimension, got {}",
               permutation_size, describe(pivots.type()));
  struct PermutationParams {
    int64_t size;
  };
  return composite(name, PermutationParams{permutation_size}, {pivots},
                   [](const PermutationParams& p, std::span<const Array> a) -> Array {
                     Shape shape = a[0].shape();
                     const int64_t count = shape.back();
                     shape.back() = p.size;
                     const int64_t last = shape.rank() - 1;
                     const Array place = iota(int32, shape, last);
                     if (count == 0) return place;
                     const Array pivots = lax::convert_element_type(a[0], int32);
                     return fori_loop(
                         0, static_cast<int>(count),
                         [&](const Array& i, const Array& rows) {
                           const Array other = tessera::dynamic_slice_in_dim(pivots, i, 1, last);
                           const Array here = tessera::dynamic_slice_in_dim(rows, i, 1, last);
                           const Array there = tessera::take_along_axis(rows, other, last);
                           return where(equal(place, i), there,
                                        where(equal(place, other), here, rows));
                         },
                         place);
                   });
}

Array cholesky_update(const Array& r, const Array& w) {
  const char* name = "cholesky_update";
  if (r.ndim() != 2 || r.shape()[0] != r.shape()[1] || w.shape() != Shape{r.shape()[0]})
    shape_error(name, "expected a square matrix [n, n] and a vector [n], got {} and {}",
                describe(r.type()), describe(w.type()));
  if (r.dtype() != w.dtype() || (r.dtype() != float32 && r.dtype() != float64))
    type_error(name, "expected float32 or float64 operands of one dtype, got {} and {}",
               describe(r.type()), describe(w.type()));
  return composite(name, {}, {r, w}, [](const NoParams&, std::span<const Array> a) -> Array {
    const int64_t n = a[1].size();
    if (n == 0) return a[0];
    // For each row, a rotation moves w's element into the diagonal (Golub and Van Loan, "Matrix
    // Computations", 6.5.4).
    using Pair = std::pair<Array, Array>;
    const Array place = iota(int32, {n});
    return fori_loop(
               0, static_cast<int>(n),
               [&](const Array& k, const Pair& p) {
                 const auto& [r, w] = p;
                 const Array row = tessera::dynamic_index_in_dim(r, k, 0, false);
                 const Array own = tessera::dynamic_index_in_dim(row, k, 0, false),
                             other = tessera::dynamic_index_in_dim(w, k, 0, false);
                 const Array length = tessera::sqrt(own * own + other * other);
                 const Array c = own / length, s = other / length;
                 const Array turned = where(greater_equal(place, k), c * row + s * w, row);
                 return Pair(
                     tessera::dynamic_update_slice_in_dim(r, lax::expand_dims(turned, {0}), k, 0),
                     where(tessera::greater(place, k), c * w - s * row, lax::full_like(w, 0)));
               },
               Pair(tessera::triu(a[0]), a[1]))
        .first;
  });
}

Array symmetric_product(const Array& a, const Array& c, const SymmetricProductOptions& o) {
  const char* name = "symmetric_product";
  Shape wanted = a.shape();
  if (a.ndim() >= 2) wanted.back() = wanted[wanted.rank() - 2];
  if (a.ndim() < 2 || c.shape() != wanted || a.dtype() != c.dtype())
    shape_error(name, "expected a [..., n, k] and c [..., n, n] of one dtype, got {} and {}",
                describe(a.type()), describe(c.type()));
  struct ProductParams {
    double alpha, beta;
    bool symmetrize;
  };
  return composite(name, ProductParams{o.alpha, o.beta, o.symmetrize_output}, {a, c},
                   [](const ProductParams& p, std::span<const Array> x) -> Array {
                     const Array product =
                         p.alpha * tessera::matmul(x[0], tessera::matrix_transpose(x[0])) +
                         p.beta * x[1];
                     if (!p.symmetrize) return product;
                     const Array lower = tessera::tril(product, -1);
                     return tessera::tril(product) + tessera::matrix_transpose(lower);
                   });
}

std::pair<Array, Array> qdwh(const Array& x) {
  if (x.ndim() != 2 || x.shape()[0] < x.shape()[1])
    shape_error("qdwh", "expected a matrix with at least as many rows as columns, got {}",
                describe(x.type()));
  const std::vector<Array> out =
      composite("qdwh", {}, {x}, [](const NoParams&, std::span<const Array> a) {
        const tessera::linalg::Svd f = tessera::linalg::svd(a[0], false);
        const Array v = tessera::conj(tessera::matrix_transpose(f.vh));
        return std::vector<Array>{tessera::matmul(f.u, f.vh), tessera::matmul(v * f.s, f.vh)};
      });
  return {out[0], out[1]};
}

}  // namespace linalg

}  // namespace tessera::lax
