// Indexing as NumPy's x[...]: integers, slices, new axes, an ellipsis, and arrays of integers.
//
//   index(x, {tokens});                        // x[tokens]: rows
//   index(x, {Slice(1, 5), None, -1});         // x[1:5, None, -1]
//   at(x)[{rows, columns}].add(1);             // x.at[rows, columns].add(1): a new array
//   take(x, i, {.axis = 1});
//   take_along_axis(x, i, 1);
//
// Negative indices count from the end. If an array of indices has one outside of x, index() and
// get() take the nearest element, to which no gradient flows back; take() and take_along_axis()
// return NaN (for integers the smallest one); updates are dropped. IndexMode chooses otherwise.
// With kClip, and if all indices are scalars or slices, the gradient flows to the nearest element.
// A C++ integer outside of x throws UserError.
//
// at(x)[mask] takes a bool array with x's shape or its first dimensions, for updates by one value
// for all elements for which the mask is true; they are computed by where(). get() throws UserError
// for a mask, because the shape of its result would depend on values.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"
#include "tessera/ops/indexing/gather.h"

namespace tessera {

// The slice start:stop:step. A bound that is None is the array's.
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
  std::optional<double> fill_value = std::nullopt;  // for kFill
};
struct UpdateOptions {
  IndexMode mode = IndexMode::kFill;  // kFill drops updates outside of x
  bool indices_are_sorted = false;
  bool unique_indices = false;  // no element has two indices
};

// Returns x[items].
Array index(const Array& x, const IndexList& items, const GetOptions& options = {});

// Elements of an array, named by an index expression. Each function returns a new array of the same
// dtype. Values are converted to it and broadcast, except that integers are combined with other
// numbers in the common dtype of both, and the result is converted: 5 multiplied by 0.5 becomes 2.
// Several updates of one element are made in the order of the indices, so the last set() wins.
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
// Returns the elements at these indices along the axis, whose dimension is replaced by the shape of
// the indices. Negative indices count from the end, except that kClip makes them 0 and kWrap takes
// them modulo the extent.
Array take(const Array& x, const Array& indices, const TakeOptions& options = {});
// Returns along one axis the element at each index. None flattens x and takes a vector of indices.
// The other dimensions of x and indices broadcast.
Array take_along_axis(const Array& x, const Array& indices, int64_t axis,
                      const GetOptions& options = {.mode = IndexMode::kFill});
Array take_along_axis(const Array& x, const Array& indices, NoneType,
                      const GetOptions& options = {.mode = IndexMode::kFill});

}  // namespace tessera
