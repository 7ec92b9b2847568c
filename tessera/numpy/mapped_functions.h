// Functions that apply other functions, as in jax.numpy: to vectors along an axis, to scalars over
// arrays, to pieces. Each traces its function once and maps it by vmap.
//
//   apply_along_axis([](const Array& v) { return sort(v); }, 1, x);
//   vectorize([](const Array& a, const Array& b) { return vdot(a, b); }, "(n),(n)->()")(x, y);
//   piecewise(x, {x < 0, x >= 0}, {[](const Array& x) { return -x; }, 1.0});
//
// All functions throw UserError for axes that do not exist, for malformed signatures and for arrays
// that do not fit them.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/compile/vmap.h"
#include "tessera/numpy/axes.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/manipulation.h"

namespace tessera {

// Returns f of each vector along an axis. The dimensions of f's result replace the axis.
template <class F>
Array apply_along_axis(const F& f, int64_t axis, const Array& x) {
  const int64_t along = normalize_axis("apply_along_axis", axis, x.ndim());
  const Array rows = moveaxis(x, along, -1);
  Shape leading(rows.shape().begin(), rows.shape().end() - 1);
  int64_t count = 1;
  for (int64_t extent : leading) count *= extent;
  const Array out = vmap(f)(reshape(rows, {count, rows.shape().back()}));
  Shape shape = leading;
  Dims source, destination;
  for (int64_t d = 1; d < out.ndim(); ++d) {
    shape.push_back(out.shape()[d]);
    source.push_back(leading.rank() + d - 1);
    destination.push_back(along + d - 1);
  }
  return moveaxis(reshape(out, shape), source, destination);
}

namespace internal {
// Returns `made`, the result of a reduction of x along an axis. If the axis was removed, it is
// inserted with extent 1.
Array with_axis_kept(const Array& made, const Array& x, int64_t axis);
}  // namespace internal

// Returns x with f(x, axis) applied for one axis after the other. An axis that f removes is
// inserted with extent 1.
template <class F>
Array apply_over_axes(const F& f, const Array& x, const Axes& axes) {
  Array out = x;
  for (int64_t axis : axes.in_order("apply_over_axes", x.ndim()))
    out = internal::with_axis_kept(f(out, axis), out, axis);
  return out;
}

// A value or a function of x, for one piece of piecewise().
class Piece {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> Piece(T value) : value_(value) {}
  Piece(const Array& value) : value_(value) {}
  template <class F>
  requires std::is_invocable_r_v<Array, F, const Array&> Piece(F f) : f_(std::move(f)) {}
  Array operator()(const Array& x) const { return f_ ? f_(x) : value_; }

 private:
  Array value_;
  std::function<Array(const Array&)> f_;
};
// Returns an array of x's dtype and shape: for each element the piece of the last condition that is
// true. There may be one piece more than conditions, for elements for which none is true (absent:
// 0). Every piece is computed for all of x.
Array piecewise(const Array& x, const std::vector<Array>& conditions,
                const std::vector<Piece>& pieces);

namespace internal {

// The names of the dimensions of each argument and result, parsed from "(n,m),(m)->(n)".
struct Signature {
  std::vector<std::vector<std::string>> arguments, results;
};
Signature parse_signature(const std::string& text);
// The arguments with the dimensions that the signature does not name broadcast and flattened into
// one leading dimension; and the shape that these had before.
struct CoreArguments {
  std::vector<Array> arrays;
  Shape loop;
};
CoreArguments core_arguments(const Signature& signature, const std::vector<Array>& arguments);
// Returns x, [count, core...], as [loop..., core...].
Array with_loop(const Array& x, const Shape& loop);

}  // namespace internal

// A function of arrays made of a function f, whose arguments have the dimensions of the signature.
// All further dimensions broadcast, as in NumPy's generalized ufuncs.
template <class F>
class Vectorized {
 public:
  Vectorized(F f, const std::string& signature)
      : f_(std::move(f)), signature_(signature), scalar_(signature.empty()) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    const std::vector<Array> arrays{Array(args)...};
    internal::Signature signature;
    if (scalar_) {
      signature.arguments.resize(arrays.size());
    } else {
      signature = internal::parse_signature(signature_);
    }
    const internal::CoreArguments core = internal::core_arguments(signature, arrays);
    return call(core, std::index_sequence_for<Args...>());
  }

 private:
  template <size_t... i>
  auto call(const internal::CoreArguments& core, std::index_sequence<i...>) const {
    return tree::map([&](const Array& x) { return internal::with_loop(x, core.loop); },
                     vmap(f_)(core.arrays[i]...));
  }

  F f_;
  std::string signature_;
  bool scalar_;  // there is no signature: all arguments and results are scalars
};
template <class F>
Vectorized<F> vectorize(F f, const std::string& signature = "") {
  return Vectorized<F>(std::move(f), signature);
}

// Returns an array of f(i, j, ...) for the indices of each element of a shape: fromfunction(f, {3,
// 4}).
template <class F, size_t rank>
Array fromfunction(const F& f, const int64_t (&extents)[rank], OptionalDType dtype = {}) {
  const Shape shape(extents, extents + rank);
  return [&]<size_t... d>(std::index_sequence<d...>) {
    const auto index = [&](int64_t axis) {
      Shape along(rank, 1);
      along[axis] = shape[axis];
      const Array i = arange(shape[axis], dtype ? dtype : OptionalDType(default_float()));
      return broadcast_to(reshape(i, along), shape);
    };
    return vectorize(f)(index(static_cast<int64_t>(d))...);
  }
  (std::make_index_sequence<rank>());
}

}  // namespace tessera
