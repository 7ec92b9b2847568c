// The positions of the elements that the windows of a reduce_window read.
#pragma once

#include <algorithm>

#include "tessera/ops/reductions/reduce_window.h"

namespace tessera::ops {

struct WindowPlaces {
  Shape in, out;
  Windows windows;
  Dims in_strides, out_strides;

  WindowPlaces(const Shape& shape, const Windows& w)
      : in(shape),
        out(window_shape("reduce_window", shape, w)),
        windows(w),
        in_strides(row_major_strides(shape)),
        out_strides(row_major_strides(out)) {}
  const Dims& size() const { return windows.size; }
  // Returns the index along dimension d of element k of window o, or -1 if that is padding.
  int64_t source(int64_t d, int64_t o, int64_t k) const {
    const int64_t at = o * windows.strides[d] + k * windows.window_dilation[d] - windows.low[d];
    const int64_t by = windows.base_dilation[d];
    if (at < 0 || at % by != 0 || at / by >= in[d]) return -1;
    return at / by;
  }
  // Calls visit(offset) for every element of the window at `at`, in row-major order. `at` are
  // indices in the first `dims` dimensions.
  template <class F>
  void each(const Dims& at, int64_t dims, F&& visit) const {
    walk(at, 0, dims, 0, visit);
  }

 private:
  template <class F>
  void walk(const Dims& at, int64_t d, int64_t dims, int64_t base, F& visit) const {
    if (d == dims) return visit(base);
    const int64_t by = windows.window_dilation[d];
    const int64_t first = at[d] * windows.strides[d] - windows.low[d];
    const int64_t extent = in[d] == 0 ? 0 : (in[d] - 1) * windows.base_dilation[d] + 1;
    const int64_t begin = first < 0 ? ceil_div(-first, by) : 0;
    const int64_t end =
        std::min(windows.size[d], first < extent ? ceil_div(extent - first, by) : 0);
    for (int64_t k = begin; k < end; ++k) {
      const int64_t i = source(d, at[d], k);
      if (i >= 0) walk(at, d + 1, dims, base + i * in_strides[d], visit);
    }
  }
};

// Returns the indices of row-major element i of the first `dims` dimensions of the shape.
inline Dims indices_of(int64_t i, const Shape& shape, int64_t dims) {
  Dims at(static_cast<size_t>(dims), 0);
  for (int64_t d = dims; d-- > 0;) {
    at[d] = i % shape[d];
    i /= shape[d];
  }
  return at;
}

}  // namespace tessera::ops
