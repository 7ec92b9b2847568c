#include "tessera/numpy/axes.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/ir/format.h"

namespace tessera {

Dims Axes::in_order(std::string_view op, int64_t rank) const {
  if (!axes_) return iota_dims(rank);
  Dims out;
  for (int64_t axis : *axes_) {
    const int64_t d = normalize_axis(op, axis, rank);
    if (std::find(out.begin(), out.end(), d) != out.end())
      value_error(op, "expected different axes, got {}; name each once", *axes_);
    out.push_back(d);
  }
  return out;
}

Dims Axes::ascending(std::string_view op, int64_t rank) const {
  Dims out = in_order(op, rank);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace tessera
