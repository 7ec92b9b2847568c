// Builds literals by copying elements of another literal, for evaluate functions.
#pragma once

#include <cstring>

#include "tessera/base/literal.h"

namespace tessera::ops {

// Returns a literal of `shape`. An element's index along dimension d of x is source_index(d, i),
// where i is its index along dimension d of the result.
inline Literal copy_elements(const Literal& x, const Shape& shape, auto source_index) {
  Literal out(x.dtype(), shape);
  const Dims from = row_major_strides(x.shape()), strides = row_major_strides(shape);
  const auto item = static_cast<size_t>(itemsize(x.dtype()));
  std::byte* to = out.mutable_raw();
  for (int64_t i = 0; i < out.elements(); ++i) {
    int64_t source = 0;
    for (int64_t d = 0; d < shape.rank(); ++d)
      source += source_index(d, i / strides[d] % shape[d]) * from[d];
    std::memcpy(to + i * item, x.raw() + source * item, item);
  }
  return out;
}

}  // namespace tessera::ops
