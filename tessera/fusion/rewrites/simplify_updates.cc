#include "tessera/fusion/rewrites/simplify_updates.h"

#include <algorithm>
#include <cstddef>

#include "tessera/ops/core/constant.h"
#include "tessera/ops/indexing/scatter.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::fusion {
namespace {

bool is_zero(const MakerOf& maker, ValueId value) {
  const Op* op = maker(value);
  const ConstantParams* constant = op ? as_constant(*op) : nullptr;
  if (!constant || !constant->is_splat()) return false;
  const auto* raw = constant->value.raw();
  return std::all_of(raw, raw + constant->value.bytes(),
                     [](std::byte b) { return b == std::byte{0}; });
}

std::vector<ValueId> starts_of(const Op& update) {
  return {update.operands.begin() + 2, update.operands.end()};
}

}  // namespace

std::optional<Box> box_in_zeros(const MakerOf& maker, ValueId value) {
  const Op* op = maker(value);
  if (!op) return std::nullopt;
  if (op->def == &dynamic_update_slice_op && is_zero(maker, op->operands[0]))
    return Box{op->operands[1], starts_of(*op), {}};
  if (op->def != &pad_op || !is_zero(maker, op->operands[1])) return std::nullopt;
  const auto& p = op->params.as<PadParams>();
  const auto is_none = [](int64_t n) { return n == 0; };
  const auto is_some = [](int64_t n) { return n >= 0; };
  if (!std::all_of(p.interior.begin(), p.interior.end(), is_none) ||
      !std::all_of(p.low.begin(), p.low.end(), is_some) ||
      !std::all_of(p.high.begin(), p.high.end(), is_some))
    return std::nullopt;
  return Box{op->operands[0], {}, p.low};
}

std::optional<Box> box_in(const MakerOf& maker, ValueId value, ValueId x) {
  const Op* op = maker(value);
  if (!op || op->def != &dynamic_update_slice_op || op->operands[0] != x) return std::nullopt;
  return Box{op->operands[1], starts_of(*op), {}};
}

bool is_small_part(int64_t box, int64_t elements) { return box <= elements / 4; }

std::optional<ValueId> scalar_of(const Function& function, const MakerOf& maker,
                                 ValueId predicate) {
  if (function.type(predicate).rank() == 0) return predicate;
  const Op* op = maker(predicate);
  if (!op || op->def != &broadcast_in_dim_op || function.type(op->operands[0]).elements() != 1)
    return std::nullopt;
  return op->operands[0];
}

std::optional<Mask> mask_of_windows(const Function& function, const MakerOf& maker,
                                    const Op& scatter, ValueId predicate) {
  const auto& p = scatter.params.as<ScatterParams>();
  if (p.scatter_dims_to_operand_dims.empty() ||
      !is_signed(function.type(scatter.operands[1]).dtype))
    return std::nullopt;
  if (function.type(predicate).rank() == 0) return Mask{predicate, {}};
  const Op* op = maker(predicate);
  if (!op || op->def != &broadcast_in_dim_op) return std::nullopt;
  Mask out{op->operands[0], {}};
  const Shape &shape = function.type(scatter.operands[0]).shape,
              &inner = function.type(out.predicate).shape;
  const Dims& dims = op->params.as<BroadcastParams>().dims;
  for (int64_t k = 0; k < dims.rank(); ++k) {
    const auto at = std::find(p.input_batching_dims.begin(), p.input_batching_dims.end(), dims[k]);
    if (at == p.input_batching_dims.end() || inner[k] != shape[dims[k]]) return std::nullopt;
    out.dims.push_back(p.scatter_indices_batching_dims[at - p.input_batching_dims.begin()]);
  }
  return out;
}

}  // namespace tessera::fusion
