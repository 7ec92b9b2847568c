#include "tessera/numpy/index.h"

#include "tessera/compile/composite.h"
#include "tessera/numpy/promotion.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/tracer.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera {

using namespace ops;

namespace {

struct SliceInDimParams {
  int64_t start = 0, limit = 0, stride = 1, axis = 0;
};
struct DynamicParams {
  Shape sizes;
};
struct AxisParams {
  int64_t axis;
};
struct DynamicInDimParams {
  int64_t size = 0, axis = 0;
  bool keepdims = true;
};

// Returns start indices as scalars of one integer dtype. Negative ones are counted from the end.
std::vector<Array> normalized_starts(std::string_view op, std::span<const Array> starts,
                                     const Shape& extents) {
  if (static_cast<int64_t>(starts.size()) != extents.rank())
    shape_error(op, "expected one start index for each dimension of an array of shape {}, got {}",
                extents, starts.size());
  if (starts.empty()) return {};
  bool wide = false, is_unsigned_only = true;
  for (const Array& s : starts) {
    if (!is_integer(s.dtype()) || s.ndim() != 0)
      type_error(op, "expected integer scalars as start indices, got {}; convert it with astype",
                 describe(s.type()));
    wide = wide || itemsize(s.dtype()) == 8;
    is_unsigned_only = is_unsigned_only && is_unsigned(s.dtype());
  }
  const DType dtype = is_unsigned_only ? (wide ? uint64 : uint32) : (wide ? int64 : int32);
  std::vector<Array> out;
  for (int64_t d = 0; d < extents.rank(); ++d) {
    const double extent = static_cast<double>(extents[d]);
    const Array& start = starts[static_cast<size_t>(d)];
    if (const Literal* known = known_value(start)) {
      const int64_t value = convert_literal(*known, int64).data<int64_t>()[0];
      const bool from_end = value < 0 && is_signed(known->dtype());
      out.push_back(
          lax::full({}, static_cast<double>(from_end ? value + extents[d] : value), dtype));
      continue;
    }
    // An unsigned start among signed ones is clipped to the signed range, which is beyond the array
    // too.
    Array index = start;
    if (is_unsigned(start.dtype()) && is_signed(dtype))
      index = lax::min(index, lax::full({}, 0x7fffffff, index.dtype()));
    index = as_dtype(index, dtype);
    if (is_signed(start.dtype()))
      index = lax::select(lax::lt(index, lax::full({}, 0, dtype)),
                          lax::add(index, lax::full({}, extent, dtype)), index);
    out.push_back(index);
  }
  return out;
}

// Returns `start` for the axis and 0 for all other dimensions.
std::vector<Array> starts_in_dim(const Array& x, const Array& start, int64_t axis) {
  std::vector<Array> out(static_cast<size_t>(x.ndim()), lax::full({}, 0, start.dtype()));
  out[static_cast<size_t>(axis)] = start;
  return out;
}

Array sliced_in_dim(std::string_view op, const Array& x, const Array& start, int64_t size,
                    int64_t axis) {
  Shape sizes = x.shape();
  sizes[axis] = size;
  return lax::dynamic_slice(x, normalized_starts(op, starts_in_dim(x, start, axis), x.shape()),
                            sizes);
}

std::vector<Array> with_starts(std::vector<Array> args, const std::vector<Array>& starts) {
  args.insert(args.end(), starts.begin(), starts.end());
  return args;
}

}  // namespace

Array slice(const Array& x, const Dims& start, const Dims& limit, const Dims& strides) {
  struct SliceArguments {
    Dims start, limit, strides;
  };
  return composite("slice", SliceArguments{start, limit, strides}, {x},
                   [](const SliceArguments& p, std::span<const Array> a) {
                     return lax::slice(a[0], p.start, p.limit, p.strides);
                   });
}

Array slice_in_dim(const Array& x, int64_t start, int64_t limit, int64_t axis, int64_t stride) {
  const int64_t d = normalize_axis("slice_in_dim", axis, x.ndim()), extent = x.shape()[d];
  const int64_t first = start < 0 ? start + extent : start,
                last = limit < 0 ? limit + extent : limit;
  return composite("slice_in_dim", SliceInDimParams{first, last, stride, d}, {x},
                   [](const SliceInDimParams& p, std::span<const Array> a) {
                     return lax::slice_in_dim(a[0], p.start, p.limit, p.stride, p.axis);
                   });
}

Array index_in_dim(const Array& x, int64_t index, int64_t axis, bool keepdims) {
  const int64_t d = normalize_axis("index_in_dim", axis, x.ndim()), extent = x.shape()[d];
  if (index < -extent || index >= extent)
    value_error("index_in_dim", "expected an index in [{}, {}) along axis {} of {}, got {}",
                -extent, extent, d, describe(x.type()), index);
  const int64_t first = index < 0 ? index + extent : index;
  struct IndexInDimParams {
    int64_t index, axis;
    bool keepdims;
  };
  return composite("index_in_dim", IndexInDimParams{first, d, keepdims}, {x},
                   [](const IndexInDimParams& p, std::span<const Array> a) {
                     const Array out = lax::slice_in_dim(a[0], p.index, p.index + 1, 1, p.axis);
                     return p.keepdims ? out : lax::squeeze(out, {p.axis});
                   });
}

Array dynamic_slice(const Array& x, const std::vector<Array>& starts, const Shape& sizes) {
  return composite("dynamic_slice", DynamicParams{sizes}, with_starts({x}, starts),
                   [](const DynamicParams& p, std::span<const Array> a) {
                     return lax::dynamic_slice(
                         a[0], normalized_starts("dynamic_slice", a.subspan(1), a[0].shape()),
                         p.sizes);
                   });
}

Array dynamic_slice_in_dim(const Array& x, const Array& start, int64_t size, int64_t axis) {
  const int64_t d = normalize_axis("dynamic_slice_in_dim", axis, x.ndim());
  return composite("dynamic_slice_in_dim", DynamicInDimParams{size, d}, {x, start},
                   [](const DynamicInDimParams& p, std::span<const Array> a) {
                     return sliced_in_dim("dynamic_slice_in_dim", a[0], a[1], p.size, p.axis);
                   });
}

Array dynamic_index_in_dim(const Array& x, const Array& index, int64_t axis, bool keepdims) {
  const int64_t d = normalize_axis("dynamic_index_in_dim", axis, x.ndim());
  return composite("dynamic_index_in_dim", DynamicInDimParams{1, d, keepdims}, {x, index},
                   [](const DynamicInDimParams& p, std::span<const Array> a) {
                     const Array out =
                         sliced_in_dim("dynamic_index_in_dim", a[0], a[1], p.size, p.axis);
                     return p.keepdims ? out : lax::squeeze(out, {p.axis});
                   });
}

Array dynamic_update_slice(const Array& x, const Array& update, const std::vector<Array>& starts) {
  return composite("dynamic_update_slice", {}, with_starts({x, update}, starts),
                   [](const NoParams&, std::span<const Array> a) {
                     return lax::dynamic_update_slice(
                         a[0], as_dtype(a[1], a[0].dtype(), a[0].weak_type()),
                         normalized_starts("dynamic_update_slice", a.subspan(2), a[0].shape()));
                   });
}

Array dynamic_update_slice_in_dim(const Array& x, const Array& update, const Array& start,
                                  int64_t axis) {
  const int64_t d = normalize_axis("dynamic_update_slice_in_dim", axis, x.ndim());
  return composite("dynamic_update_slice_in_dim", AxisParams{d}, {x, update, start},
                   [](const AxisParams& p, std::span<const Array> a) {
                     return lax::dynamic_update_slice(
                         a[0], as_dtype(a[1], a[0].dtype(), a[0].weak_type()),
                         normalized_starts("dynamic_update_slice_in_dim",
                                           starts_in_dim(a[0], a[2], p.axis), a[0].shape()));
                   });
}

Array dynamic_update_index_in_dim(const Array& x, const Array& update, const Array& index,
                                  int64_t axis) {
  const int64_t d = normalize_axis("dynamic_update_index_in_dim", axis, x.ndim());
  if (update.ndim() == x.ndim()) return dynamic_update_slice_in_dim(x, update, index, d);
  Shape shape = update.shape();
  if (shape.rank() != x.ndim() - 1)
    shape_error("dynamic_update_index_in_dim", "expected an update of rank {} or {}, got {} for {}",
                x.ndim() - 1, x.ndim(), describe(update.type()), describe(x.type()));
  shape.insert(shape.begin() + d, 1);
  struct UpdateIndexParams {
    Shape shape;
    int64_t axis;
  };
  return composite("dynamic_update_index_in_dim", UpdateIndexParams{shape, d}, {x, update, index},
                   [](const UpdateIndexParams& p, std::span<const Array> a) {
                     return dynamic_update_slice_in_dim(a[0], lax::reshape(a[1], p.shape), a[2],
                                                        p.axis);
                   });
}

}  // namespace tessera
