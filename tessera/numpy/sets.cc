#include "tessera/numpy/sets.h"

#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/lax.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/sorting.h"

namespace tessera {

namespace {

void expect_size(const char* name, int64_t size) {
  if (size < 0) value_error(name, "expected a size >= 0, got {}", size);
}

struct IsinParams {
  bool invert;
  IsinMethod method;
};

Array isin_body(const IsinParams& p, std::span<const Array> a) {
  const std::vector<Array> same = promote_dtypes(a);
  const Array &x = same[0], tests = ravel(same[1]);
  Array found;
  if (tests.size() == 0) {
    found = zeros(x.shape(), bool_);
  } else if (p.method == IsinMethod::kBinarySearch || p.method == IsinMethod::kSort) {
    const Array sorted = sort(tests);
    const SearchMethod method =
        p.method == IsinMethod::kSort ? SearchMethod::kSort : SearchMethod::kScan;
    const Array place = searchsorted(sorted, x, {.method = method});
    found = equal(take(sorted, minimum(place, tests.size() - 1)), x);
  } else {
    found = any(equal(expand_dims(x, -1), tests), {.axis = -1});
  }
  return p.invert ? logical_not(found) : found;
}

// Two vectors merged into one in ascending order. Duplicates within one operand are behind all
// others.
struct SortedPair {
  Array values;
  Array second;          // whether an element is from the second operand
  Array index;           // its position in its operand
  Array used;            // whether it is no duplicate
  Array next, previous;  // whether that neighbour is equal and from the other operand
};

Array is_not_a_number(const Array& x) {
  return is_inexact(x.dtype()) ? isnan(x) : zeros(x.shape(), bool_);
}

// Return x moved by one position: moved_on towards higher ones, with `first` as the first element;
// moved_back towards lower ones, with false as the last.
Array moved_on(const Array& x, bool first) {
  return concatenate({full({1}, first, bool_), slice_in_dim(x, 0, x.size() - 1)});
}
Array moved_back(const Array& x) {
  return concatenate({slice_in_dim(x, 1, x.size()), zeros({1}, bool_)});
}
// Returns for each element whether f holds for it and the element before it. The first element gets
// false.
template <class F>
Array with_previous(const Array& x, const F& f) {
  const int64_t n = x.size();
  return concatenate({zeros({1}, bool_), f(slice_in_dim(x, 0, n - 1), slice_in_dim(x, 1, n))});
}

SortedPair sorted_pair(const Array& ar1, const Array& ar2, bool assume_unique) {
  const int64_t n = ar1.size() + ar2.size();
  const Array values = concatenate({ar1, ar2});
  const Array place = lax::iota(int32, {n});
  const Array second = greater_equal(place, ar1.size());
  const Array index = where(second, place - ar1.size(), place);
  std::vector<Array> by_value =
      lax::sort(std::vector<Array>{values, second, index}, 0, assume_unique ? 2 : 3);
  Array used = ones({n}, bool_);
  if (!assume_unique) {
    const Array same_value = with_previous(by_value[0], [](const Array& a, const Array& b) {
      return equal(a, b) | (is_not_a_number(a) & is_not_a_number(b));
    });
    const Array same_operand =
        with_previous(by_value[1], [](const Array& a, const Array& b) { return equal(a, b); });
    const Array duplicate = same_value & same_operand;
    const std::vector<Array> by_use =
        lax::sort(std::vector<Array>{duplicate, by_value[0], by_value[1], by_value[2]}, 0, 1);
    used = logical_not(by_use[0]);
    by_value = {by_use[1], by_use[2], by_use[3]};
  }
  const Array same =
      with_previous(by_value[0], [](const Array& a, const Array& b) { return equal(a, b); });
  const Array previous = same & used & moved_on(used, false);
  return {by_value[0], by_value[1], by_value[2], used, moved_back(previous), previous};
}

// Returns the first `size` elements for which `holds` is true. If there are fewer, `fill` follows;
// without one, the first of them, or 0 if there are none.
Array chosen(const Array& values, const Array& holds, int64_t size,
             const std::optional<Array>& fill) {
  if (size == 0) return zeros({0}, values.dtype());
  const Array there = arange(size) < sum(holds);
  const Array found = take(values, nonzero(holds, size)[0]);
  const Array rest =
      fill ? as_dtype(*fill, values.dtype())
           : where(any(holds), index_in_dim(found, 0, 0, false), zeros(Shape{}, values.dtype()));
  return where(there, found, rest);
}

enum class SetKind : uint8_t { kIntersection, kExclusive, kDifference };
struct SetParams {
  SetKind kind;
  int64_t size;
  bool assume_unique, fill, indices;
};

std::vector<Array> set_body(const SetParams& p, std::span<const Array> a) {
  const std::vector<Array> same = promote_dtypes(a.first(2));
  const Array ar1 = as_dtype(ravel(same[0]), same[0].dtype()),
              ar2 = as_dtype(ravel(same[1]), same[1].dtype());
  const std::optional<Array> fill = p.fill ? std::optional<Array>(a[2]) : std::nullopt;
  if (ar1.size() + ar2.size() == 0) {
    const Array values = full({p.size}, fill.value_or(0), ar1.dtype());
    const Array places = zeros({p.size}, default_int());
    return {values, places, places};
  }
  const SortedPair s = sorted_pair(ar1, ar2, p.assume_unique);
  switch (p.kind) {
    case SetKind::kIntersection: {
      std::vector<Array> out{chosen(s.values, s.next, p.size, fill)};
      if (p.indices) {
        const Array index = astype(s.index, default_int());
        out.push_back(chosen(index, s.next, p.size, Array(ar1.size())));
        out.push_back(chosen(roll(index, -1), s.next, p.size, Array(ar2.size())));
      }
      return out;
    }
    case SetKind::kExclusive:
      return {chosen(s.values, s.used & ~s.next & ~s.previous, p.size, fill)};
    case SetKind::kDifference:
      if (p.assume_unique) return {chosen(ar1, isin(ar1, ar2, {.invert = true}), p.size, fill)};
      return {chosen(s.values, s.used & ~s.second & ~s.next, p.size, fill)};
  }
  __builtin_unreachable();
}

std::vector<Array> set_operation(const char* name, SetKind kind, const Array& ar1, const Array& ar2,
                                 int64_t size, const SetOptions& o, bool indices = false) {
  expect_size(name, size);
  std::vector<Array> args{ar1, ar2};
  if (o.fill_value) args.push_back(*o.fill_value);
  const SetParams params{kind, size, o.assume_unique, o.fill_value.has_value(), indices};
  return composite(name, params, args, set_body);
}

}  // namespace

Array isin(const Array& element, const Array& test_elements, const IsinOptions& o) {
  return composite("isin", IsinParams{o.invert, o.method}, {element, test_elements}, isin_body);
}

Array union1d(const Array& ar1, const Array& ar2, int64_t size,
              const std::optional<Array>& fill_value) {
  expect_size("union1d", size);
  return unique(concatenate({ravel(ar1), ravel(ar2)}), size, {.fill_value = fill_value});
}
Array intersect1d(const Array& ar1, const Array& ar2, int64_t size, const SetOptions& o) {
  return set_operation("intersect1d", SetKind::kIntersection, ar1, ar2, size, o)[0];
}
Array setxor1d(const Array& ar1, const Array& ar2, int64_t size, const SetOptions& o) {
  return set_operation("setxor1d", SetKind::kExclusive, ar1, ar2, size, o)[0];
}
Array setdiff1d(const Array& ar1, const Array& ar2, int64_t size, const SetOptions& o) {
  SetOptions filled = o;
  if (!filled.fill_value) filled.fill_value = Array(0);
  // The elements are ar1's, so they have its dtype, whatever they were compared in.
  return as_dtype(set_operation("setdiff1d", SetKind::kDifference, ar1, ar2, size, filled)[0],
                  ar1.dtype());
}
Intersect1d intersect1d_indices(const Array& ar1, const Array& ar2, int64_t size,
                                const SetOptions& o) {
  const std::vector<Array> out =
      set_operation("intersect1d", SetKind::kIntersection, ar1, ar2, size, o, true);
  return {out[0], out[1], out[2]};
}

namespace {

UniqueAll apart(const Array& x, int64_t size, const std::optional<Array>& fill_value) {
  return unique_all(x, size, {.fill_value = fill_value, .equal_nan = false});
}

}  // namespace

Array unique_values(const Array& x, int64_t size, const std::optional<Array>& fill_value) {
  return unique(x, size, {.fill_value = fill_value, .equal_nan = false});
}
UniqueCounts unique_counts(const Array& x, int64_t size, const std::optional<Array>& fill_value) {
  const UniqueAll all = apart(x, size, fill_value);
  return {all.values, all.counts};
}
UniqueInverse unique_inverse(const Array& x, int64_t size, const std::optional<Array>& fill_value) {
  const UniqueAll all = apart(x, size, fill_value);
  return {all.values, all.inverse_indices};
}

Array argwhere(const Array& x, int64_t size, int64_t fill_value) {
  expect_size("argwhere", size);
  if (x.ndim() == 0) return zeros({size, 0}, default_int());
  return stack(nonzero(x, size, fill_value), 1);
}
Array flatnonzero(const Array& x, int64_t size, int64_t fill_value) {
  return nonzero(ravel(x), size, fill_value)[0];
}

Array compress(const Array& condition, const Array& x, int64_t size, const CompressOptions& o) {
  const char* name = "compress";
  if (condition.ndim() != 1)
    shape_error(name, "expected a vector as the condition, got {}", describe(condition.type()));
  const int64_t axis = o.axis ? normalize_axis(name, *o.axis, x.ndim()) : 0;
  const Array from = o.axis ? x : ravel(x);
  if (size < 0 || size > from.shape()[axis])
    value_error(name, "expected a size between 0 and the extent {} along the axis, got {}",
                from.shape()[axis], size);
  struct CompressParams {
    int64_t size, axis;
  };
  return composite(name, CompressParams{size, axis}, {condition, from, o.fill_value},
                   [](const CompressParams& p, std::span<const Array> a) {
                     const Array x = moveaxis(a[1], p.axis, 0);
                     const int64_t n = std::min(a[0].size(), x.shape()[0]);
                     const Array holds = not_equal(slice_in_dim(a[0], 0, n), 0);
                     Shape along(static_cast<size_t>(x.ndim()), 1);
                     along[0] = p.size;
                     const Array there = reshape(arange(p.size) < sum(holds), along);
                     const Array found = n == 0 ? slice_in_dim(x, 0, p.size)
                                                : take(x, nonzero(holds, p.size)[0], {.axis = 0});
                     const Array out = where(there, found, as_dtype(a[2], x.dtype()));
                     return moveaxis(out, 0, p.axis);
                   });
}
Array extract(const Array& condition, const Array& x, int64_t size, const Array& fill_value) {
  return compress(ravel(condition), ravel(x), size, {.fill_value = fill_value});
}

}  // namespace tessera
