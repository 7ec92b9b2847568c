#include "tessera/numpy/edits.h"

#include <algorithm>
#include <numeric>

#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/index_grids.h"
#include "tessera/numpy/lax.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/searching.h"
#include "tessera/numpy/sorting.h"

namespace tessera {

namespace {

// An array and an axis of it. If no axis was given, it is the flattened array and its only axis.
struct OnAxis {
  Array x;
  int64_t axis;
};
OnAxis on_axis(const char* name, const Array& x, OrNone<int64_t> axis) {
  if (!axis) return {ravel(x), 0};
  return {x, normalize_axis(name, *axis, x.ndim())};
}

void expect_integer_indices(const char* name, const Array& indices) {
  if (!is_integer(indices.dtype()))
    type_error(name, "expected integers as indices, got {}", describe(indices.type()));
}

void expect_known(const char* name, const Array& x, const char* why) {
  if (x.is_tracer())
    trace_error(name, "expected a known array, since {}, got {}; call it outside of jit", why,
                describe(x.type()));
}

// Returns `size` elements: those of the vector, repeated as often as needed.
Array repeated_to(const Array& vector, int64_t size) {
  const int64_t times = (size + vector.size() - 1) / vector.size();
  const Array all = times == 1 ? vector : tile(vector, times);
  return slice_in_dim(all, 0, size);
}

// Returns x without the elements along the axis for which `keep` is false.
Array kept(const OnAxis& on, const std::vector<bool>& keep) {
  std::vector<int32_t> places;
  for (size_t i = 0; i < keep.size(); ++i)
    if (keep[i]) places.push_back(static_cast<int32_t>(i));
  return take(on.x, from_host(places), {.axis = on.axis});
}

}  // namespace

Array append(const Array& x, const Array& values, OrNone<int64_t> axis) {
  return axis ? concatenate({x, values}, *axis) : concatenate({ravel(x), ravel(values)});
}

Array insert(const Array& x, const Array& obj, const Array& values, OrNone<int64_t> axis) {
  const char* name = "insert";
  const OnAxis on = on_axis(name, x, axis);
  expect_integer_indices(name, obj);
  if (obj.ndim() > 1)
    shape_error(name, "expected one index or a vector of them, got {}", describe(obj.type()));
  Array added = as_dtype(values, x.dtype());
  while (added.ndim() < on.x.ndim()) added = expand_dims(added, 0);
  if (obj.ndim() == 0) added = moveaxis(added, 0, on.axis);
  const int64_t count = obj.size() == 1 ? added.shape()[on.axis] : obj.size();
  if (added.shape()[on.axis] != 1 && added.shape()[on.axis] != count)
    shape_error(name, "expected one value or one for each of {} indices, got {}", count,
                describe(values.type()));
  Shape shape = on.x.shape();
  shape[on.axis] = count;
  added = broadcast_array(name, added, shape);
  struct InsertParams {
    int64_t axis;
  };
  return composite(name, InsertParams{on.axis}, {on.x, obj, added},
                   [](const InsertParams& p, std::span<const Array> a) {
                     const int64_t n = a[0].shape()[p.axis], count = a[2].shape()[p.axis];
                     Array where_to = broadcast_to(ravel(astype(a[1], default_int())), {count});
                     where_to = clip(where(where_to < 0, where_to + n, where_to), 0, n);
                     // Sorts the added elements and those of x by their position in the result.
                     // Element k of the result is the order[k]-th of them. An added element comes
                     // before the element of x whose index it has.
                     const Array keys = concatenate({where_to, arange(n)});
                     const Array order = argsort(keys);
                     return take(concatenate({a[2], a[0]}, p.axis), order, {.axis = p.axis});
                   });
}

Array delete_(const Array& x, int64_t obj, OrNone<int64_t> axis) {
  const OnAxis on = on_axis("delete_", x, axis);
  const int64_t n = on.x.shape()[on.axis];
  if (obj < -n || obj >= n)
    value_error("delete_", "expected an index in [{}, {}) along axis {}, got {}", -n, n, on.axis,
                obj);
  const int64_t at = obj < 0 ? obj + n : obj;
  return concatenate({slice_in_dim(on.x, 0, at, on.axis), slice_in_dim(on.x, at + 1, n, on.axis)},
                     on.axis);
}

Array internal::without_slice(const Array& x, const Slice& obj, OrNone<int64_t> axis) {
  const OnAxis on = on_axis("delete_", x, axis);
  const int64_t n = on.x.shape()[on.axis];
  if (obj.step == 0) value_error("delete_", "expected a slice with a step other than 0, got 0");
  const int64_t least = obj.step > 0 ? 0 : -1, most = obj.step > 0 ? n : n - 1;
  const auto bound = [&](const std::optional<int64_t>& at, int64_t otherwise) {
    if (!at) return otherwise;
    return std::clamp(*at < 0 ? *at + n : *at, least, most);
  };
  const int64_t start = bound(obj.start, obj.step > 0 ? least : most),
                stop = bound(obj.stop, obj.step > 0 ? most : least);
  std::vector<bool> keep(static_cast<size_t>(n), true);
  for (int64_t i = start; obj.step > 0 ? i < stop : i > stop; i += obj.step)
    keep[static_cast<size_t>(i)] = false;
  return kept(on, keep);
}

Array delete_(const Array& x, const Array& obj, OrNone<int64_t> axis) {
  const char* name = "delete_";
  const OnAxis on = on_axis(name, x, axis);
  expect_known(name, obj, "the size of the result depends on equal indices");
  const int64_t n = on.x.shape()[on.axis];
  std::vector<bool> keep(static_cast<size_t>(n), true);
  if (obj.dtype() == bool_) {
    if (obj.shape() != Shape{n})
      shape_error(name, "expected a bool vector of {} elements, got {}", n, describe(obj.type()));
    const std::vector<uint8_t> drop = to_vector<uint8_t>(obj);
    for (size_t i = 0; i < keep.size(); ++i) keep[i] = drop[i] == 0;
    return kept(on, keep);
  }
  expect_integer_indices(name, obj);
  return delete_(x, to_vector<int64_t>(obj), axis);
}

Array delete_(const Array& x, const Dims& obj, OrNone<int64_t> axis) {
  const OnAxis on = on_axis("delete_", x, axis);
  const int64_t n = on.x.shape()[on.axis];
  std::vector<bool> keep(static_cast<size_t>(n), true);
  for (int64_t i : obj) {
    if (i < -n || i >= n)
      value_error("delete_", "expected indices in [{}, {}) along axis {}, got {}", -n, n, on.axis,
                  i);
    keep[static_cast<size_t>(i < 0 ? i + n : i)] = false;
  }
  return kept(on, keep);
}

Array resize(const Array& x, const Shape& new_shape) {
  int64_t size = 1;
  for (int64_t extent : new_shape) {
    if (extent < 0) shape_error("resize", "expected extents of at least 0, got {}", new_shape);
    size *= extent;
  }
  if (x.size() == 0 || size == 0) return zeros(new_shape, x.dtype());
  return reshape(repeated_to(ravel(x), size), new_shape);
}

Array trim_zeros(const Array& x, std::string_view trim, const Axes& axis) {
  const char* name = "trim_zeros";
  expect_known(name, x, "the size of the result depends on its values");
  for (char side : trim)
    if (side != 'f' && side != 'b')
      value_error(name, "expected \"f\", \"b\" or \"fb\", got \"{}\"", trim);
  Array out = x;
  for (int64_t d : axis.ascending(name, x.ndim())) {
    Dims others;
    for (int64_t i = 0; i < x.ndim(); ++i)
      if (i != d) others.push_back(i);
    const std::vector<uint8_t> holds = to_vector<uint8_t>(any(not_equal(x, 0), {.axis = others}));
    const auto is = [](uint8_t h) { return h != 0; };
    const auto first = std::find_if(holds.begin(), holds.end(), is);
    const auto last = std::find_if(holds.rbegin(), holds.rend(), is);
    if (first == holds.end()) {
      out = slice_in_dim(out, 0, 0, d);
      continue;
    }
    const bool front = trim.find('f') != trim.npos, back = trim.find('b') != trim.npos;
    out = slice_in_dim(out, front ? first - holds.begin() : 0,
                       out.shape()[d] - (back ? last - holds.rbegin() : 0), d);
  }
  return out;
}

Array fill_diagonal(const Array& x, const Array& val) {
  const char* name = "fill_diagonal";
  const Shape& shape = x.shape();
  const bool equal_extents =
      std::all_of(shape.begin(), shape.end(), [&](int64_t extent) { return extent == shape[0]; });
  if (x.ndim() < 2 || (x.ndim() > 2 && !equal_extents))
    shape_error(name, "expected a matrix, or more dimensions of one extent, got {}",
                describe(x.type()));
  if (val.size() == 0) shape_error(name, "expected values, got {}", describe(val.type()));
  return composite(name, {}, {x, val}, [](const NoParams&, std::span<const Array> a) {
    const Array& x = a[0];
    const int64_t n = *std::min_element(x.shape().begin(), x.shape().end());
    // The elements of the diagonal are sum(strides) elements apart.
    const Dims strides = row_major_strides(x.shape());
    const int64_t step = std::accumulate(strides.begin(), strides.end(), int64_t{0});
    const Array values = a[1].ndim() == 0 ? a[1] : repeated_to(ravel(a[1]), n);
    const Array places = lax::iota(int32, {n}) * static_cast<int>(step);
    return reshape(at(ravel(x))[places].set(as_dtype(values, x.dtype()),
                                            {.indices_are_sorted = true, .unique_indices = true}),
                   x.shape());
  });
}

Array put(const Array& x, const Array& ind, const Array& v, std::optional<IndexMode> mode) {
  expect_integer_indices("put", ind);
  if (x.size() == 0 || ind.size() == 0 || v.size() == 0) return x;
  struct PutParams {
    std::optional<IndexMode> mode;
  };
  return composite(
      "put", PutParams{mode}, {x, ind, v}, [](const PutParams& p, std::span<const Array> a) {
        Array places = ravel(a[1]);
        const int64_t size = a[0].size();
        if (!p.mode) places = where(places < 0, places + size, places);
        if (!p.mode || p.mode == IndexMode::kClip) places = clip(places, 0, size - 1);
        if (p.mode == IndexMode::kWrap) places = remainder(places, a[0].size());
        const Array values = repeated_to(ravel(a[2]), places.size());
        return reshape(at(ravel(a[0]))[places].set(as_dtype(values, a[0].dtype())), a[0].shape());
      });
}

Array put_along_axis(const Array& x, const Array& indices, const Array& values,
                     OrNone<int64_t> axis) {
  const char* name = "put_along_axis";
  const OnAxis on = on_axis(name, x, axis);
  expect_integer_indices(name, indices);
  if (on.x.ndim() != indices.ndim())
    shape_error(name, "expected indices of {} dimensions, got {}", on.x.ndim(),
                describe(indices.type()));
  for (int64_t d = 0; d < on.x.ndim(); ++d)
    if (d != on.axis && indices.shape()[d] != 1 && indices.shape()[d] != on.x.shape()[d])
      shape_error(name, "expected indices that broadcast to {} but for axis {}, got {}",
                  on.x.shape(), on.axis, describe(indices.type()));
  Shape shape = on.x.shape();
  shape[on.axis] = indices.shape()[on.axis];
  const Array set = broadcast_array(name, as_dtype(values, x.dtype()), shape);
  struct PutAlongParams {
    int64_t axis;
  };
  const Array out = composite(
      name, PutAlongParams{on.axis}, {on.x, indices, set},
      [](const PutAlongParams& p, std::span<const Array> a) {
        // Both arrays as rows, with the axis last.
        const Array x = moveaxis(a[0], p.axis, -1), set = moveaxis(a[2], p.axis, -1);
        const Array places = moveaxis(broadcast_to(a[1], a[2].shape()), p.axis, -1);
        const int64_t n = x.shape().back(), rows = n == 0 ? 0 : x.size() / n;
        const Array row = lax::iota(int32, {rows, set.shape().back()});
        const Array flat = at(reshape(x, {rows, n}))[{row, reshape(places, row.shape())}].set(
            reshape(set, row.shape()));
        return moveaxis(reshape(flat, x.shape()), -1, p.axis);
      });
  return axis ? out : reshape(out, x.shape());
}

Array place(const Array& x, const Array& mask, const Array& vals) {
  if (x.size() != mask.size())
    shape_error("place", "expected a mask of the size of {}, got {}", describe(x.type()),
                describe(mask.type()));
  if (vals.size() == 0) shape_error("place", "expected values, got {}", describe(vals.type()));
  if (x.size() == 0) return x;
  return composite("place", {}, {x, mask, vals}, [](const NoParams&, std::span<const Array> a) {
    const Array holds = not_equal(ravel(a[1]), 0);
    // The k-th element for which the mask holds gets value k modulo the number of values.
    const Array k = cumsum(holds, {.dtype = int32}) - 1;
    const Array values = take(ravel(a[2]), remainder(k, static_cast<int>(a[2].size())));
    return where(reshape(holds, a[0].shape()),
                 reshape(as_dtype(values, a[0].dtype()), a[0].shape()), a[0]);
  });
}

Array choose(const Array& a, const std::vector<Array>& choices, IndexMode mode) {
  const char* name = "choose";
  expect_integer_indices(name, a);
  if (choices.empty()) value_error(name, "expected at least one choice, got none");
  const auto n = static_cast<int64_t>(choices.size());
  if (mode == IndexMode::kFill) {
    expect_known(name, a, "indices outside of the choices are an error");
    for (int64_t i : to_vector<int64_t>(a))
      if (i < 0 || i >= n)
        value_error(name, "expected indices in [0, {}), got {}; choose kClip or kWrap", n, i);
  }
  std::vector<Array> args{a};
  args.insert(args.end(), choices.begin(), choices.end());
  struct ChooseParams {
    bool wrap;
  };
  return composite(name, ChooseParams{mode == IndexMode::kWrap}, args,
                   [](const ChooseParams& p, std::span<const Array> a) {
                     const auto n = static_cast<int64_t>(a.size()) - 1;
                     const Array i = p.wrap ? remainder(a[0], n) : clip(a[0], 0, n - 1);
                     const std::vector<Array> same = promote_dtypes(a.subspan(1));
                     Array out = same[0];
                     for (size_t k = 1; k < same.size(); ++k)
                       out = where(equal(i, static_cast<int64_t>(k)), same[k], out);
                     return broadcast_to(
                         out,
                         broadcast_shapes("choose", std::vector<Shape>{out.shape(), i.shape()}));
                   });
}

Array diagflat(const Array& x, int64_t k) { return diag(ravel(x), k); }

namespace {

template <class Parts>
std::vector<Array> split_at(const char* name, const Array& x, int64_t dimensions, int64_t axis,
                            const Parts& parts) {
  if (x.ndim() < dimensions)
    shape_error(name, "expected at least {} dimensions, got {}", dimensions, describe(x.type()));
  return split(x, parts, axis);
}
int64_t second_axis(const Array& x) { return x.ndim() == 1 ? 0 : 1; }

}  // namespace

std::vector<Array> hsplit(const Array& x, int64_t parts) {
  return split_at("hsplit", x, 1, second_axis(x), parts);
}
std::vector<Array> hsplit(const Array& x, const Dims& indices) {
  return split_at("hsplit", x, 1, second_axis(x), indices);
}
std::vector<Array> vsplit(const Array& x, int64_t parts) {
  return split_at("vsplit", x, 2, 0, parts);
}
std::vector<Array> vsplit(const Array& x, const Dims& indices) {
  return split_at("vsplit", x, 2, 0, indices);
}
std::vector<Array> dsplit(const Array& x, int64_t parts) {
  return split_at("dsplit", x, 3, 2, parts);
}
std::vector<Array> dsplit(const Array& x, const Dims& indices) {
  return split_at("dsplit", x, 3, 2, indices);
}

Array rollaxis(const Array& x, int64_t axis, int64_t start) {
  const int64_t from = normalize_axis("rollaxis", axis, x.ndim());
  if (start < -x.ndim() || start > x.ndim())
    value_error("rollaxis", "expected start in [{}, {}], got {}", -x.ndim(), x.ndim(), start);
  int64_t to = start < 0 ? start + x.ndim() : start;
  if (from < to) --to;
  return moveaxis(x, from, to);
}

int64_t Blocks::depth() const {
  if (!is_row_) return 0;
  if (row_.empty()) value_error("block", "expected blocks in every pair of braces, got none");
  const int64_t depth = row_[0].depth();
  for (const Blocks& blocks : row_)
    if (blocks.depth() != depth)
      value_error("block", "expected braces of one depth, got depths {} and {}", depth,
                  blocks.depth());
  return depth + 1;
}

int64_t Blocks::rank() const {
  if (!is_row_) return block_.ndim();
  int64_t out = 0;
  for (const Blocks& blocks : row_) out = std::max(out, blocks.rank());
  return out;
}

Array Blocks::joined(int64_t rank, int64_t depth) const {
  if (!is_row_) {
    Array out = block_;
    while (out.ndim() < rank) out = expand_dims(out, 0);
    return out;
  }
  std::vector<Array> parts;
  for (const Blocks& blocks : row_) parts.push_back(blocks.joined(rank, depth - 1));
  return concatenate(parts, -depth);
}

Array block(const Blocks& blocks) {
  const int64_t depth = blocks.depth();
  return blocks.joined(std::max(depth, blocks.rank()), depth);
}

}  // namespace tessera
