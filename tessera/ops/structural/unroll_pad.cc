#include "tessera/ops/structural/unroll_pad.h"

#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {
namespace {

constexpr int64_t kMostColumnElements = 8;  // the most elements of a row of columns

// Returns whether padding of dimension d is computed by columns, which is so if their rows are
// short.
bool has_columns(const PadParams& p, const Shape& shape, int64_t d) {
  if (p.interior[d] == 0) return false;
  int64_t row = p.interior[d] + 1;
  for (int64_t k = d + 1; k < shape.rank(); ++k) row *= shape[k];
  return row <= kMostColumnElements;
}

// Returns x padded in dimension d alone.
Array padded_by_columns(const Array& x, const Array& fill, const PadParams& p, int64_t d,
                        int64_t extent) {
  const int64_t apart = p.interior[d] + 1, rows = ceil_div(extent, apart);
  const int64_t column = ((p.low[d] % apart) + apart) % apart;
  Dims low(x.shape().size(), 0), high = low;
  low[d] = (p.low[d] - column) / apart;
  high[d] = rows - x.shape()[d] - low[d];
  const Array elements = lax::expand_dims(lax::pad(x, fill, low, high), {d + 1});
  const Array padding = lax::broadcast_in_dim(fill, elements.shape(), {});
  std::vector<Array> columns(static_cast<size_t>(apart), padding);
  columns[static_cast<size_t>(column)] = elements;
  Shape merged = x.shape();
  merged[d] = rows * apart;
  return lax::slice_in_dim(lax::reshape(lax::concatenate(columns, d + 1), merged), 0, extent, 1, d);
}

Array padded(const Array& x, const Array& fill, const PadParams& p, const Shape& result) {
  // From the last dimension to the first, so that the dimensions after d have their final extents.
  Array out = x;
  for (int64_t d = x.ndim(); d-- > 0;) {
    Shape shape = x.shape();
    for (int64_t k = d + 1; k < x.ndim(); ++k) shape[k] = result[k];
    if (p.low[d] == 0 && p.high[d] == 0 && p.interior[d] == 0) continue;
    if (has_columns(p, shape, d)) {
      out = padded_by_columns(out, fill, p, d, result[d]);
    } else {
      Dims low(x.shape().size(), 0), high = low, interior = low;
      low[d] = p.low[d];
      high[d] = p.high[d];
      interior[d] = p.interior[d];
      out = lax::pad(out, fill, low, high, interior);
    }
  }
  return out;
}

}  // namespace

FlatFn unrolled_pad(const OpParams& params, std::span<const Type> operands, const Type& result) {
  const auto& p = params.as<PadParams>();
  if (operands[0].elements() == 0 || result.elements() == 0) return nullptr;
  bool any = false;
  for (int64_t d = 0; d < result.rank(); ++d) any = any || has_columns(p, result.shape, d);
  if (!any) return nullptr;
  return [p, shape = result.shape](const std::vector<Array>& x) {
    return std::vector<Array>{padded(x[0], x[1], p, shape)};
  };
}

}  // namespace tessera::ops
