// Helpers for functions of scipy/ that compute each element from one element of each argument: they
// promote, broadcast, and evaluate one expression of the numpy layer as a composite. Also functions
// with given derivatives. Only source files of scipy/ include this header.
#pragma once

#include <utility>

#include "tessera/compile/composite.h"
#include "tessera/compile/custom_derivatives.h"
#include "tessera/ir/array.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/identity.h"

namespace tessera::scipy::internal {

using Body = Array (*)(std::span<const Array>);
using PairBody = std::pair<Array, Array> (*)(std::span<const Array>);

// Returns body(arguments), with the arguments promoted together to an inexact dtype and broadcast.
// Half precision is computed in float32. Throws UserError naming `name` for complex arguments.
Array pointwise(const char* name, std::initializer_list<Array> arguments, Body body);
// Returns the same for a body that returns two arrays.
std::pair<Array, Array> pointwise_pair(const char* name, std::initializer_list<Array> arguments,
                                       PairBody body);

// Returns f(x) with the derivative slope(x, f(x)). In the slope, f has this derivative too, up to
// `order` times; after that it has its own.
template <int order = 2, class F, class Slope>
Array with_slope(const Array& x, F f, Slope slope) {
  if constexpr (order == 0) {
    return f(x);
  } else {
    return custom_jvp(f, [f, slope](const std::tuple<Array>& at, const std::tuple<Array>& tangent) {
      const Array& x = std::get<0>(at);
      const Array y = with_slope<order - 1>(x, f, slope);
      return std::pair(y, std::get<0>(tangent) * slope(x, y));
    })(x);
  }
}

// Returns f(x, y) with the derivatives by_x(x, y, f) and by_y(x, y, f), in the same way.
template <int order = 2, class F, class ByX, class ByY>
Array with_slopes(const Array& x, const Array& y, F f, ByX by_x, ByY by_y) {
  if constexpr (order == 0) {
    return f(x, y);
  } else {
    return custom_jvp(f, [f, by_x, by_y](const std::tuple<Array, Array>& at,
                                         const std::tuple<Array, Array>& tangents) {
      const auto& [x, y] = at;
      const auto& [tx, ty] = tangents;
      const Array z = with_slopes<order - 1>(x, y, f, by_x, by_y);
      return std::pair(z, tx * by_x(x, y, z) + ty * by_y(x, y, z));
    })(x, y);
  }
}

// Return arrays of x's dtype and shape.
Array nan_like(const Array& x);
Array inf_like(const Array& x);

}  // namespace tessera::scipy::internal
