#include "tessera/ops/reductions/fold_windows.h"

#include <algorithm>

#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/reductions/fold_body.h"
#include "tessera/ops/reductions/ordered_fold.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/ops/structural/window_view.h"

namespace tessera::ops {
namespace {

Array int_scalar(int32_t value) { return Array(Literal::scalar(value)); }
Array filled_with(const Shape& shape, int64_t value) {
  return lax::broadcast_in_dim(int_scalar(static_cast<int32_t>(value)), shape, {});
}
Array bool_scalar(bool value) { return Array(Literal::scalar(value)); }

// Returns (a, place of a, found, x, place of x, inside) -> the element that is kept, its place, and
// whether there is one.
FunctionRef kept_of(const Function& select, DType dtype) {
  const DType dtypes[] = {dtype, int32, bool_};
  FoldBody f;
  const std::vector<ValueId> a = f.inputs(dtypes), x = f.inputs(dtypes);
  const ValueId keeps = f.apply(select, {a[0]}, {x[0]})[0];
  const ValueId kept = f.either(f.both(keeps, a[2]), f.opposite(x[2]));
  return f.finish({f.choose(kept, a[0], x[0]), f.choose(kept, a[1], x[1]), f.either(a[2], x[2])});
}

FunctionRef sum_of(DType dtype) {
  FoldBody f;
  const ValueId a = f.input(dtype), x = f.input(dtype);
  Function add;
  const Type scalar{dtype, {}};
  const ValueId old = add.add_input(scalar), value = add.add_input(scalar);
  add.outputs = {add.add_op(add_op, add_op.params, {old, value}, {&scalar, 1})[0]};
  return f.finish(f.apply(add, {a}, {x}));
}

// The windows over arrays of one shape, with their padding.
class PaddedView {
 public:
  explicit PaddedView(const Windows& windows)
      : windows_(windows), interior_(windows.base_dilation) {
    for (int64_t& d : interior_) --d;
  }
  bool is_padded() const {
    const auto zero = [](int64_t n) { return n == 0; };
    const auto not_positive = [](int64_t n) { return n <= 0; };
    return !std::all_of(windows_.low.begin(), windows_.low.end(), not_positive) ||
           !std::all_of(windows_.high.begin(), windows_.high.end(), not_positive) ||
           !std::all_of(interior_.begin(), interior_.end(), zero);
  }
  // Returns the view of x, which is `fill` in the padding.
  Array of(const Array& x, const Array& fill) const {
    const auto zero = [](int64_t n) { return n == 0; };
    const bool whole = std::all_of(windows_.low.begin(), windows_.low.end(), zero) &&
                       std::all_of(windows_.high.begin(), windows_.high.end(), zero) &&
                       !is_padded();
    return lax::window_view(whole ? x : lax::pad(x, fill, windows_.low, windows_.high, interior_),
                            windows_.size, windows_.strides, windows_.window_dilation);
  }
  Array inside(const Shape& shape) const {
    return of(lax::broadcast_in_dim(bool_scalar(true), shape, {}), bool_scalar(false));
  }

 private:
  const Windows& windows_;
  Dims interior_;
};

class WindowSelection {
 public:
  WindowSelection(const SelectAndScatterParams& p, const Array& x)
      : p_(p), x_(x), windows_(p.windows()) {
    for (int64_t d = 0; d < x.ndim(); ++d) {
      reach_.push_back(ceil_div(p.size[d], p.strides[d]));
      rows_.push_back(ceil_div(x.shape()[d] + p.low[d], p.strides[d]));
    }
  }

  // Returns for each window the number of the place that it selects, in row-major order; -1 if it
  // has only padding.
  Array places() const {
    const PaddedView view(windows_);
    const Array zero(Literal(x_.dtype(), Shape{}));
    const Array elements = view.of(x_, zero), inside = view.inside(x_.shape());
    Array place;
    const Dims strides = row_major_strides(p_.size);
    for (int64_t d = 0; d < x_.ndim(); ++d)
      add(place, lax::mul(lax::iota(int32, elements.shape(), d),
                          filled_with(elements.shape(), strides[d])));
    const FunctionRef select = p_.select ? p_.select : select_body(p_.kind, x_.dtype());
    return ordered_fold({elements, place, inside}, {zero, int_scalar(-1), bool_scalar(false)},
                        kept_of(*select, x_.dtype()), iota_dims(x_.ndim()))[1];
  }

  // An element at position q * stride + r is in the windows q, q - 1, ..., which have it at the
  // places r, r + stride, ... Folds over these windows, of which the first one comes first.
  Array scattered(const Array& place, const Array& source, const Array& init) const {
    const Array none(Literal(source.dtype(), Shape{}));
    const Array here = lax::eq(windows_of(place, int_scalar(-1)), expected_place());
    const FunctionRef body = if_inside(p_.scatter ? *p_.scatter : *sum_of(source.dtype()));
    Array out = ordered_fold({windows_of(source, none), here}, {init, bool_scalar(false)}, body,
                             iota_dims(x_.ndim()))[0];
    Shape merged;
    Dims limit;
    for (int64_t d = 0; d < x_.ndim(); ++d) {
      merged.push_back(rows_[d] * p_.strides[d]);
      limit.push_back(p_.low[d] + x_.shape()[d]);
    }
    return lax::slice(lax::reshape(out, merged), p_.low, limit);
  }

 private:
  static void add(Array& sum, const Array& term) {
    sum = sum.defined() ? lax::add(sum, term) : term;
  }

  // Returns the shape (one for each window that reaches an element..., then for each dimension its
  // rows q and remainders r).
  Shape folded_shape() const {
    Shape shape = reach_;
    for (int64_t d = 0; d < x_.ndim(); ++d) {
      shape.push_back(rows_[d]);
      shape.push_back(p_.strides[d]);
    }
    return shape;
  }

  // Returns the values that windows q - reach + 1, ..., q have for each row q.
  Array windows_of(const Array& values, const Array& fill) const {
    Dims low, high, dims = iota_dims(x_.ndim());
    const Dims ones(x_.shape().size(), 1);
    for (int64_t d = 0; d < x_.ndim(); ++d) {
      low.push_back(reach_[d] - 1);
      high.push_back(rows_[d] - values.shape()[d]);
      dims.push_back(x_.ndim() + 2 * d);
    }
    return lax::broadcast_in_dim(
        lax::window_view(lax::pad(values, fill, low, high), reach_, ones, ones), folded_shape(),
        dims);
  }

  // Returns the place that an element has in each window that reaches it; -2 if it is after the
  // window's end.
  Array expected_place() const {
    const Shape shape = folded_shape();
    const Dims strides = row_major_strides(p_.size);
    Array sum, inside;
    for (int64_t d = 0; d < x_.ndim(); ++d) {
      const Array remainder = lax::iota(int32, shape, x_.ndim() + 2 * d + 1);
      const Array earlier = lax::sub(filled_with(shape, reach_[d] - 1), lax::iota(int32, shape, d));
      const Array at = lax::add(lax::mul(earlier, filled_with(shape, p_.strides[d])), remainder);
      add(sum, lax::mul(at, filled_with(shape, strides[d])));
      if (p_.size[d] % p_.strides[d] == 0) continue;
      const Array here = lax::lt(at, filled_with(shape, p_.size[d]));
      inside = inside.defined() ? lax::bitwise_and(inside, here) : here;
    }
    return inside.defined() ? lax::select(inside, sum, filled_with(shape, -2)) : sum;
  }

  const SelectAndScatterParams& p_;
  const Array& x_;
  Windows windows_;
  Dims reach_, rows_;  // windows that reach an element, and rows of elements, in each dimension
};

}  // namespace

std::vector<Array> folded_windows(const Function& body, const std::vector<Array>& x,
                                  const std::vector<Array>& inits, const Windows& windows) {
  const PaddedView view(windows);
  std::vector<Array> elements, starts = inits;
  for (size_t k = 0; k < x.size(); ++k)
    elements.push_back(view.of(x[k], Array(Literal(x[k].dtype(), Shape{}))));
  FunctionRef fold = std::make_shared<const Function>(body);
  if (view.is_padded()) {
    elements.push_back(view.inside(x[0].shape()));
    starts.push_back(bool_scalar(false));
    fold = if_inside(body);
  }
  std::vector<Array> out = ordered_fold(elements, starts, fold, iota_dims(x[0].ndim()));
  out.resize(x.size());
  return out;
}

Array selected_and_scattered(const SelectAndScatterParams& p, const Array& x, const Array& source,
                             const Array& init) {
  const WindowSelection selection(p, x);
  return selection.scattered(selection.places(), source, init);
}

}  // namespace tessera::ops
