#include "tessera/numpy/manipulation.h"

#include <algorithm>
#include <numeric>

#include "tessera/base/array_size.h"
#include "tessera/base/namespaces.h"
#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/searching.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/reductions/reduce_window.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera {

using namespace runtime;

namespace {

struct ShapeParams {
  Shape shape;
};
struct AxesParams {
  Dims axes;
};
struct AxisParams {
  int64_t axis = 0;
};

void expect_arrays(std::string_view op, const std::vector<Array>& arrays) {
  if (arrays.empty()) value_error(op, "expected at least one array, got none");
}

// Returns the slice [start, stop) along one dimension.
Array part(const Array& x, int64_t axis, int64_t start, int64_t stop) {
  return lax::slice_in_dim(x, start, stop, 1, axis);
}

Array join_arrays(const std::vector<Array>& arrays, int64_t axis) {
  std::vector<Array> full;  // arrays without elements along the axis add nothing
  for (const Array& x : arrays)
    if (x.shape()[axis] > 0) full.push_back(x);
  return full.empty() ? arrays[0] : lax::concatenate(full, axis);
}

}  // namespace

Array reshape(const Array& x, const Shape& shape) {
  int64_t known = 1, unknown = -1;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape[d] == -1 && unknown < 0) {
      unknown = d;
    } else if (shape[d] < 0) {
      shape_error("reshape", "expected extents of at least 0 and at most one -1, got {}", shape);
    } else {
      known = checked_product("reshape", known, shape[d]);
    }
  }
  Shape target = shape;
  if (unknown >= 0 && known > 0 && x.size() % known == 0) target[unknown] = x.size() / known;
  if (target.elements() != x.size() || (unknown >= 0 && target[unknown] < 0))
    shape_error("reshape", "expected a shape of {} elements for {}, got {}", x.size(),
                describe(x.type()), shape);
  if (target == x.shape()) return x;
  return composite(
      "reshape", ShapeParams{target}, {x},
      [](const ShapeParams& p, std::span<const Array> a) { return lax::reshape(a[0], p.shape); });
}

Array ravel(const Array& x) { return reshape(x, Shape{x.size()}); }

Array transpose(const Array& x) {
  Dims axes = iota_dims(x.ndim());
  std::reverse(axes.begin(), axes.end());
  return transpose(x, axes);
}

Array transpose(const Array& x, const Dims& axes) {
  const Dims permutation = Axes(axes).in_order("transpose", x.ndim());
  if (permutation.rank() != x.ndim())
    value_error("transpose", "expected the {} axes of {}, got {}; name each once", x.ndim(),
                describe(x.type()), axes);
  if (permutation == iota_dims(x.ndim())) return x;
  return composite(
      "transpose", AxesParams{permutation}, {x},
      [](const AxesParams& p, std::span<const Array> a) { return lax::transpose(a[0], p.axes); });
}

Array matrix_transpose(const Array& x) {
  if (x.ndim() < 2)
    shape_error("matrix_transpose", "expected at least 2 dimensions, got {}; expand_dims it",
                describe(x.type()));
  return swapaxes(x, -2, -1);
}

Array swapaxes(const Array& x, int64_t axis1, int64_t axis2) {
  Dims permutation = iota_dims(x.ndim());
  std::swap(permutation[normalize_axis("swapaxes", axis1, x.ndim())],
            permutation[normalize_axis("swapaxes", axis2, x.ndim())]);
  return transpose(x, permutation);
}

Array moveaxis(const Array& x, const Axes& source, const Axes& destination) {
  const Dims from = source.in_order("moveaxis", x.ndim()),
             to = destination.in_order("moveaxis", x.ndim());
  if (from.rank() != to.rank())
    value_error("moveaxis", "expected as many destinations as sources, got {} and {}", from, to);
  Dims permutation(static_cast<size_t>(x.ndim()), -1);
  for (int64_t i = 0; i < from.rank(); ++i) permutation[to[i]] = from[i];
  int64_t next = 0;
  for (int64_t& place : permutation) {
    if (place >= 0) continue;
    while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
    place = next++;
  }
  return transpose(x, permutation);
}

Array expand_dims(const Array& x, const Axes& axis) {
  if (axis.all()) value_error("expand_dims", "expected an axis or several, got None");
  const int64_t added = axis.count(x.ndim());
  const Dims places = axis.ascending("expand_dims", x.ndim() + added);
  Shape shape;
  for (int64_t d = 0, from = 0, k = 0; d < x.ndim() + added; ++d) {
    const bool inserted = k < added && places[k] == d;
    shape.push_back(inserted ? 1 : x.shape()[from]);
    inserted ? ++k : ++from;
  }
  return reshape(x, shape);
}

Array squeeze(const Array& x, const Axes& axis) {
  const Dims axes = axis.ascending("squeeze", x.ndim());
  Shape shape;
  for (int64_t d = 0; d < x.ndim(); ++d) {
    const bool named = std::binary_search(axes.begin(), axes.end(), d);
    if (named && x.shape()[d] == 1) continue;
    if (named && !axis.all())
      shape_error("squeeze", "expected extent 1 in dimension {}, got {}; reshape or index it", d,
                  describe(x.type()));
    shape.push_back(x.shape()[d]);
  }
  return reshape(x, shape);
}

Array atleast_1d(const Array& x) { return x.ndim() >= 1 ? x : reshape(x, Shape{1}); }
Array atleast_2d(const Array& x) { return x.ndim() >= 2 ? x : reshape(x, Shape{1, x.size()}); }
Array atleast_3d(const Array& x) {
  if (x.ndim() >= 3) return x;
  return x.ndim() == 2 ? expand_dims(x, 2) : reshape(x, Shape{1, x.size(), 1});
}

Array broadcast_to(const Array& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return composite("broadcast_to", ShapeParams{shape}, {x},
                   [](const ShapeParams& p, std::span<const Array> a) {
                     return broadcast_array("broadcast_to", a[0], p.shape);
                   });
}

std::vector<Array> broadcast_arrays(const std::vector<Array>& arrays) {
  std::vector<Shape> shapes;
  for (const Array& x : arrays) shapes.push_back(x.shape());
  const Shape shape = broadcast_shapes("broadcast_arrays", shapes);
  std::vector<Array> out;
  for (const Array& x : arrays) out.push_back(broadcast_to(x, shape));
  return out;
}

Array concatenate(const std::vector<Array>& arrays, int64_t axis) {
  expect_arrays("concatenate", arrays);
  const Shape& first = arrays[0].shape();
  if (first.empty())
    shape_error("concatenate", "expected at least one dimension, got {}; stack joins scalars",
                describe(arrays[0].type()));
  const int64_t d = normalize_axis("concatenate", axis, first.rank());
  for (const Array& x : arrays) {
    Shape other = x.shape();
    if (other.rank() == first.rank()) other[d] = first[d];
    if (other != first)
      shape_error(
          "concatenate",
          "expected shapes that differ along axis {} alone, got {} and {}; reshape one of them", d,
          first, x.shape());
  }
  return composite("concatenate", AxisParams{d}, arrays,
                   [](const AxisParams& p, std::span<const Array> a) {
                     return join_arrays(promote_dtypes(a), p.axis);
                   });
}

Array concatenate(const std::vector<Array>& arrays, NoneType) {
  std::vector<Array> flat;
  for (const Array& x : arrays) flat.push_back(ravel(x));
  return concatenate(flat, 0);
}

Array stack(const std::vector<Array>& arrays, int64_t axis) {
  expect_arrays("stack", arrays);
  for (const Array& x : arrays)
    if (x.shape() != arrays[0].shape())
      shape_error("stack",
                  "expected arrays of one shape, got {} and {}; broadcast or reshape one of them",
                  arrays[0].shape(), x.shape());
  const int64_t d = normalize_axis("stack", axis, arrays[0].ndim() + 1);
  return composite("stack", AxisParams{d}, arrays,
                   [](const AxisParams& p, std::span<const Array> a) {
                     std::vector<Array> slices = promote_dtypes(a);
                     for (Array& x : slices) x = lax::expand_dims(x, {p.axis});
                     return join_arrays(slices, p.axis);
                   });
}

std::vector<Array> unstack(const Array& x, int64_t axis) {
  if (x.ndim() == 0)
    shape_error("unstack", "expected at least one dimension, got {}", describe(x.type()));
  const int64_t d = normalize_axis("unstack", axis, x.ndim());
  return composite("unstack", AxisParams{d}, {x},
                   [](const AxisParams& p, std::span<const Array> a) {
                     std::vector<Array> out;
                     for (int64_t i = 0; i < a[0].shape()[p.axis]; ++i)
                       out.push_back(lax::squeeze(part(a[0], p.axis, i, i + 1), {p.axis}));
                     return out;
                   });
}

namespace {

Array stacked(std::string_view op, const std::vector<Array>& arrays,
              Array (*at_least)(const Array&), int64_t axis) {
  expect_arrays(op, arrays);
  std::vector<Array> out;
  for (const Array& x : arrays) out.push_back(at_least(x));
  return concatenate(out, axis);
}

}  // namespace

Array vstack(const std::vector<Array>& arrays) { return stacked("vstack", arrays, atleast_2d, 0); }
Array hstack(const std::vector<Array>& arrays) {
  expect_arrays("hstack", arrays);
  return stacked("hstack", arrays, atleast_1d, arrays[0].ndim() <= 1 ? 0 : 1);
}
Array dstack(const std::vector<Array>& arrays) { return stacked("dstack", arrays, atleast_3d, 2); }
Array column_stack(const std::vector<Array>& arrays) {
  return stacked(
      "column_stack", arrays,
      [](const Array& x) {
        return x.ndim() < 2 ? reshape(x, Shape{x.size(), 1}) : x;
      },
      1);
}

std::vector<Array> split(const Array& x, const Dims& indices, int64_t axis) {
  const int64_t d = normalize_axis("split", axis, x.ndim());
  struct SplitParams {
    Dims indices;
    int64_t axis;
  };
  return composite("split", SplitParams{indices, d}, {x},
                   [](const SplitParams& p, std::span<const Array> a) {
                     const int64_t extent = a[0].shape()[p.axis];
                     const auto bound = [&](int64_t i) {
                       return std::clamp<int64_t>(i < 0 ? i + extent : i, 0, extent);
                     };
                     std::vector<Array> out;
                     int64_t start = 0;
                     for (int64_t index : p.indices) {
                       const int64_t stop = bound(index);
                       out.push_back(part(a[0], p.axis, start, std::max(start, stop)));
                       start = stop;
                     }
                     out.push_back(part(a[0], p.axis, start, extent));
                     return out;
                   });
}

std::vector<Array> internal::split_equally(const Array& x, int64_t parts, int64_t axis) {
  const int64_t d = normalize_axis("split", axis, x.ndim());
  if (parts <= 0 || x.shape()[d] % parts != 0)
    shape_error("split",
                "expected a number of parts that divides the extent {} of axis {}, got {}; "
                "array_split makes uneven "
                "parts",
                x.shape()[d], d, parts);
  return array_split(x, parts, axis);
}

std::vector<Array> array_split(const Array& x, int64_t parts, int64_t axis) {
  const int64_t d = normalize_axis("array_split", axis, x.ndim());
  if (parts <= 0) value_error("array_split", "expected at least one part, got {}", parts);
  const int64_t size = x.shape()[d] / parts, longer = x.shape()[d] % parts;
  Dims indices;
  for (int64_t i = 1; i < parts; ++i) indices.push_back(i * size + std::min(i, longer));
  return split(x, indices, axis);
}

Array tile(const Array& x, const Dims& repetitions) {
  for (int64_t r : repetitions)
    if (r < 0) value_error("tile", "expected repetitions of at least 0, got {}", repetitions);
  return composite(
      "tile", AxesParams{repetitions}, {x}, [](const AxesParams& p, std::span<const Array> a) {
        const Dims& repetitions = p.axes;
        const int64_t rank = std::max(a[0].ndim(), repetitions.rank());
        Shape extents(static_cast<size_t>(rank), 1), times(static_cast<size_t>(rank), 1);
        std::copy_backward(a[0].shape().begin(), a[0].shape().end(), extents.end());
        std::copy_backward(repetitions.begin(), repetitions.end(), times.end());
        Shape narrow, wide, out;  // (1, e0, 1, e1, ...) is broadcast to (t0, e0, t1, e1, ...)
        for (int64_t d = 0; d < rank; ++d) {
          narrow.insert(narrow.end(), {1, extents[d]});
          wide.insert(wide.end(), {times[d], extents[d]});
          out.push_back(checked_product("tile", times[d], extents[d]));
        }
        return lax::reshape(broadcast_array("tile", lax::reshape(a[0], narrow), wide), out);
      });
}

Array repeat(const Array& x, int64_t repeats, int64_t axis) {
  if (repeats < 0) value_error("repeat", "expected at least 0 repeats, got {}", repeats);
  if (x.ndim() == 0) return repeat(ravel(x), repeats, axis);
  const int64_t d = normalize_axis("repeat", axis, x.ndim());
  struct RepeatParams {
    int64_t repeats, axis;
  };
  return composite(
      "repeat", RepeatParams{repeats, d}, {x}, [](const RepeatParams& p, std::span<const Array> a) {
        Shape wide = a[0].shape(), out = a[0].shape();
        wide.insert(wide.begin() + p.axis + 1, p.repeats);
        out[p.axis] = checked_product("repeat", out[p.axis], p.repeats);
        return lax::reshape(broadcast_array("repeat", lax::expand_dims(a[0], {p.axis + 1}), wide),
                            out);
      });
}

Array repeat(const Array& x, int64_t repeats, NoneType) { return repeat(ravel(x), repeats, 0); }

Array repeat(const Array& x, const Dims& repeats, int64_t axis) {
  if (x.ndim() == 0) return repeat(ravel(x), repeats, axis);
  const int64_t d = normalize_axis("repeat", axis, x.ndim()), extent = x.shape()[d];
  for (int64_t times : repeats)
    if (times < 0) value_error("repeat", "expected at least 0 repeats, got {}", times);
  if (repeats.rank() == 1) return repeat(x, repeats[0], d);
  if (repeats.rank() != extent)
    shape_error("repeat", "expected one number for each of {} elements along axis {}, got {}",
                extent, d, repeats.rank());
  int64_t total = 0;
  for (int64_t times : repeats) total = checked_sum("repeat", total, times);
  Literal places(int32, {total});
  int32_t* next = places.mutable_data<int32_t>();
  for (int64_t i = 0; i < extent; ++i)
    next = std::fill_n(next, repeats[i], static_cast<int32_t>(i));
  return take(x, from_host(places), {.axis = d, .mode = IndexMode::kPromiseInBounds});
}
Array repeat(const Array& x, const Dims& repeats, NoneType) { return repeat(ravel(x), repeats, 0); }

Array repeat(const Array& x, const Array& repeats, int64_t axis, int64_t total) {
  if (x.ndim() == 0) return repeat(ravel(x), repeats, axis, total);
  const int64_t d = normalize_axis("repeat", axis, x.ndim()), extent = x.shape()[d];
  if (!is_integer(repeats.dtype()) || repeats.ndim() > 1)
    type_error("repeat", "expected an integer scalar or vector of repeats, got {}",
               describe(repeats.type()));
  if (total < 0) value_error("repeat", "expected a total length of at least 0, got {}", total);
  if (extent == 0)
    shape_error("repeat", "expected elements along axis {} to repeat, got {}", d,
                describe(x.type()));
  struct RepeatParams {
    int64_t axis, total;
  };
  return composite("repeat_each", RepeatParams{d, total}, {x, repeats},
                   [](const RepeatParams& p, std::span<const Array> a) {
                     const int64_t extent = a[0].shape()[p.axis];
                     const Array times = broadcast_array("repeat", as_dtype(a[1], int32), {extent});
                     // Each position of the result takes the element whose run contains it: the
                     // number of runs that end at or before the position.
                     const Array ends = lax::cumsum(times);
                     const Array place =
                         searchsorted(ends, lax::iota(int32, {p.total}), {.side = Side::kRight});
                     return take(a[0], place, {.axis = p.axis, .mode = IndexMode::kClip});
                   });
}
Array repeat(const Array& x, const Array& repeats, NoneType, int64_t total) {
  return repeat(ravel(x), repeats, 0, total);
}

Array flip(const Array& x, const Axes& axis) {
  const Dims axes = axis.ascending("flip", x.ndim());
  return composite(
      "flip", AxesParams{axes}, {x},
      [](const AxesParams& p, std::span<const Array> a) { return lax::rev(a[0], p.axes); });
}

Array fliplr(const Array& x) {
  if (x.ndim() < 2)
    shape_error("fliplr", "expected at least 2 dimensions, got {}; flip takes any",
                describe(x.type()));
  return flip(x, 1);
}

Array flipud(const Array& x) {
  if (x.ndim() < 1)
    shape_error("flipud", "expected at least 1 dimension, got {}", describe(x.type()));
  return flip(x, 0);
}

Array roll(const Array& x, int64_t shift, const Axes& axis) { return roll(x, Dims{shift}, axis); }

Array roll(const Array& x, const Dims& shifts, const Axes& axis) {
  if (axis.all()) return reshape(roll(ravel(x), shifts, 0), x.shape());
  Dims axes = axis.in_order("roll", x.ndim());
  Dims by = shifts;
  if (by.rank() == 1) by = Dims(static_cast<size_t>(axes.rank()), by[0]);
  if (axes.rank() == 1 && by.rank() > 1)
    axes = Dims(static_cast<size_t>(by.rank()), static_cast<int64_t>(axes[0]));
  if (axes.rank() != by.rank())
    value_error("roll",
                "expected one shift, or one for each axis, got the shifts {} and the axes {}",
                shifts, axes);
  struct RollParams {
    Dims shifts, axes;
  };
  return composite("roll", RollParams{by, axes}, {x},
                   [](const RollParams& p, std::span<const Array> a) {
                     Array out = a[0];
                     for (int64_t i = 0; i < p.axes.rank(); ++i) {
                       const int64_t extent = out.shape()[p.axes[i]];
                       if (extent == 0) continue;
                       const int64_t shift = (p.shifts[i] % extent + extent) % extent;
                       if (shift == 0) continue;
                       out = join_arrays({part(out, p.axes[i], extent - shift, extent),
                                          part(out, p.axes[i], 0, extent - shift)},
                                         p.axes[i]);
                     }
                     return out;
                   });
}

Array roll(const Array& x, const Array& shift, const Axes& axis) {
  if (axis.all()) return reshape(roll(ravel(x), shift, 0), x.shape());
  const Dims axes = axis.in_order("roll", x.ndim());
  if (!is_integer(shift.dtype()) || shift.ndim() != 0)
    type_error("roll", "expected an integer scalar as the shift, got {}", describe(shift.type()));
  return composite(
      "roll_by", AxesParams{axes}, {x, shift}, [](const AxesParams& p, std::span<const Array> a) {
        Array out = a[0];
        for (int64_t d : p.axes) {
          const int64_t extent = out.shape()[d];
          if (extent == 0) continue;
          const Array whole = lax::full({}, static_cast<double>(extent), int32);
          const Array start = lax::sub(whole, remainder(as_dtype(a[1], int32), whole));
          out = lax::dynamic_slice_in_dim(join_arrays({out, out}, d), start, extent, d);
        }
        return out;
      });
}

Array rot90(const Array& x, int64_t k, const Dims& axes) {
  const Dims plane = Axes(axes).in_order("rot90", x.ndim());
  if (plane.rank() != 2) value_error("rot90", "expected two axes, got {}", axes);
  switch ((k % 4 + 4) % 4) {
    case 0:
      return x;
    case 1:
      return swapaxes(flip(x, plane[1]), plane[0], plane[1]);
    case 2:
      return flip(x, plane);
    default:
      return flip(swapaxes(x, plane[0], plane[1]), plane[1]);
  }
}

}  // namespace tessera
