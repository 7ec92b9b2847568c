// The code of window_fold.h, for the files that instantiate it.
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include "tessera/base/thread_pool.h"
#include "tessera/ops/core/fold_element.h"
#include "tessera/ops/reductions/prefix_fold.h"
#include "tessera/ops/reductions/window_fold.h"

namespace tessera::ops {

// Returns the fold of two elements. The minimum or maximum of complex numbers is NaN in both parts
// if an operand has a NaN. (The elementwise op would return its second operand, so that a fold
// would depend on its order.)
template <ReduceKind kind, class T>
T folded(T a, T b) {
  if constexpr (is_complex_type<T> && (kind == ReduceKind::kMin || kind == ReduceKind::kMax)) {
    if (a != a || b != b) {
      constexpr auto kNan = std::numeric_limits<typename T::value_type>::quiet_NaN();
      return {kNan, kNan};
    }
  }
  return fold_element<kind, T>(a, b);
}

template <ReduceKind kind, class T>
struct Folded {
  Running<T> operator()(Running<T> a, Running<T> b) const { return folded<kind, Running<T>>(a, b); }
};

// Computes the results [begin, end) of all dimensions except the trailing trivial ones, which are
// rows of `row` elements.
template <ReduceKind kind, class T>
void fold_rows(const WindowPlaces& p, int64_t dims, int64_t row, const T* x, T init, T* out,
               int64_t begin, int64_t end) {
  for (int64_t o = begin; o < end; ++o) {
    T* acc = out + o * row;
    std::fill(acc, acc + row, init);
    p.each(indices_of(o, p.out, dims), dims, [&](int64_t base) {
      const T* from = x + base;
      for (int64_t i = 0; i < row; ++i) acc[i] = folded<kind, T>(acc[i], from[i]);
    });
  }
}

// Computes prefix folds, one element after the other.
template <ReduceKind kind, class T>
void fold_in_order(const Shape& shape, int d, bool reverse, const T* x, T init, T* out) {
  const int64_t n = shape[d], stride = row_major_strides(shape)[d];
  const int64_t lines = n == 0 ? 0 : shape.elements() / n;
  for (int64_t line = 0; line < lines; ++line) {
    const int64_t first = line / stride * stride * n + line % stride;
    Running<T> acc = element_cast<Running<T>>(init);
    for (int64_t k = 0; k < n; ++k) {
      const int64_t i = first + (reverse ? n - 1 - k : k) * stride;
      acc = folded<kind, Running<T>>(acc, element_cast<Running<T>>(x[i]));
      out[i] = element_cast<T>(acc);
    }
  }
}

// Calls f(TypeTag<T>) with the type in which elements of a dtype are folded. Integers wrap, so only
// minima and maxima tell signed integers from unsigned ones. Sums above 8 bits are those of signed
// ones: GCC makes vectors of running sums of unsigned ones, which takes three times as long.
template <ReduceKind kind, class F>
void visit_folded(DType dtype, F&& f) {
  constexpr bool is_bits = kind == ReduceKind::kAnd || kind == ReduceKind::kOr;
  visit_dtype(dtype, [&]<class T>(TypeTag<T> tag) {
    if constexpr (is_bits && !std::is_integral_v<T>) {
      TESSERA_CHECK(false, "a fold of the bits of {}", dtype);
    } else if constexpr (kind == ReduceKind::kMin || kind == ReduceKind::kMax ||
                         !std::is_integral_v<T> || std::is_same_v<T, bool>) {
      f(tag);
    } else {
      constexpr bool is_signed = kind == ReduceKind::kSum && sizeof(T) > 1;
      f(TypeTag<std::conditional_t<is_signed, std::make_signed_t<T>, std::make_unsigned_t<T>>>());
    }
  });
}

template <ReduceKind kind>
void fold_windows_of(const WindowFold& fold) {
  const WindowPlaces& places = fold.places;
  bool reverse = false;
  const int along = cumulative_dim(places.windows, places.in, &reverse);
  int64_t dims = places.in.rank(), row = 1, rows = 1;
  while (!fold.plainly && dims > 0 && places.windows.trivial(dims - 1)) row *= places.in[--dims];
  for (int64_t d = 0; d < dims; ++d) rows *= places.out[d];
  visit_folded<kind>(fold.dtype, [&]<class T>(TypeTag<T>) {
    const T* x = static_cast<const T*>(fold.x);
    const T init = *static_cast<const T*>(fold.init);
    T* out = static_cast<T*>(fold.out);
    if (along >= 0 && fold.plainly)
      return fold_in_order<kind, T>(places.in, along, reverse, x, init, out);
    if (along >= 0) {
      const bool divisible = kind != ReduceKind::kProduct || std::is_integral_v<T>;
      return PrefixFold<T, Folded<kind, T>>(places.in, along, reverse, divisible, x, init, out)
          .run();
    }
    const int64_t grain =
        fold.plainly
            ? std::max<int64_t>(rows, 1)
            : std::max<int64_t>(1, 16384 / std::max<int64_t>(1, row * places.size().elements()));
    parallel_for_ranges(rows, grain, [&](int64_t begin, int64_t end) {
      fold_rows<kind, T>(places, dims, row, x, init, out, begin, end);
    });
  });
}

}  // namespace tessera::ops
