// chlo.top_k: a sort, and the first k elements of its result.
#include "tessera/interchange/foreign/foreign.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/ops/structural/sort.h"

namespace tessera::interchange::foreign {

Values top_k(OpReader& reader) {
  if (reader.operands.size() != 1) reader.error("expected one operand");
  const Type x = reader.type(reader.operands[0]);
  const int64_t k = reader.require_int("k"), last = x.rank() - 1;
  if (last < 0 || k < 0 || k > x.shape[last])
    reader.error(fmt::format("expected k in [0, extent of the last dimension], got {}", k));
  const ValueId index = reader.insert(iota_op, IotaParams{int32, x.shape, last}, {})[0];
  const std::vector<ValueId> sorted =
      reader.insert(sort_op, SortParams{last, true, 1, true, true},
                    std::vector<ValueId>{reader.operands[0], index});
  Dims limit = x.shape;
  limit[last] = k;
  std::vector<ValueId> out;
  for (ValueId v : sorted)
    out.push_back(reader.insert(
        slice_op, SliceParams{Dims(x.shape.size(), 0), limit, Dims(x.shape.size(), 1)},
        std::vector<ValueId>{v})[0]);
  return out;
}

}  // namespace tessera::interchange::foreign
