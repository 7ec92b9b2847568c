// Indexing as NumPy's x[...]: integers, slices, new axes, an ellipsis, and arrays of integers.
//
//   index(x, {tokens});                        // x[tokens]: rows
//   index(x, {Slice(1, 5), None, -1});         // x[1:5, None, -1]
//   at(x)[{rows, columns}].add(1);             // x.at[rows, columns].add(1): a new array
//   take(x, i, {.axis = 1});
//   take_along_axis(x, i, 1);
//
// Negative indices count from the end. What an array of indices finds outside: index() and get()
// take the nearest element, to which no gradient comes back; take() and take_along_axis() give NaN
// (the smallest integer); updates are dropped. IndexMode chooses: with kClip, and by traced numbers
// alone, as by any slice, the gradient is the nearest element's. An integer outside is a UserError.
//
// at(x)[mask], a bool array of x's shape or of its first dimensions, takes updates too: of one
// value for all that it holds for (they are where()s). What it would get has no shape: UserError.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"
#include "tessera/ops/indexing/gather.h"

namespace tessera {

// start:stop:step; where a bound is None it is the array's.
struct Slice {
  std::optional<int64_t> start, stop;
  int64_t step = 1;
  Slice() = default;
  Slice(OrNone<int64_t> begin, OrNone<int64_t> end, OrNone<int64_t> stride = 1)
      : start(begin), stop(end), step(stride.value_or(1)) {}
};
struct EllipsisType {};
inline constexpr EllipsisType Ellipsis{};

using IndexItem = std::variant<int64_t, Slice, NoneType, EllipsisType, Array>;
class IndexList {
 public:
  IndexList() = default;
  IndexList(std::initializer_list<IndexList> items);
  template <std::integral I>
  requires(!std::same_as<I, bool>) IndexList(I i)
      : IndexList(of_integer(static_cast<int64_t>(i))) {}
  IndexList(Slice s);
  IndexList(NoneType n);
  IndexList(EllipsisType e);
  IndexList(const Array& x);
  IndexList(const IndexList&);
  IndexList(IndexList&&) noexcept;
  IndexList& operator=(const IndexList&);
  IndexList& operator=(IndexList&&) noexcept;
  ~IndexList();
  const std::vector<IndexItem>& items() const { return items_; }

 private:
  static IndexList of_integer(int64_t i);
  std::vector<IndexItem> items_;
};

struct GetOptions {
  IndexMode mode = IndexMode::kPromiseInBounds;
  std::optional<double> fill_value = std::nullopt;  // of kFill
};
struct UpdateOptions {
  IndexMode mode = IndexMode::kFill;  // drops
  bool indices_are_sorted = false;
  bool unique_indices = false;  // no element is named twice
};

// x[items].
Array index(const Array& x, const IndexList& items, const GetOptions& options = {});

// Places of an array; each function gives a new array. Values are converted to its dtype and
// broadcast. Updates of one element are made in the order of the indices; of several set() the last
// stays.
class IndexedArray {
 public:
  IndexedArray(Array x, IndexList items) : x_(std::move(x)), items_(std::move(items)) {}
  Array get(const GetOptions& options = {}) const { return index(x_, items_, options); }
  Array set(const Array& value, const UpdateOptions& options = {}) const;
  Array add(const Array& value, const UpdateOptions& options = {}) const;
  Array subtract(const Array& value, const UpdateOptions& options = {}) const;
  Array multiply(const Array& value, const UpdateOptions& options = {}) const;
  Array mul(const Array& value, const UpdateOptions& options = {}) const {
    return multiply(value, options);
  }
  Array divide(const Array& value, const UpdateOptions& options = {}) const;
  Array power(const Array& value, const UpdateOptions& options = {}) const;
  Array min(const Array& value, const UpdateOptions& options = {}) const;
  Array max(const Array& value, const UpdateOptions& options = {}) const;

 private:
  Array x_;
  IndexList items_;
};
class ArrayPlaces {
 public:
  explicit ArrayPlaces(Array x) : x_(std::move(x)) {}
  IndexedArray operator[](const IndexList& items) const { return {x_, items}; }

 private:
  Array x_;
};
inline ArrayPlaces at(const Array& x) { return ArrayPlaces(x); }

struct TakeOptions {
  OrNone<int64_t> axis = std::nullopt;  // None: of the flattened array
  IndexMode mode = IndexMode::kFill;
  std::optional<double> fill_value = std::nullopt;
};
// The indices' shape in place of the axis. Negative indices count from the end, but for kClip,
// which makes 0 of them, and kWrap, which counts modulo the extent.
Array take(const Array& x, const Array& indices, const TakeOptions& options = {});
// Element by element along one axis (None: of the flattened array, by a vector); the other
// dimensions of x and indices broadcast.
Array take_along_axis(const Array& x, const Array& indices, int64_t axis,
                      const GetOptions& options = {.mode = IndexMode::kFill});
Array take_along_axis(const Array& x, const Array& indices, NoneType,
                      const GetOptions& options = {.mode = IndexMode::kFill});

}  // namespace tessera
