// Arrays with elements inserted, left out or replaced, as in jax.numpy. No function changes its
// operand: each returns a new array.
//
// All functions throw UserError for axes that do not exist and shapes that do not fit each other.
#pragma once

#include <string_view>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"
#include "tessera/numpy/indexing.h"

namespace tessera {

// Returns x followed by `values` along the axis. None flattens both.
Array append(const Array& x, const Array& values, OrNone<int64_t> axis = None);
// Returns x with `values` inserted before these indices along the axis. None flattens x. One index
// takes all values; several indices take one value each. Indices refer to positions in x, not in
// the result. Throws UserError if they are not integers.
Array insert(const Array& x, const Array& obj, const Array& values, OrNone<int64_t> axis = None);
namespace internal {
Array without_slice(const Array& x, const Slice& obj, OrNone<int64_t> axis);
}
// Returns x without the elements at these indices along the axis. None flattens x. `obj` is one
// index, a Slice, indices (equal ones are allowed), or an array of indices or of bool whose values
// are known. (delete is a keyword of C++.)
Array delete_(const Array& x, int64_t obj, OrNone<int64_t> axis = None);
Array delete_(const Array& x, const Dims& obj, OrNone<int64_t> axis = None);
Array delete_(const Array& x, const Array& obj, OrNone<int64_t> axis = None);
template <std::integral I>
Array delete_(const Array& x, const std::vector<I>& obj, OrNone<int64_t> axis = None) {
  return delete_(x, Dims(obj), axis);
}
// A template, so that {1, 2} are two indices and no slice.
template <std::same_as<Slice> S>
Array delete_(const Array& x, const S& obj, OrNone<int64_t> axis = None) {
  return internal::without_slice(x, obj, axis);
}
// Returns x's elements in row-major order, repeated as often as needed to fill the shape. The
// result is zeros if x has no elements.
Array resize(const Array& x, const Shape& new_shape);
// Returns x without the zeros at the front ('f' in trim), at the back ('b') or both, along these
// axes. The size of the result depends on values, so they must be known.
Array trim_zeros(const Array& x, std::string_view trim = "fb", const Axes& axis = None);

// Returns x with its diagonal set to `val`, a scalar or a vector that is repeated as needed. If x
// has more than two dimensions, they must have equal extents.
Array fill_diagonal(const Array& x, const Array& val);
// Returns x with the elements at these positions of the flattened array set to v, which is repeated
// or cut. Without a mode, negative positions count from the end, and positions outside are clipped.
// kClip clips negative ones too, kFill drops those outside, kWrap takes them modulo the size.
Array put(const Array& x, const Array& ind, const Array& v,
          std::optional<IndexMode> mode = std::nullopt);
// Returns x with the elements that take_along_axis(x, indices, axis) would return set to `values`,
// which are broadcast to the indices. None flattens x.
Array put_along_axis(const Array& x, const Array& indices, const Array& values,
                     OrNone<int64_t> axis);
// Returns x with the elements for which the mask is not 0 set to the first, second, ... of vals,
// which are repeated as needed. The mask has x's size.
Array place(const Array& x, const Array& mask, const Array& vals);
// Returns choices[a[i]][i] for every i, with a and the choices broadcast. If an element of a is no
// index of the choices, kFill throws UserError, for which a's values must be known; kClip takes the
// nearest index, kWrap the index modulo their number.
Array choose(const Array& a, const std::vector<Array>& choices, IndexMode mode = IndexMode::kFill);

// Returns the matrix with the flattened array on its k-th diagonal.
Array diagflat(const Array& x, int64_t k = 0);
// hsplit divides x along the second dimension (the first of a vector), vsplit along the first,
// dsplit along the third. An integer is the number of equal parts. Indices are where the next part
// begins.
std::vector<Array> hsplit(const Array& x, int64_t parts);
std::vector<Array> hsplit(const Array& x, const Dims& indices);
std::vector<Array> vsplit(const Array& x, int64_t parts);
std::vector<Array> vsplit(const Array& x, const Dims& indices);
std::vector<Array> dsplit(const Array& x, int64_t parts);
std::vector<Array> dsplit(const Array& x, const Dims& indices);
// Returns x with one axis moved to before the axis `start`.
Array rollaxis(const Array& x, int64_t axis, int64_t start = 0);

// Blocks in nested braces. The innermost ones are joined along the last dimension, the next along
// the one before it, and so on. Throws UserError for braces of different depths and for empty ones.
class Blocks {
 public:
  Blocks(const Array& block) : block_(block) {}
  template <class T>
  requires std::is_arithmetic_v<T> Blocks(T value) : block_(value) {}
  Blocks(std::initializer_list<Blocks> row) : row_(row), is_row_(true) {}
  Blocks(const std::vector<Array>& row) : row_(row.begin(), row.end()), is_row_(true) {}

 private:
  friend Array block(const Blocks& blocks);
  int64_t depth() const;
  int64_t rank() const;  // the largest rank of its arrays
  Array joined(int64_t rank, int64_t depth) const;

  Array block_;
  std::vector<Blocks> row_;
  bool is_row_ = false;
};
Array block(const Blocks& blocks);

}  // namespace tessera
