#include "tessera/spmd/halos.h"

#include <algorithm>

namespace tessera::spmd {
namespace {

using ops::HaloDim;
using ops::HaloRule;

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// The rows that device i of n needs: [i * step + first, i * step + first + rows).
struct Reach {
  int64_t step = 0, first = 0, rows = 0;
  int64_t low = 0, high = 0;  // the padding that remains; negative if some rows are not needed
};

// Returns the rows for `taps` taps and `results` results, of which n devices share one or the
// other.
std::optional<Reach> reach_of(const HaloDim& halo, int64_t n, int64_t taps, int64_t results) {
  const bool shard_taps = halo.tap_dim >= 0;
  if (shard_taps && taps % n != 0) return std::nullopt;  // the padding would count as taps
  const int64_t shard = shard_taps ? results : ceil_div(results, n);
  const int64_t b = halo.base_dilation,
                step = shard_taps ? taps / n * halo.tap_dilation : shard * halo.stride,
                size = shard_taps ? (taps / n - 1) * halo.tap_dilation + 1 : halo.size;
  // Otherwise the windows of different devices would be aligned differently.
  if (step % b != 0 || shard == 0) return std::nullopt;
  // The begin and the end of the first device's windows, counted in rows of the dilated operand.
  const int64_t begin = -halo.low, end = begin + (shard - 1) * halo.stride + size;
  Reach out{.step = step / b, .first = -floor_div(-begin, b)};
  out.rows = floor_div(end - 1, b) - out.first + 1;
  if (out.rows <= 0) return std::nullopt;
  out.low = out.first * b - begin;
  out.high = end - 1 - (out.first + out.rows - 1) * b;
  return out;
}

// Returns the map to an array in which row i * reach.rows + l is row i * reach.step + reach.first +
// l of the operand, or padding if there is no such row.
IndexMapping windows_of(const Reach& reach, int64_t devices, const Shape& operand, int dim) {
  IndexMapping out{.fill = 1};
  for (int64_t i = 0; i < devices; ++i) {
    const int64_t first = i * reach.step + reach.first;
    const RowRange rows{std::max<int64_t>(0, -first), std::min(reach.rows, operand[dim] - first)};
    if (rows.empty()) continue;
    IndexPiece piece{.operand = 0, .start = Dims(operand.size(), 0), .stop = operand};
    for (int d = 0; d < operand.rank(); ++d) piece.terms.push_back({.result_dim = d});
    piece.terms[static_cast<size_t>(dim)].offset = first - i * reach.rows;
    piece.start[dim] = i * reach.rows + rows.low;
    piece.stop[dim] = i * reach.rows + rows.high;
    out.pieces.push_back(std::move(piece));
  }
  return out;
}

}  // namespace

std::optional<HaloPlan> choose_halos(const Op& op, const ShardedOp& sharded,
                                     const FactorAssignment& other) {
  const HaloRule* rule = ops::find_halo_rule(*op.def);
  if (!rule) return std::nullopt;
  HaloPlan plan{.assignment = assign_factors(sharded, {.shard_halos = true}),
                .operands = rule->windowed(op.operands.size())};
  FactorAssignment& a = plan.assignment;
  Type operand = sharded.operand_types[0];
  int64_t cost = 0;
  AtomSet widened_along = 0;
  for (const HaloDim& halo : rule->dims(op.params, sharded.operand_types, sharded.result_types)) {
    const AtomList& atoms = a.operands[0][halo.dim];
    const int64_t n = sharded.mesh.size(atoms);
    if (n == 1) continue;
    const int64_t taps = halo.tap_dim < 0 ? 0 : sharded.operand_types[1].shape[halo.tap_dim];
    const std::optional<Reach> reach =
        reach_of(halo, n, taps, sharded.result_types[0].shape[halo.result_dim]);
    if (!reach) return std::nullopt;
    if (halo.tap_dim >= 0) a.reduced |= atom_set(atoms);
    widened_along |= atom_set(atoms);
    Type widened = operand;
    widened.shape[halo.dim] = n * reach->rows;
    WindowRequest request{.mapping = windows_of(*reach, n, operand.shape, halo.dim),
                          .operands = {operand, Type{.dtype = operand.dtype}},
                          .operand_dims = {a.operands[0], {}},
                          .result = widened,
                          .result_dims = a.operands[0]};
    std::optional<WindowPlan> rows = plan_windows(sharded.mesh, request);
    if (!rows) return std::nullopt;
    cost += rows->cost * static_cast<int64_t>(plan.operands);
    plan.dims.push_back({.halo = halo,
                         .rows = *std::move(rows),
                         .local = reach->rows,
                         .low = reach->low,
                         .high = reach->high});
    operand = widened;
  }
  if (plan.dims.empty()) return std::nullopt;
  // A dimension with windows but without a halo rule must not be sharded.
  for (size_t id = 0; id < a.axes.size(); ++id)
    if (sharded.factors.factors[id].kind == FactorKind::kPermutation &&
        (atom_set(a.axes[id]) & ~widened_along))
      return std::nullopt;
  cost += assignment_cost(sharded, a);
  if (cost > assignment_cost(sharded, other)) return std::nullopt;
  return plan;
}

std::vector<Array> widen(const AtomMesh& mesh, const HaloPlan& plan, const Op& op,
                         std::vector<Array> local) {
  const HaloRule& rule = *ops::find_halo_rule(*op.def);
  for (size_t k = 0; k < plan.operands; ++k) {
    const Array neutral_operand = rule.neutral_operand(op.params, local[k].dtype());
    for (const HaloPlan::Dim& dim : plan.dims) {
      Shape shape = local[k].shape();
      shape[dim.halo.dim] = dim.local;
      local[k] = apply_windows(mesh, dim.rows, shape, std::vector{local[k], neutral_operand});
    }
  }
  return local;
}

OpParams params_of_shards(const HaloPlan& plan, const Op& op) {
  const HaloRule& rule = *ops::find_halo_rule(*op.def);
  OpParams params = op.params;
  for (const HaloPlan::Dim& dim : plan.dims)
    params = rule.padded(params, dim.halo, dim.low, dim.high);
  return params;
}

}  // namespace tessera::spmd
