#include "tessera/fusion/rewrites/simplify_narrow.h"

#include "tessera/ops/core/convert.h"
#include "tessera/ops/reductions/reduce.h"

namespace tessera::fusion {
namespace {

// Returns whether low bits of the result follow from low bits of the operands.
bool folds_low_bits(ReduceKind kind) {
  return kind == ReduceKind::kSum || kind == ReduceKind::kProduct || kind == ReduceKind::kAnd ||
         kind == ReduceKind::kOr;
}

}  // namespace

std::optional<NarrowFold> narrow_fold(const Function& f, const MakerOf& maker_of, const Op& op,
                                      const Type& type) {
  if (op.def != &convert_op || !is_integer(type.dtype) || is_narrow(type.dtype))
    return std::nullopt;
  const Op* fold = maker_of(op.operands[0]);
  if (!fold || fold->def != &reduce_op || fold->operands.size() != 2) return std::nullopt;
  const auto& params = fold->params.as<ReduceParams>();
  const DType wide = f.types[fold->operands[0]].dtype;
  if (!folds_low_bits(params.kind) || !is_integer(wide) || itemsize(wide) <= itemsize(type.dtype))
    return std::nullopt;
  const Op* widening = maker_of(fold->operands[0]);
  if (!widening || widening->def != &convert_op) return std::nullopt;
  const ValueId elements = widening->operands[0];
  const DType source = f.types[elements].dtype;
  if (!(is_integer(source) || source == bool_) || is_narrow(source) ||
      itemsize(source) > itemsize(type.dtype))
    return std::nullopt;
  return NarrowFold{ReduceParams{params.dims, params.kind}, elements, fold->operands[1],
                    type.dtype};
}

}  // namespace tessera::fusion
