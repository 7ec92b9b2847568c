#include "tessera/spmd/shard_masks.h"

#include <limits>

#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/spmd/reshard.h"

namespace tessera::spmd {
namespace {

// Returns a value that a fold of this kind ignores. For argmin and argmax, it is a value that can
// never win.
Literal neutral_element(ReduceKind combiner, DType dtype) {
  switch (combiner) {
    case ReduceKind::kArgMin:
      return reduce_identity(ReduceKind::kMin, dtype);
    case ReduceKind::kArgMax:
      return reduce_identity(ReduceKind::kMax, dtype);
    case ReduceKind::kCustom:
      TESSERA_CHECK(false, "a custom fold has no neutral element");
      return {};
    default:
      return reduce_identity(combiner, dtype);
  }
}

// Returns x for elements with a global index along `dim` below `extent`, and `fill` for the others.
Array mask_dim(const AtomMesh& mesh, const Array& x, int64_t dim, const AtomList& atoms,
               int64_t extent, const Literal& fill) {
  const Array index = global_rows(mesh, atoms, x.shape(), dim);
  const Array inside = lax::lt(index, lax::full(x.shape(), static_cast<double>(extent), int32));
  return lax::select(inside, x, lax::full(x.shape(), fill));
}

}  // namespace

bool can_mask_padding(const Op& op, const Factors& factors) {
  return std::holds_alternative<Reduce>(op.def->lower)
             ? factors.combiner != ReduceKind::kCustom
             : factors.combiner == ReduceKind::kSum || factors.combiner == ReduceKind::kOr;
}

void mask_padding(const Op& op, const ShardedOp& sharded, const FactorAssignment& a,
                  std::vector<Array>& local) {
  if (!a.reduced) return;
  const Factors& f = sharded.factors;
  for (size_t k = 0; k < local.size(); ++k) {
    for (size_t d = 0; d < f.operands[k].size(); ++d) {
      const DimFactors& dim = f.operands[k][d];
      if (dim.size() != 1 || f.factors[dim[0]].kind != FactorKind::kReduction) continue;
      const Type& type = sharded.operand_types[k];
      const int64_t extent = type.shape[d];
      if (extent % sharded.mesh.size(a.axes[dim[0]]) == 0) continue;
      // The index operand of an argmax is not masked, since the masked value next to it cannot win.
      const bool is_arg = f.combiner == ReduceKind::kArgMin || f.combiner == ReduceKind::kArgMax;
      if (is_arg && k > 0) continue;
      const Literal fill = std::holds_alternative<Reduce>(op.def->lower)
                               ? neutral_element(f.combiner, type.dtype)
                               : Literal(type.dtype, Shape{});
      local[k] =
          mask_dim(sharded.mesh, local[k], static_cast<int64_t>(d), a.axes[dim[0]], extent, fill);
    }
  }
}

}  // namespace tessera::spmd
