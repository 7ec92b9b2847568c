// Functions that rearrange elements, as in jax.numpy. Negative axes count from the end; dtypes
// stay, but that functions of several arrays promote them.
//
// Errors, of all: UserError for an axis that does not exist or is named twice, and for shapes that
// do not fit each other.
#pragma once

#include <concepts>
#include <string_view>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"

namespace tessera {

// The same elements, row-major, in another shape; one extent may be -1 and is computed.
Array reshape(const Array& x, const Shape& shape);
template <std::integral I>
Array reshape(const Array& x, I extent) {
  return reshape(x, Shape{static_cast<int64_t>(extent)});
}
Array ravel(const Array& x);

// Dimension d of the result is dimension axes[d] of x; all in reverse order where none are given.
Array transpose(const Array& x);
Array transpose(const Array& x, const Dims& axes);
inline Array permute_dims(const Array& x, const Dims& axes) { return transpose(x, axes); }
Array matrix_transpose(const Array& x);  // of the last two
Array swapaxes(const Array& x, int64_t axis1, int64_t axis2);
// Brings dimensions `source` to the places `destination`; the others keep their order.
Array moveaxis(const Array& x, const Axes& source, const Axes& destination);

// New dimensions of extent 1, at these places of the result.
Array expand_dims(const Array& x, const Axes& axis);
// Removes dimensions of extent 1: all of them, or these.
Array squeeze(const Array& x, const Axes& axis = None);
Array atleast_1d(const Array& x);
Array atleast_2d(const Array& x);
Array atleast_3d(const Array& x);

// x repeated along dimensions that it lacks or that have extent 1.
Array broadcast_to(const Array& x, const Shape& shape);
std::vector<Array> broadcast_arrays(const std::vector<Array>& arrays);

// Arrays one after the other along `axis` (None: all flattened). UserError for no arrays.
Array concatenate(const std::vector<Array>& arrays, int64_t axis = 0);
Array concatenate(const std::vector<Array>& arrays, NoneType);
// Arrays of one shape along a new dimension.
Array stack(const std::vector<Array>& arrays, int64_t axis = 0);
std::vector<Array> unstack(const Array& x, int64_t axis = 0);
Array vstack(const std::vector<Array>& arrays);
Array hstack(const std::vector<Array>& arrays);
Array dstack(const std::vector<Array>& arrays);
Array column_stack(const std::vector<Array>& arrays);

namespace internal {
std::vector<Array> split_equally(const Array& x, int64_t parts, int64_t axis);
}
// Equal parts (UserError if the axis has no such parts), or parts that end before each of `indices`.
template <std::integral I>
std::vector<Array> split(const Array& x, I parts, int64_t axis = 0) {
  return internal::split_equally(x, parts, axis);
}
std::vector<Array> split(const Array& x, const Dims& indices, int64_t axis = 0);
// Parts that differ by one element at most, the longer ones first.
std::vector<Array> array_split(const Array& x, int64_t parts, int64_t axis = 0);

// x laid side by side `repetitions` times in each dimension.
Array tile(const Array& x, const Dims& repetitions);
template <std::integral I>
Array tile(const Array& x, I repetitions) {
  return tile(x, Dims{static_cast<int64_t>(repetitions)});
}
// Each element `repeats` times in a row (None: of the flattened array).
Array repeat(const Array& x, int64_t repeats, int64_t axis);
Array repeat(const Array& x, int64_t repeats, NoneType = None);
// Each its own number of times; one number an element, or one for all.
Array repeat(const Array& x, const Dims& repeats, int64_t axis);
Array repeat(const Array& x, const Dims& repeats, NoneType = None);
// The same by numbers that need not be known: the result has `total_repeat_length` elements, cut,
// or with the last one repeated.
Array repeat(const Array& x, const Array& repeats, int64_t axis, int64_t total_repeat_length);
Array repeat(const Array& x, const Array& repeats, NoneType, int64_t total_repeat_length);

Array flip(const Array& x, const Axes& axis = None);
Array fliplr(const Array& x);
Array flipud(const Array& x);
// Elements moved by `shift` places, those that leave coming in again at the other end (None: of the
// flattened array).
Array roll(const Array& x, int64_t shift, NoneType = None);
Array roll(const Array& x, int64_t shift, const Axes& axis);
Array roll(const Array& x, const Dims& shifts, const Axes& axis);
// By a shift that need not be known: an integer scalar.
Array roll(const Array& x, const Array& shift, NoneType = None);
Array roll(const Array& x, const Array& shift, const Axes& axis);
// By 90 degrees, k times, from the first towards the second of `axes`.
Array rot90(const Array& x, int64_t k = 1, const Dims& axes = {0, 1});

}  // namespace tessera
