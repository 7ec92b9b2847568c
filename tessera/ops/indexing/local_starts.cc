#include "tessera/ops/indexing/local_starts.h"

#include <algorithm>

#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/tracer.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::ops {

std::vector<Array> shard_offsets(const IndexedWindows& windows, int k, const Shape& local,
                                 const LocalContext& context) {
  std::vector<Array> out;
  for (int64_t d = 0; d < windows.operand.rank(); ++d) {
    if (!windows.is_indexed(d)) continue;
    const Array offset = context.operand_offset(k, static_cast<int>(d));
    // The extents alone do not show whether a dimension is sharded: one of extent 1 may be.
    if (local[d] == windows.operand[d] && known_value(offset)) continue;
    const auto component = static_cast<size_t>(windows.dims[static_cast<size_t>(d)].component);
    out.resize(std::max(out.size(), component + 1));
    out[component] = offset;
  }
  const bool vectors = windows.index_vector_dim < windows.indices.rank();
  if (!out.empty())
    out.resize(vectors ? static_cast<size_t>(windows.indices[windows.index_vector_dim]) : 1);
  return out;
}

Array local_starts(const IndexedWindows& windows, const std::vector<Array>& offsets,
                   const Array& starts) {
  const DType dtype = starts.dtype() == int32 ? int32 : int64;
  const Array wide = starts.dtype() == dtype ? starts : lax::convert_element_type(starts, dtype);
  const auto number = [&](const Array& offset, const Shape& shape) {
    if (!offset.defined()) return lax::full(shape, 0, dtype);
    return lax::reshape(offset.dtype() == dtype ? offset : lax::convert_element_type(offset, dtype),
                        shape);
  };
  if (windows.index_vector_dim == windows.indices.rank())
    return lax::sub(wide, lax::broadcast_in_dim(number(offsets[0], {}), wide.shape(), {}));
  std::vector<Array> entries;
  for (const Array& offset : offsets) entries.push_back(number(offset, {1}));
  return lax::sub(wide, lax::broadcast_in_dim(lax::concatenate(entries, 0), wide.shape(),
                                              {windows.index_vector_dim}));
}

}  // namespace tessera::ops
