// Whole Jacobians and Hessians, a row or a column of the identity at a time (all at once by vmap).
#pragma once

#include "tessera/compile/grad.h"
#include "tessera/compile/vmap.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/manipulation.h"

namespace tessera {
namespace internal {

// The standard basis of arrays like x, along a new leading dimension.
inline Array basis_like(const Array& x) {
  Shape shape = x.shape();
  shape.insert(shape.begin(), x.size());
  return reshape(eye(x.size(), {}, 0, x.dtype()), shape);
}

}  // namespace internal

// The Jacobian of a function from an Array (the first argument) to an Array, forward: shape
// result.shape + argument.shape. Cheaper than jacrev where the argument is smaller than the result.
template <class F>
auto jacfwd(F f) {
  return [f](const Array& x, const auto&... rest) {
    const auto column = [&](const Array& t) {
      return jvp([&](const Array& v) -> Array { return f(v, rest...); }, std::tuple(x),
                 std::tuple(t))
          .second;
    };
    const auto whole = [&](const Array& at) {
      // result.shape + (n,), then as the argument
      const Array columns = vmap(column, {.out_axes = {-1}})(internal::basis_like(at));
      Shape shape(columns.shape().begin(), columns.shape().end() - 1);
      shape.insert(shape.end(), at.shape().begin(), at.shape().end());
      return reshape(columns, shape);
    };
    return whole(x);
  };
}

// The Jacobian in reverse: cheaper than jacfwd where the result is smaller than the argument.
template <class F>
auto jacrev(F f) {
  return [f](const Array& x, const auto&... rest) {
    const auto [value, pullback] = vjp([&](const Array& v) -> Array { return f(v, rest...); }, x);
    const auto row = [&pullback = pullback](const Array& ct) { return std::get<0>(pullback(ct)); };
    const Array rows = vmap(row)(internal::basis_like(value));
    Shape shape = value.shape();
    shape.insert(shape.end(), x.shape().begin(), x.shape().end());
    return reshape(rows, shape);
  };
}

// The second derivatives of a scalar function of an Array: shape argument.shape twice.
template <class F>
auto hessian(F f) {
  return jacfwd(jacrev(std::move(f)));
}

}  // namespace tessera
