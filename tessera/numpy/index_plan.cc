#include "tessera/numpy/index_plan.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/ir/format.h"
#include "tessera/numpy/promotion.h"

namespace tessera {

using namespace ir;

namespace {

// Returns the elements start, start + step, ... of a slice by Python's rules.
IndexPlan::Strided resolve(const Slice& s, int64_t extent) {
  if (s.step == 0) value_error("index", "expected a step other than 0 in a slice");
  const bool up = s.step > 0;
  auto bound = [&](std::optional<int64_t> b, int64_t otherwise) {
    if (!b) return otherwise;
    const int64_t from_start = *b < 0 ? *b + extent : *b;
    return up ? std::clamp<int64_t>(from_start, 0, extent)
              : std::clamp<int64_t>(from_start, -1, extent - 1);
  };
  const int64_t start = bound(s.start, up ? 0 : extent - 1), stop = bound(s.stop, up ? extent : -1);
  const int64_t span = up ? stop - start : start - stop, step = up ? s.step : -s.step;
  return {start, s.step, span <= 0 ? 0 : ceil_div(span, step)};
}

std::vector<IndexItem> without_ellipsis(const std::vector<IndexItem>& items, const Type& x) {
  int64_t used = 0, ellipses = 0;
  for (const IndexItem& item : items) {
    ellipses += std::holds_alternative<EllipsisType>(item);
    used += !std::holds_alternative<EllipsisType>(item) && !std::holds_alternative<NoneType>(item);
  }
  if (ellipses > 1) value_error("index", "expected at most one ellipsis, got {}", ellipses);
  if (used > x.rank())
    shape_error("index", "expected at most {} indices for {}, got {}", x.rank(), describe(x), used);
  std::vector<IndexItem> out;
  auto fill = [&] {
    for (int64_t d = used; d < x.rank(); ++d) out.emplace_back(std::in_place_type<Slice>);
  };
  for (const IndexItem& item : items) {
    if (std::holds_alternative<EllipsisType>(item)) {
      fill();
    } else {
      out.push_back(item);
    }
  }
  if (ellipses == 0) fill();
  return out;
}

// Returns the shapes of the index arrays.
std::vector<Shape> array_shapes(const std::vector<IndexItem>& items) {
  std::vector<Shape> shapes;
  for (const IndexItem& item : items) {
    const Array* array = std::get_if<Array>(&item);
    if (!array) continue;
    if (array->dtype() == bool_)
      type_error("index",
                 "expected integer indices, got {}: the result's shape would depend on values; use "
                 "where(), or nonzero() with a size",
                 describe(array->type()));
    if (!is_integer(array->dtype()))
      type_error("index", "expected integer indices, got {}; convert them",
                 describe(array->type()));
    shapes.push_back(array->shape());
  }
  return shapes;
}

class Planner {
 public:
  explicit Planner(const Type& x) : x_(x) {}

  IndexPlan run(const std::vector<IndexItem>& items) {
    const std::vector<Shape> shapes = array_shapes(items);
    plan_.basic = shapes.empty();
    plan_.common = broadcast_shapes("index", shapes);
    // The common dimensions of the index arrays come at the position of the first index array; if
    // slices or new axes are between index arrays, they come first.
    int runs = 0;
    for (size_t k = 0; k < items.size(); ++k)
      runs += is_advanced(items[k]) && (k == 0 || !is_advanced(items[k - 1]));
    if (runs > 1) place_common();
    for (const IndexItem& item : items) take(item);
    const Dims window_place = lay_out();
    put_in_order(window_place);
    return std::move(plan_);
  }

 private:
  // A dimension of the result in NumPy's order.
  struct ResultDim {
    enum class Kind : uint8_t { kStrided, kCommon, kWindow } kind;
    int64_t which = 0;  // which strided slice; unused for kCommon; which dimension of the operand
  };

  // Returns whether the item counts as an index array. Integers do if there are index arrays.
  bool is_advanced(const IndexItem& item) const {
    return std::holds_alternative<Array>(item) ||
           (!plan_.basic && std::holds_alternative<int64_t>(item));
  }
  void place_common() {
    if (!common_placed_) result_.push_back({ResultDim::Kind::kCommon});
    common_placed_ = true;
  }

  // Adds the next dimension of the operand, or a new axis.
  void take(const IndexItem& item) {
    if (std::holds_alternative<NoneType>(item)) {
      new_after_.push_back(result_.size());
      return;
    }
    if (is_advanced(item)) place_common();
    plan_.starts.push_back(0);
    plan_.limits.push_back(x_.shape[dim_]);
    plan_.strides.push_back(1);
    if (std::holds_alternative<Array>(item)) {
      take_one({.dim = dim_, .array = arrays_++});
    } else if (const auto* i = std::get_if<int64_t>(&item)) {
      take_integer(*i);
    } else {
      take_slice(std::get<Slice>(item));
    }
    ++dim_;
  }

  // Takes one element along the dimension, which the window then loses.
  void take_one(const IndexPlan::Component& component) {
    plan_.components.push_back(component);
    plan_.sizes.push_back(1);
    plan_.dims.collapsed_slice_dims.push_back(dim_);
  }

  void take_integer(int64_t i) {
    const int64_t extent = x_.shape[dim_];
    if (i < -extent || i >= extent)
      value_error("index", "expected an index in [{}, {}) along axis {} of {}, got {}", -extent,
                  extent, dim_, describe(x_), i);
    const int64_t at = i < 0 ? i + extent : i;
    take_one({.dim = dim_, .start = at});
    plan_.starts.back() = at;
    plan_.limits.back() = at + 1;
    plan_.dropped.push_back(dim_);
  }

  void take_slice(const Slice& slice) {
    const int64_t extent = x_.shape[dim_];
    const IndexPlan::Strided s = resolve(slice, extent);
    // A slice with a negative step is the ascending slice of the same elements, reversed.
    const int64_t low = s.step > 0 || s.size == 0 ? s.start : s.start + (s.size - 1) * s.step;
    plan_.starts.back() = s.size == 0 ? 0 : low;
    plan_.strides.back() = s.size == 0 ? 1 : std::abs(s.step);
    plan_.limits.back() = s.size == 0 ? 0 : low + (s.size - 1) * std::abs(s.step) + 1;
    if (s.step < 0) plan_.reversed.push_back(dim_);
    if (s.step == 1) {
      if (s.size != extent) plan_.components.push_back({.dim = dim_, .start = plan_.starts.back()});
      plan_.sizes.push_back(s.size);
      result_.push_back({ResultDim::Kind::kWindow, dim_});
    } else {
      take_one({.dim = dim_, .strided = static_cast<int>(plan_.strided.size())});
      result_.push_back({ResultDim::Kind::kStrided, static_cast<int64_t>(plan_.strided.size())});
      plan_.strided.push_back(s);
    }
  }

  // Computes the dimensions of gather's result. Returns for each dimension of the operand its
  // position there, or -1 if the window does not keep it.
  Dims lay_out() {
    for (const IndexPlan::Strided& s : plan_.strided) plan_.layout.push_back(s.size);
    plan_.layout.insert(plan_.layout.end(), plan_.common.begin(), plan_.common.end());
    const Dims& collapsed = plan_.dims.collapsed_slice_dims;
    Dims window_place(x_.shape.size(), -1);
    for (int64_t k = 0; k < x_.rank(); ++k) {
      if (std::find(collapsed.begin(), collapsed.end(), k) != collapsed.end()) continue;
      window_place[k] = plan_.layout.rank();
      plan_.dims.offset_dims.push_back(plan_.layout.rank());
      plan_.layout.push_back(plan_.sizes[k]);
    }
    for (const IndexPlan::Component& c : plan_.components)
      plan_.dims.start_index_map.push_back(c.dim);
    return window_place;
  }

  void put_in_order(const Dims& window_place) {
    size_t next_new = 0;
    auto add_new = [&](size_t before) {
      for (; next_new < new_after_.size() && new_after_[next_new] <= before; ++next_new)
        plan_.new_axes.push_back(plan_.order.rank() + plan_.new_axes.rank());
    };
    for (size_t k = 0; k < result_.size(); ++k) {
      add_new(k);
      switch (result_[k].kind) {
        case ResultDim::Kind::kStrided:
          plan_.order.push_back(result_[k].which);
          break;
        case ResultDim::Kind::kCommon:
          for (int64_t c = 0; c < plan_.common.rank(); ++c)
            plan_.order.push_back(static_cast<int64_t>(plan_.strided.size()) + c);
          break;
        case ResultDim::Kind::kWindow:
          plan_.order.push_back(window_place[result_[k].which]);
          break;
      }
    }
    add_new(result_.size());
    for (int64_t k : plan_.order) plan_.shape.push_back(plan_.layout[k]);
  }

  const Type& x_;
  IndexPlan plan_;
  std::vector<ResultDim> result_;
  std::vector<size_t> new_after_;  // number of dimensions of result_ before each new axis
  bool common_placed_ = false;
  int64_t dim_ = 0;  // the next dimension of the operand
  int arrays_ = 0;   // number of index arrays so far
};

}  // namespace

IndexPlan make_index_plan(const Type& x, const std::vector<IndexItem>& items) {
  return Planner(x).run(without_ellipsis(items, x));
}

}  // namespace tessera
