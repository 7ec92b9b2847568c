#include "tessera/spmd/windows.h"

#include <algorithm>

#include "tessera/ops/broadcast.h"
#include "tessera/ops/collectives.h"
#include "tessera/ops/compare.h"
#include "tessera/ops/concatenate.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/pad.h"
#include "tessera/ops/reshape.h"
#include "tessera/ops/select.h"
#include "tessera/ops/slice.h"
#include "tessera/spmd/reshard.h"

namespace tessera {
namespace {

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// The rows of the operand's dimension of `extent` rows that shard i of n of the result needs: [low,
// high), possibly none.
struct Needs {
  std::vector<int64_t> begin;  // unclipped start of each device's window
  int64_t size;                // rows of a window
  std::vector<std::pair<int64_t, int64_t>> rows;
};

Needs needs_of(const IndexTerm& term, int64_t n, int64_t shard, int64_t guard_start,
               int64_t guard_stop, int64_t result_extent, int64_t extent) {
  Needs out;
  out.size = shard == 0 ? 0 : std::abs(term.stride) * (shard - 1) + 1;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t first = term.offset + term.stride * i * shard;
    out.begin.push_back(term.stride > 0 ? first : first - (out.size - 1));
    // Only what the piece copies into result rows that exist.
    const int64_t low = std::max(i * shard, guard_start),
                  high = std::min({(i + 1) * shard, guard_stop, result_extent});
    if (low >= high) {
      out.rows.emplace_back(0, 0);
      continue;
    }
    const int64_t a = term.offset + term.stride * low, b = term.offset + term.stride * (high - 1);
    out.rows.emplace_back(std::max<int64_t>(0, std::min(a, b)),
                          std::min(extent, std::max(a, b) + 1));
  }
  return out;
}

// What travels, and where the windows lie in what arrives. Device i's home is shard i, or, where
// the dimension is reversed, shard n - 1 - i: hops are counted from there.
void plan_hops(const Needs& needs, int64_t n, int64_t own, DimWindow& w) {
  auto home = [&](int64_t i) { return w.stride > 0 ? i : n - 1 - i; };
  int64_t least = 0, most = 0;
  bool any = false;
  for (int64_t i = 0; i < n; ++i) {
    const auto [low, high] = needs.rows[i];
    if (low >= high) continue;
    const int64_t a = floor_div(low, own) - home(i), b = floor_div(high - 1, own) - home(i);
    least = any ? std::min(least, a) : a;
    most = any ? std::max(most, b) : b;
    any = true;
  }
  int64_t rows = 0;
  for (int64_t shift = least; shift <= most; ++shift) {
    DimWindow::Hop hop{shift, own, 0, {}};
    for (int64_t i = 0; i < n; ++i) {
      const int64_t owner = home(i) + shift;
      if (owner < 0 || owner >= n) continue;
      const int64_t low = std::max(needs.rows[i].first, owner * own),
                    high = std::min(needs.rows[i].second, (owner + 1) * own);
      if (low >= high) continue;
      hop.low = std::min(hop.low, low - owner * own);
      hop.high = std::max(hop.high, high - owner * own);
      hop.pairs.push_back({owner, i});
    }
    // Rows of neighbouring hops join without a gap.
    if (shift > least) hop.low = 0;
    if (shift < most) hop.high = own;
    if (shift > least && shift == most && hop.high < hop.low) hop.high = hop.low;
    if (w.stride > 0 && shift == 0) hop.pairs.clear();  // at home
    rows += hop.high - hop.low;
    w.hops.push_back(std::move(hop));
  }
  // Device i's buffer begins at row (home(i) + least) own + low of the operand.
  auto in_buffer = [&](int64_t i) {
    return needs.begin[i] - (home(i) + least) * own - w.hops.front().low;
  };
  w.start = in_buffer(0);
  w.step = n > 1 ? in_buffer(1) - in_buffer(0) : 0;
  w.size = needs.size;
  for (int64_t i = 0; i < n; ++i) {
    if (needs.rows[i].first >= needs.rows[i].second) continue;
    const int64_t at = w.start + i * w.step;
    w.pad_low = std::max(w.pad_low, -at);
    w.pad_high = std::max(w.pad_high, at + w.size - rows);
  }
  // A window that nobody needs may lie anywhere, but must fit.
  w.pad_high = std::max(w.pad_high, w.size - rows - w.pad_low);
  w.start += w.pad_low;
}

Array slice_dim(const Array& x, int dim, int64_t low, int64_t high, int64_t stride = 1) {
  if (low == 0 && high == x.shape()[dim] && stride == 1) return x;
  Dims start(x.ndim(), 0), limit = x.shape(), strides(x.ndim(), 1);
  start[dim] = low;
  limit[dim] = high;
  strides[dim] = stride;
  return lax::slice(x, start, limit, strides);
}

Array fetch(const AtomMesh& mesh, const DimWindow& w, const Array& x) {
  std::vector<Array> parts;
  for (const DimWindow::Hop& hop : w.hops) {
    Array rows = slice_dim(x, w.dim, hop.low, hop.high);
    if (!hop.pairs.empty())
      rows = bind1(collective_permute_op,
                   CollectivePermuteParams{
                       .mesh = mesh.mesh(), .axes = mesh.axis_names(w.atoms), .pairs = hop.pairs},
                   {rows});
    parts.push_back(std::move(rows));
  }
  Array buffer = parts.size() == 1 ? parts[0] : lax::concatenate(parts, w.dim);
  if (w.pad_low > 0 || w.pad_high > 0) {
    Dims low(x.ndim(), 0), high(x.ndim(), 0);
    low[w.dim] = w.pad_low;
    high[w.dim] = w.pad_high;
    buffer = lax::pad(buffer, Array(Literal(x.dtype(), Shape{})), low, high, Dims(x.ndim(), 0));
  }
  Array window;
  if (w.step == 0) {
    window = slice_dim(buffer, w.dim, w.start, w.start + w.size);
  } else {
    auto scalar = [](int64_t v) { return Array(Literal::scalar(static_cast<int32_t>(v))); };
    std::vector<Array> starts(x.ndim(), scalar(0));
    starts[w.dim] = lax::add(lax::mul(atom_index(mesh, w.atoms), scalar(w.step)), scalar(w.start));
    Shape sizes = buffer.shape();
    sizes[w.dim] = w.size;
    window = lax::dynamic_slice(buffer, starts, sizes);
  }
  if (w.stride < 0) window = lax::rev(window, {w.dim});
  return slice_dim(window, w.dim, 0, w.size, std::abs(w.stride));
}

}  // namespace

std::optional<WindowPlan> plan_windows(const AtomMesh& mesh, const Op& op, const Factors& factors,
                                       const FactorAssignment& a, std::span<const Type> operands,
                                       const Type& result) {
  const auto* map = std::get_if<IndexMap>(&op.def->lower);
  if (!map || op.results.size() != 1) return std::nullopt;
  bool cuts = false;
  for (const DimFactors& dim : factors.results[0])
    for (int id : dim)
      cuts = cuts ||
             (!a.axes[id].empty() && (factors.factors[id].kind == FactorKind::kPermutation ||
                                      factors.factors[id].kind == FactorKind::kNeedReplication));
  if (!cuts) return std::nullopt;
  const IndexMapping mapping = map->map(op.params, operands, std::span(&result, 1));
  if (mapping.reshape) return std::nullopt;
  WindowPlan plan;
  plan.fill = mapping.fill;
  for (const IndexPiece& piece : mapping.pieces) {
    const Type& operand = operands[piece.operand];
    if (operand.rank() != result.rank() || !piece.start_dynamic.empty()) return std::nullopt;
    std::vector<DimWindow>& windows = plan.pieces.emplace_back();
    plan.operands.push_back(piece.operand);
    Shape rows = local_shape(mesh, operand.shape, a.operands[piece.operand]);
    for (int d = 0; d < operand.rank(); ++d) {
      const IndexTerm& term = piece.terms[d];
      if (term.result_dim != d || term.dynamic >= 0 || term.divisor != 1 || term.stride == 0)
        return std::nullopt;
      if (a.operands[piece.operand][d] != a.results[0][d]) return std::nullopt;
      DimWindow w{.dim = d, .atoms = a.results[0][d]};
      const int64_t extent = operand.shape[d], n = mesh.size(w.atoms);
      if (!piece.start.empty()) {
        w.guard_start = piece.start[d];
        w.guard_stop = piece.stop[d];
        w.guarded = w.guard_start > 0 || w.guard_stop < result.shape[d];
      } else {
        w.guard_stop = result.shape[d];
      }
      if (!w.guarded && term.stride == 1 && term.offset == 0 && extent == result.shape[d])
        continue;  // row for row
      w.shard = ceil_div(result.shape[d], n);
      w.stride = term.stride;
      const int64_t own = ceil_div(extent, n);
      if (own == 0 || w.shard == 0) return std::nullopt;
      plan_hops(needs_of(term, n, w.shard, w.guard_start, w.guard_stop, result.shape[d], extent), n,
                own, w);
      const int64_t row_bytes = rows.elements() / own * itemsize(operand.dtype);
      for (const DimWindow::Hop& hop : w.hops)
        if (!hop.pairs.empty()) plan.cost += (hop.high - hop.low) * row_bytes + kReshardStepCost;
      rows[d] = w.shard;
      windows.push_back(std::move(w));
    }
  }
  return plan;
}

Array apply_windows(const AtomMesh& mesh, const WindowPlan& plan, const Shape& local_result,
                    std::span<const Array> operands) {
  Array out;
  if (plan.fill >= 0) out = lax::broadcast_in_dim(operands[plan.fill], local_result, {});
  // The first piece that applies counts: it is laid over the others.
  for (size_t p = plan.pieces.size(); p-- > 0;) {
    Array x = operands[plan.operands[p]], inside;
    for (const DimWindow& w : plan.pieces[p]) {
      x = fetch(mesh, w, x);
      if (!w.guarded) continue;
      auto full = [&](int64_t v) { return lax::full(local_result, static_cast<double>(v), int32); };
      const Array offset = lax::mul(atom_index(mesh, w.atoms),
                                    Array(Literal::scalar(static_cast<int32_t>(w.shard))));
      const Array row = lax::add(lax::iota(int32, local_result, w.dim),
                                 lax::broadcast_in_dim(offset, local_result, {}));
      const Array here =
          lax::bitwise_and(lax::ge(row, full(w.guard_start)), lax::lt(row, full(w.guard_stop)));
      inside = inside.defined() ? lax::bitwise_and(inside, here) : here;
    }
    out = out.defined() && inside.defined() ? lax::select(inside, x, out) : x;
  }
  return out;
}

}  // namespace tessera
