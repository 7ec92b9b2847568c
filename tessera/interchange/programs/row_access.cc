#include "tessera/interchange/programs/row_access.h"

#include <algorithm>
#include <limits>

#include "tessera/ir/op_def.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::interchange {

std::optional<RowAccess> row_access(const Function& f, const Op& op, const KnownScalars& scalars) {
  RowAccess out{.writes = op.def == &dynamic_update_slice_op};
  if (!out.writes && op.def != &dynamic_slice_op) return std::nullopt;
  const Shape &shape = f.type(op.operands[0]).shape,
              &part = f.type(out.writes ? op.operands[1] : op.results[0]).shape;
  if (shape.rank() == 0 || part[0] < 1 || shape[0] > std::numeric_limits<int32_t>::max())
    return std::nullopt;
  // A dimension that is read whole starts at 0, since starts are clamped.
  for (int64_t d = 1; d < shape.rank(); ++d)
    if (part[d] != shape[d]) return std::nullopt;
  auto starts = scalars.numbers(op.operands[out.writes ? 2 : 1]);
  if (!starts || starts->empty()) return std::nullopt;
  out.block = out.stride = part[0];
  for (int64_t& start : *starts) start = std::clamp(start, int64_t{0}, shape[0] - out.block);
  out.first = *std::min_element(starts->begin(), starts->end());
  if (starts->size() == 1) return out;
  const int64_t step = (*starts)[1] - (*starts)[0];
  for (size_t t = 1; t < starts->size(); ++t)
    if ((*starts)[t] - (*starts)[t - 1] != step) return std::nullopt;
  out.descending = step < 0;
  out.stride = step < 0 ? -step : step;
  if (step == 0 || (out.block > 1 && !out.is_contiguous())) return std::nullopt;
  return out;
}

Shape row_shape(const RowAccess& rows, Shape array) {
  array.erase(array.begin());
  if (rows.block > 1) array.insert(array.begin(), rows.block);
  return array;
}

ValueId append_rows(const RowAccess& rows, int64_t trips, bool reverse, const Function& f,
                    ValueId array, const AddOp& add) {
  Shape shape = f.type(array).shape;
  SliceParams part{Dims(shape.rank(), 0), Dims(shape.begin(), shape.end()), Dims(shape.rank(), 1)};
  part.start[0] = rows.first;
  part.limit[0] = rows.first + (trips - 1) * rows.stride + rows.block;
  part.strides[0] = rows.is_contiguous() ? 1 : rows.stride;
  if (part.limit[0] - part.start[0] != shape[0] || part.strides[0] != 1)
    array = add(slice_op, part, {array});
  shape = row_shape(rows, shape);
  shape.insert(shape.begin(), trips);
  if (rows.block > 1) array = add(reshape_op, ReshapeParams{shape}, {array});
  return rows.descending == reverse ? array : add(reverse_op, ReverseParams{{0}}, {array});
}

ValueId append_written(const RowAccess& rows, int64_t trips, bool reverse, const Function& f,
                       ValueId array, ValueId stacked, const AddOp& add) {
  const int64_t rank = f.type(array).rank(), extent = f.type(array).shape[0];
  Shape shape = f.type(array).shape;
  shape[0] = trips * rows.block;
  if (rows.descending != reverse) stacked = add(reverse_op, ReverseParams{{0}}, {stacked});
  if (rows.block > 1) stacked = add(reshape_op, ReshapeParams{shape}, {stacked});
  if (shape[0] == extent) return stacked;
  ValueIds operands{array, stacked};
  for (int64_t d = 0; d < rank; ++d) {
    const auto start = static_cast<int32_t>(d == 0 ? rows.first : 0);
    operands.push_back(add(constant_op, constant_params(Literal::scalar(start)), {}));
  }
  return add(dynamic_update_slice_op, NoParams{}, operands);
}

}  // namespace tessera::interchange
