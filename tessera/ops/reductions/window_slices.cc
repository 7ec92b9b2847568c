#include "tessera/ops/reductions/window_slices.h"

#include <algorithm>

#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {

WindowSlices::WindowSlices(const Array& x, const Array& fill, const Windows& windows)
    : windows_(windows), shape_(window_shape("unroll_windows", x.shape(), windows)) {
  Dims interior = windows.base_dilation;
  for (int64_t& d : interior) --d;
  const auto is_zero = [](int64_t d) { return d == 0; };
  const bool plain = std::all_of(windows.low.begin(), windows.low.end(), is_zero) &&
                     std::all_of(windows.high.begin(), windows.high.end(), is_zero) &&
                     std::all_of(interior.begin(), interior.end(), is_zero);
  padded_ = plain ? x : lax::pad(x, fill, windows.low, windows.high, interior);
}

Array WindowSlices::at(const Dims& place) const {
  Dims start, limit;
  for (size_t d = 0; d < place.size(); ++d) {
    start.push_back(place[d] * windows_.window_dilation[d]);
    limit.push_back(start[d] + (shape_[d] - 1) * windows_.strides[d] + 1);
  }
  return lax::slice(padded_, start, limit, windows_.strides);
}

}  // namespace tessera::ops
