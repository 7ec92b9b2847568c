// Functions that rearrange elements, as in jax.numpy. Negative axes count from the end. Dtypes are
// kept, except that functions of several arrays promote them.
//
// All functions throw UserError for an axis that does not exist or is named twice, and for shapes
// that do not fit each other.
#pragma once

#include <concepts>
#include <string_view>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"

namespace tessera {

// Returns the same elements, in row-major order, in another shape. One extent may be -1; it is
// computed.
Array reshape(const Array& x, const Shape& shape);
template <std::integral I>
Array reshape(const Array& x, I extent) {
  return reshape(x, Shape{static_cast<int64_t>(extent)});
}
Array ravel(const Array& x);

// Returns x with its dimensions permuted: dimension d of the result is dimension axes[d] of x.
// Without axes the order is reversed.
Array transpose(const Array& x);
Array transpose(const Array& x, const Dims& axes);
Array permute_dims(const Array& x, const Dims& axes);
Array matrix_transpose(const Array& x);  // exchanges the last two
Array swapaxes(const Array& x, int64_t axis1, int64_t axis2);
// Returns x with dimensions `source` moved to the positions `destination`. The others keep their
// order.
Array moveaxis(const Array& x, const Axes& source, const Axes& destination);

// Returns x with new dimensions of extent 1 at these positions of the result.
Array expand_dims(const Array& x, const Axes& axis);
// Returns x without its dimensions of extent 1, all of them or these.
Array squeeze(const Array& x, const Axes& axis = None);
Array atleast_1d(const Array& x);
Array atleast_2d(const Array& x);
Array atleast_3d(const Array& x);

// Returns x repeated along dimensions that it lacks or that have extent 1.
Array broadcast_to(const Array& x, const Shape& shape);
std::vector<Array> broadcast_arrays(const std::vector<Array>& arrays);

// Returns the arrays one after the other along `axis`. None flattens all. Throws UserError for no
// arrays.
Array concatenate(const std::vector<Array>& arrays, int64_t axis = 0);
Array concatenate(const std::vector<Array>& arrays, NoneType);
// Returns arrays of one shape along a new dimension.
Array stack(const std::vector<Array>& arrays, int64_t axis = 0);
std::vector<Array> unstack(const Array& x, int64_t axis = 0);
Array vstack(const std::vector<Array>& arrays);
Array hstack(const std::vector<Array>& arrays);
Array dstack(const std::vector<Array>& arrays);
Array column_stack(const std::vector<Array>& arrays);

namespace internal {
std::vector<Array> split_equally(const Array& x, int64_t parts, int64_t axis);
}
// Returns equal parts along the axis, or parts that end before each of `indices`. Throws UserError
// if the extent cannot be divided into equal parts.
template <std::integral I>
std::vector<Array> split(const Array& x, I parts, int64_t axis = 0) {
  return internal::split_equally(x, parts, axis);
}
std::vector<Array> split(const Array& x, const Dims& indices, int64_t axis = 0);
// Returns parts whose sizes differ by at most one element, the longer ones first.
std::vector<Array> array_split(const Array& x, int64_t parts, int64_t axis = 0);

// Returns x repeated side by side, `repetitions` times in each dimension.
Array tile(const Array& x, const Dims& repetitions);
template <std::integral I>
Array tile(const Array& x, I repetitions) {
  return tile(x, Dims{static_cast<int64_t>(repetitions)});
}
// Returns each element repeated `repeats` times in a row along the axis. None flattens x.
Array repeat(const Array& x, int64_t repeats, int64_t axis);
Array repeat(const Array& x, int64_t repeats, NoneType = None);
// Returns each element repeated by a number of its own, or by the only number if there is one.
Array repeat(const Array& x, const Dims& repeats, int64_t axis);
Array repeat(const Array& x, const Dims& repeats, NoneType = None);
// Does the same with numbers that need not be known. The result has `total_repeat_length` elements:
// it is cut, or its last element is repeated.
Array repeat(const Array& x, const Array& repeats, int64_t axis, int64_t total_repeat_length);
Array repeat(const Array& x, const Array& repeats, NoneType, int64_t total_repeat_length);

Array flip(const Array& x, const Axes& axis = None);
Array fliplr(const Array& x);
Array flipud(const Array& x);
// Returns x with its elements moved by `shift` positions along the axes. Those that leave at one
// end enter at the other. None flattens x for it. There is one shift for all axes, or one for each;
// one axis is moved by all shifts together.
Array roll(const Array& x, int64_t shift, const Axes& axis = None);
Array roll(const Array& x, const Dims& shifts, const Axes& axis = None);
template <std::integral I>
Array roll(const Array& x, const std::vector<I>& shifts, const Axes& axis = None) {
  return roll(x, Dims(shifts), axis);
}
// Does the same with a shift that need not be known, an integer scalar.
Array roll(const Array& x, const Array& shift, const Axes& axis = None);
// Returns x rotated by 90 degrees k times, from the first of `axes` towards the second.
Array rot90(const Array& x, int64_t k = 1, const Dims& axes = {0, 1});

}  // namespace tessera
