#include "tessera/numpy/indexing.h"

#include <algorithm>
#include <cmath>

#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/index_plan.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/promotion.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/indexing/scatter.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera {

using namespace ops;

namespace {

DType index_dtype(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](int64_t n) { return n > 0x7fffffff; }) ? int64
                                                                                           : int32;
}

// Returns indices in [0, extent): negative ones are counted from the end.
Array wrapped(const Array& indices, int64_t extent, DType dtype) {
  if (!is_signed(indices.dtype())) return as_dtype(indices, dtype);
  const Array wide = as_dtype(indices, dtype);
  return lax::select(lax::lt(wide, lax::full(wide.shape(), 0, dtype)),
                     lax::add(wide, lax::full(wide.shape(), static_cast<double>(extent), dtype)),
                     wide);
}

// Returns the start index of every window: one vector for each position of the strided slices and
// index arrays.
Array start_vectors(const IndexPlan& plan, const Type& x, std::span<const Array> arrays) {
  const DType dtype = index_dtype(x.shape);
  const auto strided = static_cast<int64_t>(plan.strided.size());
  Shape batch(plan.layout.begin(), plan.layout.begin() + strided);
  batch.insert(batch.end(), plan.common.begin(), plan.common.end());
  Shape column = batch;
  column.push_back(1);
  std::vector<Array> parts;
  for (const IndexPlan::Component& c : plan.components) {
    if (c.array >= 0) {
      const Array i =
          broadcast_array("index", wrapped(arrays[c.array], x.shape[c.dim], dtype), plan.common);
      Dims to;
      for (int64_t k = 0; k < plan.common.rank(); ++k) to.push_back(strided + k);
      parts.push_back(lax::broadcast_in_dim(i, column, to));
    } else if (c.strided >= 0) {
      const IndexPlan::Strided& s = plan.strided[c.strided];
      const Array count = lax::iota(dtype, column, c.strided);
      parts.push_back(
          lax::add(lax::mul(count, lax::full(column, static_cast<double>(s.step), dtype)),
                   lax::full(column, static_cast<double>(s.start), dtype)));
    } else {
      parts.push_back(lax::full(column, static_cast<double>(c.start), dtype));
    }
  }
  if (parts.empty()) {
    column.back() = 0;
    return lax::full(column, 0, dtype);
  }
  return parts.size() == 1 ? parts[0] : lax::concatenate(parts, batch.rank());
}

// An item of an index expression without its array. Arrays are arguments of the composite.
struct StaticItem {
  enum class Kind : uint8_t { kInteger, kSlice, kNewAxis, kEllipsis, kArray } kind;
  int64_t integer = 0;
  std::optional<int64_t> start = std::nullopt, stop = std::nullopt;  // of a slice
  int64_t step = 1;
};

std::vector<StaticItem> static_items(const std::vector<IndexItem>& items) {
  using Kind = StaticItem::Kind;
  std::vector<StaticItem> out;
  for (const IndexItem& item : items) {
    if (const auto* i = std::get_if<int64_t>(&item)) {
      out.push_back({.kind = Kind::kInteger, .integer = *i});
    } else if (const auto* s = std::get_if<Slice>(&item)) {
      out.push_back({.kind = Kind::kSlice, .start = s->start, .stop = s->stop, .step = s->step});
    } else if (std::holds_alternative<NoneType>(item)) {
      out.push_back({.kind = Kind::kNewAxis});
    } else if (std::holds_alternative<EllipsisType>(item)) {
      out.push_back({.kind = Kind::kEllipsis});
    } else {
      out.push_back({.kind = Kind::kArray});
    }
  }
  return out;
}

// Puts `arrays` back into items that static_items took apart.
std::vector<IndexItem> with_arrays(const std::vector<StaticItem>& items,
                                   std::span<const Array> arrays) {
  std::vector<IndexItem> out;
  size_t next = 0;
  for (const StaticItem& item : items) {
    switch (item.kind) {
      case StaticItem::Kind::kInteger:
        out.emplace_back(item.integer);
        break;
      case StaticItem::Kind::kSlice: {
        Slice slice;
        slice.start = item.start;
        slice.stop = item.stop;
        slice.step = item.step;
        out.emplace_back(slice);
        break;
      }
      case StaticItem::Kind::kNewAxis:
        out.emplace_back(None);
        break;
      case StaticItem::Kind::kEllipsis:
        out.emplace_back(EllipsisType{});
        break;
      case StaticItem::Kind::kArray:
        out.emplace_back(arrays[next++]);
        break;
    }
  }
  return out;
}

// Returns `args`, followed by the arrays of the items.
std::vector<Array> with_arrays(std::vector<Array> args, const std::vector<IndexItem>& items) {
  for (const IndexItem& item : items)
    if (const Array* x = std::get_if<Array>(&item)) args.push_back(*x);
  return args;
}

Array in_numpy_order(const IndexPlan& plan, const Array& x) {
  return lax::expand_dims(lax::transpose(x, plan.order), plan.new_axes);
}

Array get_basic(const IndexPlan& plan, const Array& x) {
  Array out = lax::slice(x, plan.starts, plan.limits, plan.strides);
  if (!plan.reversed.empty()) out = lax::rev(out, plan.reversed);
  return lax::expand_dims(lax::squeeze(out, plan.dropped), plan.new_axes);
}

// Returns the bool array if the index expression is just that, otherwise null.
const Array* mask_of(const std::vector<IndexItem>& items) {
  const Array* mask = items.size() == 1 ? std::get_if<Array>(&items[0]) : nullptr;
  return mask && mask->dtype() == bool_ ? mask : nullptr;
}

// Returns the dtype in which elements of x are combined with values. It is x's own, except that
// integers and bool are combined in the common dtype of both, so that 5 * 0.5 is 2.5, not 5 * 0.
// Sums and products of integers wrap, and are the same in x's dtype.
DType combined_dtype(const Array& x, const Array& value, ScatterKind kind) {
  if (kind == ScatterKind::kSet || is_inexact(x.dtype())) return x.dtype();
  const DType common = result_type({x, value}).dtype;
  const bool wraps = kind == ScatterKind::kAdd || kind == ScatterKind::kMul;
  return wraps && is_integer(x.dtype()) && is_integer(common) ? x.dtype() : common;
}

// Returns `made`, which holds x's elements after an update in another dtype, as x's dtype. Elements
// that did not change keep x's value, which the other dtype may have rounded.
Array in_own_dtype(const Array& made, const Array& before, const Array& x) {
  if (made.dtype() == x.dtype()) return made;
  return lax::select(lax::eq(made, before), x, as_dtype(made, x.dtype(), x.weak_type()));
}

// Returns x with f(element, value) for the elements for which the mask is true.
Array update_masked(const char* name, const Array& x, const Array& mask, const Array& value,
                    ScatterKind kind, Array (*f)(const Array&, const Array&)) {
  const int64_t rank = mask.ndim();
  if (rank > x.ndim() || !std::equal(mask.shape().begin(), mask.shape().end(), x.shape().begin()))
    shape_error("index", "expected a mask of the first dimensions of {}, got {}",
                describe(x.type()), describe(mask.type()));
  const Shape rest(x.shape().begin() + rank, x.shape().end());
  if (value.ndim() > rest.rank())
    shape_error("index",
                "expected one value of shape {} for all that a mask holds for, got {}; use "
                "where(mask, values, x)",
                rest, describe(value.type()));
  struct MaskedParams {
    std::string name;
    ScatterKind kind;
    Array (*f)(const Array&, const Array&);
  };
  return composite(
      name, MaskedParams{name, kind, f}, {x, mask, value},
      [](const MaskedParams& p, std::span<const Array> a) {
        const DType dtype = combined_dtype(a[0], a[2], p.kind);
        const bool weak = a[0].weak_type();
        const Array x = as_dtype(a[0], dtype, weak);
        const Array v = broadcast_array(p.name, as_dtype(a[2], dtype, weak), x.shape());
        const Array wide = lax::broadcast_in_dim(a[1], x.shape(), iota_dims(a[1].ndim()));
        return in_own_dtype(lax::select(wide, p.f(x, v), x), x, a[0]);
      });
}

struct ScatterParams {
  std::string name;
  std::vector<StaticItem> items;
  ScatterKind kind;
  UpdateOptions options;
};

// Returns the updated array. The arguments `a` are x, the value and the index arrays.
Array updated(const ScatterParams& p, std::span<const Array> a) {
  const DType dtype = combined_dtype(a[0], a[1], p.kind);
  const Array operand = as_dtype(a[0], dtype, a[0].weak_type());
  const IndexPlan plan = make_index_plan(operand.type(), with_arrays(p.items, a.subspan(2)));
  Shape full = plan.shape;
  for (int64_t axis : plan.new_axes) full.insert(full.begin() + axis, 1);
  Array v = broadcast_array(p.name, as_dtype(a[1], dtype, operand.weak_type()), full);
  v = lax::squeeze(v, plan.new_axes);
  const bool contiguous = plan.strided.empty();
  if (p.kind == ScatterKind::kSet && plan.basic && contiguous) {
    v = lax::expand_dims(v, plan.dropped);
    std::vector<Array> starts;
    for (int64_t s : plan.starts)
      starts.push_back(lax::full({}, static_cast<double>(s), index_dtype(operand.shape())));
    return lax::dynamic_update_slice(operand, v, starts);
  }
  Dims back(plan.order.size(), 0);
  for (size_t d = 0; d < plan.order.size(); ++d) back[plan.order[d]] = static_cast<int64_t>(d);
  v = lax::transpose(v, back);
  const bool unique = p.options.unique_indices || plan.basic;
  const Array made =
      lax::scatter(operand, start_vectors(plan, operand.type(), a.subspan(2)), v, plan.dims, p.kind,
                   {p.options.mode, p.options.indices_are_sorted, unique});
  return in_own_dtype(made, operand, a[0]);
}

Array update(const char* name, const Array& x, const std::vector<IndexItem>& items,
             const Array& value, ScatterKind kind, const UpdateOptions& options) {
  return composite(name, ScatterParams{name, static_items(items), kind, options},
                   with_arrays({x, value}, items), updated);
}

}  // namespace

IndexList::IndexList(Slice s) : items_{IndexItem(s)} {}
IndexList::IndexList(NoneType n) : items_{IndexItem(n)} {}
IndexList::IndexList(EllipsisType e) : items_{IndexItem(e)} {}
IndexList::IndexList(const Array& x) : items_{IndexItem(x)} {}
IndexList::IndexList(const IndexList&) = default;
IndexList::IndexList(IndexList&&) noexcept = default;
IndexList& IndexList::operator=(const IndexList&) = default;
IndexList& IndexList::operator=(IndexList&&) noexcept = default;
IndexList::~IndexList() = default;

IndexList IndexList::of_integer(int64_t i) {
  IndexList out;
  out.items_.emplace_back(i);
  return out;
}

IndexList::IndexList(std::initializer_list<IndexList> items) {
  for (const IndexList& list : items)
    items_.insert(items_.end(), list.items_.begin(), list.items_.end());
}

namespace {

// Returns kClip if all indices are scalars, because then a slice is taken and moved inside of the
// array. Only the default mode is replaced.
IndexMode mode_of(const std::vector<IndexItem>& items, IndexMode given) {
  const bool slice = std::all_of(items.begin(), items.end(), [](const IndexItem& item) {
    const Array* array = std::get_if<Array>(&item);
    return !array || array->ndim() == 0;
  });
  return given == IndexMode::kPromiseInBounds && slice ? IndexMode::kClip : given;
}

}  // namespace

Array index(const Array& x, const IndexList& list, const GetOptions& options) {
  const std::vector<IndexItem>& items = list.items();
  struct GatherParams {
    std::vector<StaticItem> items;
    IndexMode mode;
    std::optional<double> fill_value;
  };
  return composite(
      "index", GatherParams{static_items(items), mode_of(items, options.mode), options.fill_value},
      with_arrays({x}, items), [](const GatherParams& p, std::span<const Array> a) {
        const std::span<const Array> arrays = a.subspan(1);
        const IndexPlan plan = make_index_plan(a[0].type(), with_arrays(p.items, arrays));
        if (plan.basic) return get_basic(plan, a[0]);
        if (plan.layout.elements() == 0)  // a window would be larger than an empty dimension
          return in_numpy_order(plan, lax::full(plan.layout, 0, a[0].dtype()));
        return in_numpy_order(plan, lax::gather(a[0], start_vectors(plan, a[0].type(), arrays),
                                                plan.dims, plan.sizes, p.mode, p.fill_value));
      });
}

namespace {

Array second(const Array&, const Array& y) { return y; }

}  // namespace

Array IndexedArray::set(const Array& value, const UpdateOptions& options) const {
  if (const Array* mask = mask_of(items_.items()))
    return update_masked("at_set_masked", x_, *mask, value, ScatterKind::kSet, second);
  return update("at_set", x_, items_.items(), value, ScatterKind::kSet, options);
}
Array IndexedArray::add(const Array& value, const UpdateOptions& options) const {
  if (const Array* mask = mask_of(items_.items()))
    return update_masked("at_add_masked", x_, *mask, value, ScatterKind::kAdd, tessera::add);
  return update("at_add", x_, items_.items(), value, ScatterKind::kAdd, options);
}
Array IndexedArray::subtract(const Array& value, const UpdateOptions& options) const {
  if (const Array* mask = mask_of(items_.items()))
    return update_masked("at_subtract_masked", x_, *mask, value, ScatterKind::kAdd,
                         tessera::subtract);
  struct SubtractParams {
    DType dtype;
    bool weak;
  };
  const DType dtype = combined_dtype(x_, value, ScatterKind::kAdd);
  const Array negative = composite("at_subtract", SubtractParams{dtype, x_.weak_type()}, {value},
                                   [](const SubtractParams& p, std::span<const Array> a) {
                                     return lax::neg(as_dtype(a[0], p.dtype, p.weak));
                                   });
  return add(negative, options);
}
Array IndexedArray::multiply(const Array& value, const UpdateOptions& options) const {
  if (const Array* mask = mask_of(items_.items()))
    return update_masked("at_multiply_masked", x_, *mask, value, ScatterKind::kMul,
                         tessera::multiply);
  return update("at_multiply", x_, items_.items(), value, ScatterKind::kMul, options);
}
// First multiplies ones by the divisors, so that several updates of one element all count.
Array IndexedArray::divide(const Array& value, const UpdateOptions& options) const {
  const Array by = IndexedArray(ones_like(x_), items_).multiply(value, options);
  return tessera::divide(x_, by);
}
Array IndexedArray::power(const Array& value, const UpdateOptions& options) const {
  const Array by = IndexedArray(ones_like(x_), items_).multiply(value, options);
  return tessera::power(x_, by);
}
Array IndexedArray::min(const Array& value, const UpdateOptions& options) const {
  if (const Array* mask = mask_of(items_.items()))
    return update_masked("at_min_masked", x_, *mask, value, ScatterKind::kMin, minimum);
  return update("at_min", x_, items_.items(), value, ScatterKind::kMin, options);
}
Array IndexedArray::max(const Array& value, const UpdateOptions& options) const {
  if (const Array* mask = mask_of(items_.items()))
    return update_masked("at_max_masked", x_, *mask, value, ScatterKind::kMax, maximum);
  return update("at_max", x_, items_.items(), value, ScatterKind::kMax, options);
}

Array take(const Array& x, const Array& indices, const TakeOptions& options) {
  const Shape shape = options.axis ? x.shape() : Shape{x.size()};
  const int64_t axis = normalize_axis("take", options.axis.value_or(0), shape.rank());
  if (!is_integer(indices.dtype()))
    type_error("take", "expected integer indices, got {}; convert them", describe(indices.type()));
  struct TakeParams {
    Shape shape;
    int64_t axis;
    IndexMode mode;
    std::optional<double> fill_value;
  };
  return composite(
      "take", TakeParams{shape, axis, options.mode, options.fill_value}, {x, indices},
      [](const TakeParams& p, std::span<const Array> a) {
        const Shape& shape = p.shape;
        const int64_t axis = p.axis;
        const Array operand = lax::reshape(a[0], shape);
        const DType dtype = index_dtype(shape);
        const bool wrap = p.mode == IndexMode::kWrap;
        Array i = as_dtype(a[1], dtype);
        if (wrap)
          i = remainder(
              i, lax::full({}, static_cast<double>(std::max<int64_t>(1, shape[axis])), dtype));
        else if (p.mode != IndexMode::kClip)  // kClip makes all negative ones 0
          i = wrapped(a[1], shape[axis], dtype);
        IndexDims dims{
            .offset_dims = {}, .collapsed_slice_dims = {axis}, .start_index_map = {axis}};
        for (int64_t d = 0; d < shape.rank(); ++d)
          if (d != axis) dims.offset_dims.push_back(d < axis ? d : d - 1 + i.ndim());
        Shape sizes = shape;
        sizes[axis] = 1;
        if (sizes.elements() * i.size() == 0) {
          Shape empty(shape.begin(), shape.begin() + axis);
          empty.insert(empty.end(), i.shape().begin(), i.shape().end());
          empty.insert(empty.end(), shape.begin() + axis + 1, shape.end());
          return lax::full(empty, 0, operand.dtype());
        }
        return lax::gather(operand, lax::expand_dims(i, {i.ndim()}), dims, sizes,
                           wrap ? IndexMode::kPromiseInBounds : p.mode, p.fill_value);
      });
}

Array take_along_axis(const Array& x, const Array& indices, NoneType, const GetOptions& options) {
  return take_along_axis(ravel(x), ravel(indices), 0, options);
}

Array take_along_axis(const Array& x, const Array& indices, int64_t axis,
                      const GetOptions& options) {
  if (indices.ndim() != x.ndim())
    shape_error("take_along_axis", "expected indices of rank {}, got {} for {}", x.ndim(),
                describe(indices.type()), describe(x.type()));
  if (!is_integer(indices.dtype()))
    type_error("take_along_axis", "expected integer indices, got {}; convert them",
               describe(indices.type()));
  const int64_t d = normalize_axis("take_along_axis", axis, x.ndim());
  Shape from = x.shape(), to = indices.shape();
  from[d] = to[d] = 1;
  const std::vector<Shape> shapes{from, to};
  const Shape others = broadcast_shapes("take_along_axis", shapes);
  struct AlongParams {
    Shape others;  // the common shape without the axis
    int64_t axis;
    GetOptions options;
  };
  return composite("take_along_axis", AlongParams{others, d, options}, {x, indices},
                   [](const AlongParams& p, std::span<const Array> a) {
                     Shape operand = p.others, wanted = p.others;
                     operand[p.axis] = a[0].shape()[p.axis];
                     wanted[p.axis] = a[1].shape()[p.axis];
                     // If the array is empty, the result is zeros, as in JAX.
                     if (a[0].size() == 0) return lax::full(wanted, 0, a[0].dtype());
                     const Array i = wrapped(a[1], operand[p.axis], index_dtype(operand));
                     return lax::take_along(broadcast_array("take_along_axis", a[0], operand),
                                            broadcast_array("take_along_axis", i, wanted), p.axis,
                                            p.options.mode, p.options.fill_value);
                   });
}

}  // namespace tessera
