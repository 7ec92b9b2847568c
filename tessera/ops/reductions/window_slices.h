// WindowSlices: the elements that windows over an array read, as one slice for each position in a
// window.
#pragma once

#include "tessera/ops/reductions/reduce_window.h"

namespace tessera::ops {

// Calls visit(place) for each position in a window of this size, in row-major order.
template <class Visit>
void each_place(const Dims& size, const Visit& visit) {
  Dims place(size.size(), 0);
  for (int64_t k = size.elements(); k-- > 0;) {
    visit(place);
    for (size_t d = size.size(); d-- > 0 && ++place[d] == size[d];) place[d] = 0;
  }
}

class WindowSlices {
 public:
  // Windows read `fill`, a scalar, in the padding and between dilated elements.
  WindowSlices(const Array& x, const Array& fill, const Windows& windows);
  // Returns the elements that all windows have at position `place`.
  Array at(const Dims& place) const;
  const Shape& shape() const { return shape_; }

 private:
  Windows windows_;
  Shape shape_;  // one element for each window
  Array padded_;
};

}  // namespace tessera::ops
