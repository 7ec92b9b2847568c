#include "tessera/numpy/index_grids.h"

#include <algorithm>

#include "tessera/compile/composite.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/lax.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/searching.h"

namespace tessera {

namespace {

DType index_dtype(const char* name, OptionalDType dtype) {
  const DType out = canonical_dtype(dtype.value_or(default_int()));
  if (!is_integer(out) && !is_inexact(out))
    type_error(name, "expected a dtype of numbers, got {}", out);
  return out;
}

void expect_extents(const char* name, const Shape& shape) {
  for (int64_t extent : shape)
    if (extent < 0) shape_error(name, "expected extents of at least 0, got {}", shape);
}

}  // namespace

std::vector<Array> sparse_indices(const Shape& dimensions, OptionalDType dtype) {
  expect_extents("indices", dimensions);
  const DType of = index_dtype("indices", dtype);
  std::vector<Array> out;
  for (int64_t d = 0; d < dimensions.rank(); ++d) {
    Shape along(dimensions.size(), 1);
    along[d] = dimensions[d];
    out.push_back(lax::iota(of, along, d));
  }
  return out;
}

Array indices(const Shape& dimensions, OptionalDType dtype) {
  expect_extents("indices", dimensions);
  const DType of = index_dtype("indices", dtype);
  if (dimensions.empty()) return zeros({0}, of);
  std::vector<Array> out;
  for (int64_t d = 0; d < dimensions.rank(); ++d) out.push_back(lax::iota(of, dimensions, d));
  return stack(out);
}

std::vector<Array> ix_(const std::vector<Array>& vectors) {
  std::vector<Array> out;
  for (size_t d = 0; d < vectors.size(); ++d) {
    Array x = vectors[d];
    if (x.ndim() != 1) shape_error("ix_", "expected vectors, got {}", describe(x.type()));
    if (x.dtype() == bool_) {
      if (x.is_tracer())
        trace_error("ix_", "expected a known bool vector, got {}; take nonzero(x, size) of it",
                    describe(x.type()));
      const std::vector<uint8_t> holds = to_vector<uint8_t>(x);
      x = nonzero(x, std::count(holds.begin(), holds.end(), 1))[0];
    }
    Shape along(vectors.size(), 1);
    along[static_cast<int64_t>(d)] = x.size();
    out.push_back(reshape(x, along));
  }
  return out;
}

std::vector<Array> diag_indices(int64_t n, int64_t ndim) {
  if (n < 0 || ndim < 0)
    value_error("diag_indices", "expected n >= 0 and ndim >= 0, got {} and {}", n, ndim);
  return std::vector<Array>(static_cast<size_t>(ndim), arange(n));
}

std::vector<Array> diag_indices_from(const Array& x) {
  const Shape& shape = x.shape();
  if (x.ndim() < 2 ||
      !std::all_of(shape.begin(), shape.end(), [&](int64_t extent) { return extent == shape[0]; }))
    shape_error("diag_indices_from", "expected at least 2 dimensions of one extent, got {}",
                describe(x.type()));
  return diag_indices(shape[0], x.ndim());
}

namespace {

// Returns the rows and the columns of the elements for which keep(column - row) is true, in
// row-major order.
template <class Keep>
std::vector<Array> places_of(const char* name, int64_t n, OrNone<int64_t> m, const Keep& keep) {
  const int64_t columns = m.value_or(n);
  expect_extents(name, {n, columns});
  std::vector<int32_t> rows_kept, columns_kept;
  for (int64_t row = 0; row < n; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      if (!keep(column - row)) continue;
      rows_kept.push_back(static_cast<int32_t>(row));
      columns_kept.push_back(static_cast<int32_t>(column));
    }
  }
  return {astype(from_host(rows_kept), default_int()),
          astype(from_host(columns_kept), default_int())};
}

const Shape& matrix_shape(const char* name, const Array& x) {
  if (x.ndim() != 2) shape_error(name, "expected a matrix, got {}", describe(x.type()));
  return x.shape();
}

}  // namespace

std::vector<Array> tril_indices(int64_t n, int64_t k, OrNone<int64_t> m) {
  return places_of("tril_indices", n, m, [k](int64_t offset) { return offset <= k; });
}
std::vector<Array> triu_indices(int64_t n, int64_t k, OrNone<int64_t> m) {
  return places_of("triu_indices", n, m, [k](int64_t offset) { return offset >= k; });
}
std::vector<Array> tril_indices_from(const Array& x, int64_t k) {
  const Shape& shape = matrix_shape("tril_indices_from", x);
  return tril_indices(shape[0], k, shape[1]);
}
std::vector<Array> triu_indices_from(const Array& x, int64_t k) {
  const Shape& shape = matrix_shape("triu_indices_from", x);
  return triu_indices(shape[0], k, shape[1]);
}

std::vector<Array> mask_indices(int64_t n, Array (*mask_func)(const Array&, int64_t), int64_t size,
                                int64_t k) {
  expect_extents("mask_indices", {n});
  return nonzero(mask_func(ones({n, n}), k), size);
}

std::vector<Array> unravel_index(const Array& indices, const Shape& shape) {
  const char* name = "unravel_index";
  if (!is_integer(indices.dtype()))
    type_error(name, "expected integers, got {}", describe(indices.type()));
  expect_extents(name, shape);
  struct UnravelParams {
    Shape shape;
  };
  return composite(
      name, UnravelParams{shape}, {indices}, [](const UnravelParams& p, std::span<const Array> a) {
        Array rest = a[0];
        std::vector<Array> out(p.shape.size());
        for (int64_t d = p.shape.rank(); d-- > 0;) {
          const auto [quotient, index] = divmod(rest, p.shape[d]);
          rest = quotient;
          out[static_cast<size_t>(d)] = index;
        }
        const Array above = rest > 0;
        const Array below = is_unsigned(rest.dtype()) ? zeros(rest.shape(), bool_) : less(rest, -1);
        for (int64_t d = 0; d < p.shape.rank(); ++d) {
          Array& index = out[static_cast<size_t>(d)];
          index = where(above, p.shape[d] - 1, where(below, 0, index));
        }
        return out;
      });
}

Array ravel_multi_index(const std::vector<Array>& multi_index, const Shape& dims, RavelMode mode) {
  const char* name = "ravel_multi_index";
  if (static_cast<int64_t>(multi_index.size()) != dims.rank())
    value_error(name, "expected one array for each of {} dimensions, got {}", dims.rank(),
                multi_index.size());
  expect_extents(name, dims);
  Array out = zeros(Shape{}, default_int());
  for (int64_t d = 0; d < dims.rank(); ++d) {
    Array index = multi_index[static_cast<size_t>(d)];
    if (!is_integer(index.dtype()))
      type_error(name, "expected integers, got {}", describe(index.type()));
    switch (mode) {
      case RavelMode::kRaise:
        if (index.is_tracer())
          trace_error(name, "expected known indices, got {}; choose RavelMode::kClip or kWrap",
                      describe(index.type()));
        for (int64_t i : to_vector<int64_t>(index))
          if (i < 0 || i >= dims[d])
            value_error(name, "expected indices in [0, {}) along dimension {}, got {}", dims[d], d,
                        i);
        break;
      case RavelMode::kClip:
        index = clip(index, 0, dims[d] - 1);
        break;
      case RavelMode::kWrap:
        index = remainder(index, dims[d]);
        break;
      case RavelMode::kIgnore:
        break;
    }
    out = out * dims[d] + astype(index, default_int());
  }
  return out;
}

}  // namespace tessera
