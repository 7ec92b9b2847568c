// Arrays with elements put in, left out or added, as in jax.numpy. No function changes its operand:
// each returns a new array.
//
// Errors, of all: UserError for axes that do not exist and shapes that do not fit each other.
#pragma once

#include <string_view>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"
#include "tessera/numpy/indexing.h"

namespace tessera {

// x and behind it `values` along the axis (None: both flattened).
Array append(const Array& x, const Array& values, OrNone<int64_t> axis = None);
// x with `values` before these indices along the axis (None: of the flattened array). One index
// takes all values; several take one each. Indices count in x. UserError for other than integers.
Array insert(const Array& x, const Array& obj, const Array& values, OrNone<int64_t> axis = None);
// x without the elements at these indices along the axis (None: of the flattened array): one index, a slice, or known
// indices, of which several may be equal; or known bools. (delete is a keyword of C++.)
Array delete_(const Array& x, int64_t obj, OrNone<int64_t> axis = None);
Array delete_(const Array& x, const Slice& obj, OrNone<int64_t> axis = None);
Array delete_(const Array& x, const Array& obj, OrNone<int64_t> axis = None);
// x's elements over and over, row-major, until the shape is full; zeros if x has none.
Array resize(const Array& x, const Shape& new_shape);
// x without zeros at the front ('f' in trim), at the back ('b') or both, along these axes. Its size
// depends on values: x must be known.
Array trim_zeros(const Array& x, std::string_view trim = "fb", const Axes& axis = None);

// x with its diagonal set to `val`: a scalar, or a vector, repeated. More than two dimensions have
// one extent.
Array fill_diagonal(const Array& x, const Array& val);
// x with the elements at these places of the flattened array set to v, repeated or cut. Without a
// mode negative places count from the end, and the nearest is taken of those outside. kClip takes
// the nearest of negative places too, kFill drops those outside, kWrap counts modulo the size.
Array put(const Array& x, const Array& ind, const Array& v,
          std::optional<IndexMode> mode = std::nullopt);
// x with the elements that take_along_axis(x, indices, axis) would return set to values, which
// broadcast to the indices (None: of the flattened array).
Array put_along_axis(const Array& x, const Array& indices, const Array& values,
                     OrNone<int64_t> axis);
// x with its elements where the mask, of x's size, is not 0 set to the first, second, ... of vals,
// which is repeated.
Array place(const Array& x, const Array& mask, const Array& vals);
// The element of choices[a[i]] at i, a and the choices broadcast. What is outside of the choices is
// an error with kFill, for which a must be known; kClip takes the nearest, kWrap counts modulo their
// number.
Array choose(const Array& a, const std::vector<Array>& choices, IndexMode mode = IndexMode::kFill);

// The matrix with the flattened array on its k-th diagonal.
Array diagflat(const Array& x, int64_t k = 0);
// Parts along the second dimension (the first of vectors), along the first, along the third: equal
// ones, or that end before each index.
std::vector<Array> hsplit(const Array& x, int64_t parts);
std::vector<Array> hsplit(const Array& x, const Dims& indices);
std::vector<Array> vsplit(const Array& x, int64_t parts);
std::vector<Array> vsplit(const Array& x, const Dims& indices);
std::vector<Array> dsplit(const Array& x, int64_t parts);
std::vector<Array> dsplit(const Array& x, const Dims& indices);
// x with an axis brought before the axis `start`.
Array rollaxis(const Array& x, int64_t axis, int64_t start = 0);

// Blocks in nested braces: the innermost ones are joined along the last dimension, the next along
// the last but one, and so on. UserError for braces of different depths and for none.
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
  int64_t rank() const;  // the largest of its arrays'
  Array joined(int64_t rank, int64_t depth) const;

  Array block_;
  std::vector<Blocks> row_;
  bool is_row_ = false;
};
Array block(const Blocks& blocks);

}  // namespace tessera
