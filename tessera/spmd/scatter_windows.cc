#include "tessera/spmd/scatter_windows.h"

#include <algorithm>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/reductions/select_and_scatter.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/spmd/cost.h"
#include "tessera/spmd/reshard.h"

namespace tessera::spmd {
namespace {

using namespace array_math;
using ops::SelectAndScatterParams;

// The windows along one dimension that contain rows of each device's shard.
struct Reach {
  int64_t extent, results, size, stride, low;
  std::vector<int64_t> first, count;  // for each device
  // The number of windows that every device has room for, and the number of rows of these.
  int64_t windows = 0, block = 0;

  int64_t shard() const { return ceil_div(extent, static_cast<int64_t>(first.size())); }
  // Returns the row of the array at which device i's block begins. own(i) is the position of the
  // device's own rows in the block.
  int64_t origin(size_t i) const { return first[i] * stride - low; }
  int64_t own(size_t i) const { return static_cast<int64_t>(i) * shard() - origin(i); }
};

Reach reach_of(int64_t extent, int64_t results, const Windows& windows, int d, int64_t devices) {
  Reach out{extent, results, windows.size[d], windows.strides[d], windows.low[d]};
  out.first.resize(static_cast<size_t>(devices));
  for (size_t i = 0; i < out.first.size(); ++i) {
    // These are counted from the beginning of the first window.
    const int64_t begin = static_cast<int64_t>(i) * out.shard() + out.low,
                  end = std::min(begin + out.shard(), extent + out.low);
    out.first[i] = begin < out.size ? 0 : ceil_div(begin - out.size + 1, out.stride);
    out.count.push_back(
        std::max<int64_t>(0, std::min(results, ceil_div(end, out.stride)) - out.first[i]));
    const int64_t span = begin + out.shard() - out.first[i] * out.stride;
    out.windows = std::max({out.windows, out.count[i],
                            span <= out.size ? 1 : ceil_div(span - out.size, out.stride) + 1});
  }
  out.block = (out.windows - 1) * out.stride + out.size;
  return out;
}

// Returns a piece of an index map: result rows [begin, stop) along `dim` are the operand's rows
// from `row` on.
IndexPiece copy_rows(const Shape& operand, int dim, int64_t begin, int64_t stop, int64_t row) {
  IndexPiece piece{.operand = 0, .start = Dims(operand.size(), 0), .stop = operand};
  for (int d = 0; d < operand.rank(); ++d) piece.terms.push_back({.result_dim = d});
  piece.terms[static_cast<size_t>(dim)].offset = row - begin;
  piece.start[dim] = begin;
  piece.stop[dim] = stop;
  return piece;
}

// Returns the index map that puts the blocks of all devices in order. `high` is the number of rows
// that may follow the array's last row.
IndexMapping blocks_of_rows(const Reach& reach, const Shape& operand, int dim, int64_t high) {
  IndexMapping out{.fill = 1};
  for (size_t i = 0; i < reach.first.size(); ++i) {
    if (reach.count[i] == 0) continue;
    const int64_t at = static_cast<int64_t>(i) * reach.block, origin = reach.origin(i),
                  rows = (reach.count[i] - 1) * reach.stride + reach.size;
    const auto copy = [&](int64_t begin, int64_t stop, int64_t row) {
      if (begin < stop)
        out.pieces.push_back(copy_rows(operand, dim, at + begin - origin, at + stop - origin, row));
    };
    for (int64_t r = origin; r < std::min<int64_t>(0, origin + rows); ++r) copy(r, r + 1, 0);
    const int64_t inside = std::max<int64_t>(0, origin);
    copy(inside, std::min(reach.extent, origin + rows), inside);
    for (int64_t r = std::max(reach.extent, origin);
         r < std::min(reach.extent + high, origin + rows); ++r)
      copy(r, r + 1, reach.extent - 1);
  }
  return out;
}

IndexMapping blocks_of_values(const Reach& reach, const Shape& source, int dim) {
  IndexMapping out{.fill = 1};
  for (size_t i = 0; i < reach.first.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i) * reach.windows;
    if (reach.count[i] > 0)
      out.pieces.push_back(copy_rows(source, dim, at, at + reach.count[i], reach.first[i]));
  }
  return out;
}

std::optional<WindowPlan> plan_blocks(const AtomMesh& mesh, IndexMapping mapping, int64_t rows,
                                      const Type& operand, const DimAtoms& dims, int dim) {
  Type result = operand;
  result.shape[dim] = rows * mesh.size(dims[dim]);
  return plan_windows(mesh, {.mapping = std::move(mapping),
                             .operands = {operand, Type{.dtype = operand.dtype}},
                             .operand_dims = {dims, {}},
                             .result = result,
                             .result_dims = dims});
}

// Returns the only dimension that has windows and is sharded in the result; -1 if there is none, or
// more than one.
int sharded_dim(const ShardedOp& sharded, const Windows& windows) {
  int out = -1;
  for (int d = 0; d < sharded.result_types[0].rank(); ++d) {
    if (windows.trivial(d) || sharded.results[0][d].empty()) continue;
    if (out >= 0) return -1;
    out = d;
  }
  return out;
}

bool may_be_in_blocks(const SelectAndScatterParams& p, int d) {
  const bool padded = p.low[d] != 0 || p.high[d] != 0;
  return !p.scatter && p.strides[d] <= p.size[d] && 0 <= p.low[d] && p.low[d] < p.size[d] &&
         0 <= p.high[d] && p.high[d] < p.size[d] && !(padded && p.kind == SelectKind::kCustom);
}

}  // namespace

std::optional<ScatterPlan> choose_scatter_windows(const Op& op, const ShardedOp& sharded,
                                                  const FactorAssignment& other) {
  const SelectAndScatterParams* params = ops::as_select_and_scatter(op);
  if (!params) return std::nullopt;
  const SelectAndScatterParams& p = *params;
  const int d = sharded_dim(sharded, p.windows());
  const Type &operand = sharded.operand_types[0], &source = sharded.operand_types[1];
  if (d < 0 || !may_be_in_blocks(p, d) || source.elements() == 0) return std::nullopt;
  const AtomMesh& mesh = sharded.mesh;
  const DimAtoms& dims = sharded.results[0];
  const Reach reach =
      reach_of(operand.shape[d], source.shape[d], p.windows(), d, mesh.size(dims[d]));
  std::optional<WindowPlan> rows = plan_blocks(
      mesh, blocks_of_rows(reach, operand.shape, d, p.high[d]), reach.block, operand, dims, d);
  std::optional<WindowPlan> values =
      plan_blocks(mesh, blocks_of_values(reach, source.shape, d), reach.windows, source, dims, d);
  if (!rows || !values) return std::nullopt;
  ScatterPlan plan{.dim = d,
                   .assignment = other,
                   .rows = *std::move(rows),
                   .values = *std::move(values),
                   .block = reach.block,
                   .windows = reach.windows,
                   .extent = reach.extent,
                   .low = p.low[d] > 0,
                   .high = p.high[d] > 0};
  for (size_t i = 0; i < reach.first.size(); ++i) {
    plan.own.push_back(reach.own(i));
    plan.origin.push_back(-reach.origin(i));
  }
  plan.assignment.operands = {dims, dims, {}};
  plan.assignment.results = {dims};
  plan.assignment.reduced = 0;
  const int64_t cost =
      plan.rows.cost + plan.values.cost + assignment_cost(sharded, plan.assignment);
  if (cost > assignment_cost(sharded, other)) return std::nullopt;
  return plan;
}

namespace {

// Returns this device's entry of `numbers`, which has one for each device.
Array of_device(const AtomMesh& mesh, const AtomList& atoms, const std::vector<int64_t>& numbers) {
  Literal table(int32, {static_cast<int64_t>(numbers.size())});
  std::copy(numbers.begin(), numbers.end(), table.mutable_data<int32_t>());
  const Array device = shard_start(mesh, atoms, 1);
  return lax::reshape(lax::dynamic_slice(lax::constant(table), {&device, 1}, {1}), {});
}

}  // namespace

Array apply_scatter_windows(const AtomMesh& mesh, const ScatterPlan& plan, const Op& op,
                            const Shape& local_result, std::span<const Array> local) {
  const AtomList& atoms = plan.assignment.results[0][plan.dim];
  const Array zero = Array(Literal(local[0].dtype(), {}));
  const auto widened = [&](const Array& x, const WindowPlan& rows, int64_t count) {
    Shape shape = x.shape();
    shape[plan.dim] = count;
    return apply_windows(mesh, rows, shape, std::vector{x, zero});
  };
  // Here the op has no padding along the dimension. Windows that do not exist have the value zero.
  SelectAndScatterParams p = op.params.as<SelectAndScatterParams>();
  p.low[plan.dim] = p.high[plan.dim] = 0;
  Array out = bind_op1(*op.def, p,
                       {widened(local[0], plan.rows, plan.block),
                        widened(local[1], plan.values, plan.windows), zero});
  if (plan.low || plan.high) {
    const Shape shape = out.shape();
    const Array row = lax::iota(int32, shape, plan.dim) -
                      lax::broadcast_in_dim(of_device(mesh, atoms, plan.origin), shape, {});
    const Array nothing = lax::full_like(out, 0);
    // Adds what was scattered to copies of a row to the row itself.
    const auto fold = [&](const Array& is_copy, int64_t to) {
      const Array sum = lax::reduce_sum(lax::select(is_copy, out, nothing), {plan.dim});
      Dims others;
      for (int64_t d = 0; d < shape.rank(); ++d)
        if (d != plan.dim) others.push_back(d);
      const Array here = lax::eq(row, lax::full_like(row, static_cast<double>(to)));
      out = out + lax::select(here, lax::broadcast_in_dim(sum, shape, others), nothing);
    };
    if (plan.low) fold(lax::lt(row, lax::full_like(row, 0)), 0);
    if (plan.high)
      fold(lax::ge(row, lax::full_like(row, static_cast<double>(plan.extent))), plan.extent - 1);
  }
  out = lax::dynamic_slice_in_dim(out, of_device(mesh, atoms, plan.own), local_result[plan.dim],
                                  plan.dim);
  return out + lax::broadcast_in_dim(local[2], out.shape(), {});
}

}  // namespace tessera::spmd
