#include "tessera/numpy/searching.h"

#include <bit>
#include <cmath>
#include <limits>

#include "tessera/compile/composite.h"
#include "tessera/compile/control_flow.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/promotion.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/indexing/scatter.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/reductions/reduce_window.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/ops/structural/sort.h"

namespace tessera {

using namespace ops;

namespace {

using namespace ops::array_math;

// Dimensions of a gather of elements of a vector, by integer positions.
const IndexDims kElements{.offset_dims = {}, .collapsed_slice_dims = {0}, .start_index_map = {0}};

Array gather_elements(const Array& vector, const Array& places) {
  return lax::gather(vector, lax::expand_dims(places, {places.ndim()}), kElements, {1},
                     IndexMode::kClip);
}
Array added_at(const Array& vector, const Array& places, const Array& values) {
  return lax::scatter(vector, lax::expand_dims(places, {places.ndim()}), values, kElements,
                      ScatterKind::kAdd);
}

void expect_vector(const char* name, const Array& x) {
  if (x.ndim() != 1) shape_error(name, "expected a vector, got {}", describe(x.type()));
}

// Returns whether a < b in the order of sort: NaN is the largest number, and equal to NaN.
Array before(const Array& a, const Array& b) {
  const Array smaller = less(a, b);
  if (!is_inexact(a.dtype())) return smaller;
  return lax::bitwise_or(smaller, lax::bitwise_and(isnan(b), lax::bitwise_not(isnan(a))));
}

// Returns whether an element comes before the position of a value.
Array precedes(const Array& element, const Array& value, Side side) {
  return side == Side::kLeft ? before(element, value) : lax::bitwise_not(before(value, element));
}

Array by_halving(const Array& sorted, const Array& values, Side side, bool unrolled) {
  const int64_t n = sorted.size();
  const int steps = static_cast<int>(std::bit_width(static_cast<uint64_t>(n)));
  const Array first = lax::full(values.shape(), 0, int32),
              last = lax::full(values.shape(), static_cast<double>(n), int32);
  using Range = std::pair<Array, Array>;  // the position is in [first, second]
  const auto step = [&](const Range& range) {
    const auto& [low, high] = range;
    const Array middle = low + (high - low) / 2;
    const Array right = precedes(gather_elements(sorted, middle), values, side);
    // A range of one position stays as it is. Its middle is that position, which may be behind the
    // last element.
    return Range(lax::select(right, middle + 1, low), lax::select(right, high, middle));
  };
  const auto halved = [&](const Range& range) {
    const Array open = range.first < range.second;
    const Range next = step(range);
    return Range(lax::select(open, next.first, range.first),
                 lax::select(open, next.second, range.second));
  };
  Range range(first, last);
  if (unrolled) {
    for (int i = 0; i < steps; ++i) range = halved(range);
    return range.first;
  }
  return fori_loop(
             0, steps, [&](const Array&, const Range& r) { return halved(r); }, range)
      .first;
}

Array by_comparing(const Array& sorted, const Array& values, Side side) {
  Shape grid = values.shape();
  grid.push_back(sorted.size());
  const Array s = lax::broadcast_in_dim(sorted, grid, {values.ndim()}),
              v = lax::broadcast_in_dim(values, grid, iota_dims(values.ndim()));
  return lax::reduce_sum(lax::convert_element_type(precedes(s, v, side), int32), {values.ndim()});
}

// Returns the position of each element of a vector after sorting.
Array rank_of(const Array& x) {
  const Array i = lax::iota(int32, x.shape());
  const std::vector<Array> operands{x, i};
  return added_at(lax::full(x.shape(), 0, int32), lax::sort(operands, 0)[1], i);
}

Array by_sorting(const Array& sorted, const Array& values, Side side) {
  const int64_t n = sorted.size(), m = values.size();
  const Array flat = lax::reshape(values, {m});
  const bool left = side == Side::kLeft;  // the sort is stable: values come before equal elements
  const std::vector<Array> both =
      left ? std::vector<Array>{flat, sorted} : std::vector<Array>{sorted, flat};
  const Array rank = rank_of(lax::concatenate(both, 0));
  const Array of_values = lax::slice_in_dim(rank, left ? 0 : n, left ? m : n + m);
  return lax::reshape(of_values - rank_of(flat), values.shape());
}

Array place_of(const Array& sorted, const Array& values, Side side, SearchMethod method) {
  if (sorted.size() == 0) return lax::full(values.shape(), 0, int32);
  switch (method) {
    case SearchMethod::kScan:
      return by_halving(sorted, values, side, false);
    case SearchMethod::kScanUnrolled:
      return by_halving(sorted, values, side, true);
    case SearchMethod::kSort:
      return by_sorting(sorted, values, side);
    case SearchMethod::kCompareAll:
      return by_comparing(sorted, values, side);
  }
  __builtin_unreachable();
}

// Returns the positions of the first `size` true elements of a vector, followed by `fill` if there
// are fewer.
Array true_places(const Array& is, int64_t size, double fill, DType dtype) {
  const Array one = lax::convert_element_type(is, int32);
  // The position of the k-th true element is scattered to k, those of false elements outside.
  const Array place =
      lax::select(is, lax::cumsum(one) - 1, lax::full_like(one, static_cast<double>(size)));
  return lax::scatter(lax::full({size}, fill, dtype), lax::expand_dims(place, {1}),
                      lax::iota(dtype, is.shape()), kElements, ScatterKind::kSet);
}

}  // namespace

Array searchsorted(const Array& sorted, const Array& values, const SearchsortedOptions& o) {
  const char* name = "searchsorted";
  expect_vector(name, sorted);
  if (sorted.size() > std::numeric_limits<int32_t>::max())
    shape_error(name, "expected at most 2^31 - 1 elements, got {}", describe(sorted.type()));
  std::vector<Array> args{sorted, values};
  if (o.sorter.defined()) {
    if (!is_integer(o.sorter.dtype()) || o.sorter.shape() != sorted.shape())
      type_error(name, "expected an integer sorter of the shape of {}, got {}",
                 describe(sorted.type()), describe(o.sorter.type()));
    args.push_back(o.sorter);
  }
  struct SearchParams {
    Side side;
    SearchMethod method;
  };
  return composite(name, SearchParams{o.side, o.method}, args,
                   [](const SearchParams& p, std::span<const Array> a) {
                     const std::vector<Array> same = promote_dtypes(a.first(2));
                     const Array s =
                         a.size() > 2 ? gather_elements(same[0], as_dtype(a[2], int32)) : same[0];
                     return place_of(s, same[1], p.side, p.method);
                   });
}

Array digitize(const Array& x, const Array& bins, bool right) {
  expect_vector("digitize", bins);
  struct DigitizeParams {
    bool right;
  };
  return composite("digitize", DigitizeParams{right}, {x, bins},
                   [](const DigitizeParams& p, std::span<const Array> a) -> Array {
                     const std::vector<Array> same = promote_dtypes(a);
                     const Array &values = same[0], &edges = same[1];
                     const int64_t n = edges.size();
                     if (n == 0) return lax::full(values.shape(), 0, int32);
                     const Side side = p.right ? Side::kLeft : Side::kRight;
                     const Array up = place_of(edges, values, side, SearchMethod::kScan);
                     const Array down =
                         place_of(lax::rev(edges, {0}), values, side, SearchMethod::kScan);
                     const auto edge = [&](int64_t i) {
                       return lax::reshape(lax::slice_in_dim(edges, i, i + 1), {});
                     };
                     return lax::select(greater_equal(edge(n - 1), edge(0)), up, n - down);
                   });
}

Array bincount(const Array& x, int64_t length, const Array& weights) {
  expect_vector("bincount", x);
  if (!is_integer(x.dtype()) && x.dtype() != bool_)
    type_error("bincount", "expected integers, got {}; convert them", describe(x.type()));
  if (length < 0) value_error("bincount", "expected a length >= 0, got {}", length);
  if (weights.defined() && weights.shape() != x.shape())
    shape_error("bincount", "expected one weight an element, got {} for {}",
                describe(weights.type()), describe(x.type()));
  std::vector<Array> args{x};
  if (weights.defined()) args.push_back(weights);
  struct BincountParams {
    int64_t length;
    DType dtype;
  };
  const BincountParams params{length, default_int()};
  return composite("bincount", params, args, [](const BincountParams& p, std::span<const Array> a) {
    const Array i = a[0].dtype() == bool_ ? as_dtype(a[0], int32) : as_dtype(a[0], a[0].dtype());
    const Array add =
        a.size() > 1 ? as_dtype(a[1], a[1].dtype()) : lax::full(i.shape(), 1, p.dtype);
    return added_at(lax::full({p.length}, 0, add.dtype()), lax::max(i, lax::full_like(i, 0)), add);
  });
}

namespace {

// Returns the edges of bins of equal width between low and high. If both are equal, they are moved
// apart by 0.5 each.
Array equal_edges(Array low, Array high, int64_t bins) {
  const Array same = lax::eq(low, high);
  low = lax::select(same, low - 0.5, low);
  high = lax::select(same, high + 0.5, high);
  return linspace(low, high, bins + 1);
}

}  // namespace

std::pair<Array, Array> histogram(const Array& x, const HistogramOptions& o) {
  const char* name = "histogram";
  const Array* edges = std::get_if<Array>(&o.bins);
  const int64_t bins = edges ? edges->size() - 1 : std::get<int64_t>(o.bins);
  if (edges) expect_vector(name, *edges);
  if (bins < 1) value_error(name, "expected at least one bin, got {}", bins);
  if (o.weights.defined() && o.weights.shape() != x.shape())
    shape_error(name, "expected one weight an element, got {} for {}", describe(o.weights.type()),
                describe(x.type()));
  if (is_complex(x.dtype())) type_error(name, "expected real numbers, got {}", describe(x.type()));
  std::vector<Array> args{x};
  if (o.weights.defined()) args.push_back(o.weights);
  if (edges) args.push_back(*edges);
  struct HistogramParams {
    int64_t bins;
    bool edges, weights, ranged, density;
    double low, high;
  };
  // Without elements the range is [0, 1], as in NumPy.
  const auto [first, last] = o.range.value_or(std::pair(0.0, 1.0));
  const HistogramParams params{bins,
                               edges != nullptr,
                               o.weights.defined(),
                               o.range.has_value() || x.size() == 0,
                               o.density,
                               first,
                               last};
  std::vector<Array> out =
      composite(name, params, args, [](const HistogramParams& p, std::span<const Array> a) {
        const int64_t bins = p.bins;
        const std::vector<Array> promoted =
            promote_dtypes(a.first(p.weights ? 2 : 1), Promotion::kInexact);
        const Array flat = lax::reshape(promoted[0], {promoted[0].size()});
        const DType dtype = flat.dtype();
        const Array weights = p.weights ? lax::reshape(promoted[1], {flat.size()})
                                        : lax::full(flat.shape(), 1, dtype);
        const Array borders =
            p.edges ? as_dtype(a.back(), dtype)
            : p.ranged
                ? equal_edges(lax::full({}, p.low, dtype), lax::full({}, p.high, dtype), bins)
                : equal_edges(lax::reduce_min(flat, {0}), lax::reduce_max(flat, {0}), bins);
        // Bin 0 is below the first border, bin bins + 1 beyond the last one.
        Array place = place_of(borders, flat, Side::kRight, SearchMethod::kScan);
        const Array end = lax::reshape(lax::slice_in_dim(borders, bins, bins + 1), {});
        const Array at_end = flat == lax::broadcast_in_dim(end, flat.shape(), {});
        place = lax::select(at_end, lax::full_like(place, static_cast<double>(bins)), place);
        Array counts = lax::slice_in_dim(added_at(lax::full({bins + 1}, 0, dtype), place, weights),
                                         1, bins + 1);
        if (p.density) {
          const Array widths =
              lax::slice_in_dim(borders, 1, bins + 1) - lax::slice_in_dim(borders, 0, bins);
          const Array total = lax::reduce_sum(counts, {0});
          counts = counts / widths / lax::broadcast_in_dim(total, counts.shape(), {});
        }
        return std::vector<Array>{counts, borders};
      });
  return {out[0], out[1]};
}

std::vector<Array> nonzero(const Array& x, int64_t size, int64_t fill) {
  if (size < 0) value_error("nonzero", "expected a size >= 0, got {}", size);
  struct NonzeroParams {
    int64_t size, fill;
    DType dtype;
  };
  const NonzeroParams params{size, fill, default_int()};
  return composite("nonzero", params, {x}, [](const NonzeroParams& p, std::span<const Array> a) {
    const Shape shape = a[0].ndim() == 0 ? Shape{1} : a[0].shape();
    const Array flat = lax::reshape(a[0], {a[0].size()});
    const Array from = true_places(lax::ne(flat, lax::full_like(flat, 0)), p.size, -1, p.dtype);
    const Array none = from < 0;
    std::vector<Array> out;
    const Dims strides = row_major_strides(shape);
    for (size_t d = 0; d < shape.size(); ++d) {
      const double extent = static_cast<double>(std::max<int64_t>(1, shape[d])),
                   stride = static_cast<double>(std::max<int64_t>(1, strides[d]));
      const Array i = lax::rem(from / stride, lax::full_like(from, extent));
      out.push_back(lax::select(none, lax::full_like(from, static_cast<double>(p.fill)), i));
    }
    return out;
  });
}

namespace {

// Slices along an axis as rows [n, m] of a matrix, in ascending order.
struct SortedRows {
  Array rows, order;  // order[k]: index of row k before sorting
  Array first;        // whether a row differs from the one before
};
SortedRows sorted_rows(const Array& matrix, bool equal_nan, DType index) {
  const int64_t n = matrix.shape()[0], m = matrix.shape()[1];
  std::vector<Array> operands;
  for (int64_t k = 0; k < m; ++k)
    operands.push_back(lax::reshape(lax::slice_in_dim(matrix, k, k + 1, 1, 1), {n}));
  operands.push_back(lax::iota(index, {n}));
  std::vector<Array> sorted = lax::sort(operands, 0, std::max<int64_t>(1, m));
  SortedRows out{.order = sorted.back()};
  Array differs = lax::full({n - 1}, 0, bool_);
  for (size_t k = 0; k < static_cast<size_t>(m); ++k) {
    const Array a = lax::slice_in_dim(sorted[k], 0, n - 1), b = lax::slice_in_dim(sorted[k], 1, n);
    Array here = lax::ne(a, b);
    if (equal_nan && is_inexact(a.dtype()))
      here = lax::bitwise_and(here, lax::bitwise_not(lax::bitwise_and(isnan(a), isnan(b))));
    differs = lax::bitwise_or(differs, here);
    sorted[k] = lax::reshape(sorted[k], {n, 1});
  }
  sorted.pop_back();
  out.rows = m == 0 ? matrix : lax::concatenate(sorted, 1);
  out.first = lax::concatenate(std::vector<Array>{lax::full({1}, 1, bool_), differs}, 0);
  return out;
}

// Returns the parts for an array, or an axis, without elements: the fill value, each with index 0
// and no occurrence.
std::vector<Array> unique_parts_of_nothing(const char* name, const Array& x, int64_t size,
                                           const UniqueOptions& o) {
  if (size > 0 && !o.fill_value)
    shape_error(name, "expected at least one element, or a fill_value, got {}", describe(x.type()));
  Shape shape = o.axis ? x.shape() : Shape{size};
  if (o.axis) shape[normalize_axis(name, *o.axis, x.ndim())] = size;
  const Array value = o.fill_value.value_or(Array(0));
  const Array none = lax::full({size}, 0, default_int());
  const Array inverse = lax::full(o.axis ? Shape{0} : x.shape(), 0, default_int());
  return {broadcast_array(name, as_dtype(value, x.dtype()), shape), none, inverse, none};
}

std::vector<Array> unique_parts(const char* name, const Array& x, int64_t size,
                                const UniqueOptions& o, bool values_alone) {
  if (size < 0) value_error(name, "expected a size >= 0, got {}", size);
  const int64_t axis = o.axis ? normalize_axis(name, *o.axis, x.ndim()) : 0;
  if ((o.axis ? x.shape()[axis] : x.size()) == 0) return unique_parts_of_nothing(name, x, size, o);
  std::vector<Array> args{x};
  if (o.fill_value) args.push_back(*o.fill_value);
  struct UniqueParams {
    std::string name;
    int64_t size, axis;
    bool flat, equal_nan, values_alone, fill;
    DType index;
  };
  const UniqueParams params{
      name,         size, axis, !o.axis, o.equal_nan, values_alone, o.fill_value.has_value(),
      default_int()};
  return composite(name, params, args, [](const UniqueParams& p, std::span<const Array> a) {
    const DType dtype = a[0].dtype();
    const Array front =
        p.flat ? lax::reshape(a[0], {a[0].size()}) : lax::move_to_front(a[0], p.axis);
    const int64_t n = front.shape()[0], m = front.size() / n;
    const SortedRows sorted =
        sorted_rows(lax::reshape(as_dtype(front, dtype), {n, m}), p.equal_nan, p.index);
    const Array places = true_places(sorted.first, p.size, 0, p.index);
    const IndexDims rows{.offset_dims = {1}, .collapsed_slice_dims = {0}, .start_index_map = {0}};
    Array values = lax::gather(sorted.rows, lax::expand_dims(places, {1}), rows, {1, m},
                               IndexMode::kPromiseInBounds);
    if (a.size() > 1) {
      const Array found = lax::reduce_sum(lax::convert_element_type(sorted.first, int32), {0});
      const Array there =
          lax::iota(int32, values.shape(), 0) < lax::broadcast_in_dim(found, values.shape(), {});
      values = lax::select(there, values,
                           broadcast_array(p.name, as_dtype(a[1], dtype), values.shape()));
    }
    Shape shape = front.shape();
    shape[0] = p.size;
    std::vector<Array> out{lax::move_dim(lax::reshape(values, shape), 0, p.axis)};
    if (p.values_alone) return out;
    out.push_back(gather_elements(sorted.order, places));
    const Array number = lax::cumsum(lax::convert_element_type(sorted.first, p.index)) - 1;
    const Array inverse = added_at(lax::full({n}, 0, p.index), sorted.order, number);
    out.push_back(p.flat ? lax::reshape(inverse, a[0].shape()) : inverse);
    const Array bounds = true_places(sorted.first, p.size + 1, static_cast<double>(n), p.index);
    out.push_back(lax::slice_in_dim(bounds, 1, p.size + 1) - lax::slice_in_dim(bounds, 0, p.size));
    return out;
  });
}

}  // namespace

Array unique(const Array& x, int64_t size, const UniqueOptions& options) {
  return unique_parts("unique", x, size, options, true)[0];
}

UniqueAll unique_all(const Array& x, int64_t size, const UniqueOptions& options) {
  const std::vector<Array> parts = unique_parts("unique_all", x, size, options, false);
  return {parts[0], parts[1], parts[2], parts[3]};
}

}  // namespace tessera
