#include "tessera/spmd/windows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/reductions/neutral.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/spmd/cost.h"
#include "tessera/spmd/reshard.h"

namespace tessera::spmd {
namespace {

// --- planning ---

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// Returns the positions in the result of the rows that each device has, after the device has
// reversed, thinned or spread them.
std::vector<RowHolding> hold_rows(const IndexTerm& term, int64_t start, int64_t extent, int64_t n,
                                  DimWindow& w) {
  w.first.clear();
  w.reversed = term.stride < 0;
  w.stride = std::abs(term.stride);
  w.divisor = term.divisor;
  // Row l of the result is row offset + stride * l of the operand (of the reversed operand if
  // w.reversed).
  const int64_t offset = w.reversed ? extent - 1 - term.offset : term.offset;
  w.kept = w.divisor > 1 ? (w.own - 1) * w.divisor + 1 : ceil_div(w.own, w.stride);
  std::vector<RowHolding> out;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t begin = std::min(i * w.own, extent), end = std::min((i + 1) * w.own, extent);
    const int64_t base = w.reversed ? extent - (i + 1) * w.own : i * w.own;
    const RowRange rows =
        w.reversed ? RowRange{extent - end, extent - begin} : RowRange{begin, end};
    if (w.divisor > 1) {
      w.first.push_back(0);
      out.push_back({i,
                     start + w.divisor * base,
                     {start + w.divisor * rows.low, start + w.divisor * (rows.high - 1) + 1}});
      continue;
    }
    const auto up = [&](int64_t row) { return -floor_div(offset - row, w.stride); };
    const int64_t first = up(base);  // the first result row that this device may have
    w.first.push_back(offset + w.stride * first - base);
    out.push_back({i, first, {up(rows.low), rows.empty() ? up(rows.low) : up(rows.high)}});
  }
  return out;
}

class WindowPlanner {
 public:
  // joins_operands: whether pieces of different operands are sent together, too, as those of a
  // concatenation.
  WindowPlanner(const AtomMesh& mesh, const WindowRequest& request, bool joins_operands)
      : mesh_(mesh),
        r_(request),
        joins_operands_(joins_operands),
        latency_(bytes_of_latency(mesh.mesh())) {}

  std::optional<WindowPlan> run() {
    if (r_.mapping.reshape) return std::nullopt;
    plan_.fill = r_.mapping.fill;
    plan_.result_dims = r_.result_dims;
    if (r_.partial && !may_be_partial()) return std::nullopt;
    for (const Segments& segments : joined_pieces())
      if (!add_piece(segments)) return std::nullopt;
    return std::move(plan_);
  }

 private:
  // Pieces that copy to adjacent parts of dimension `dim` of the result, from one operand (the two
  // halves of a roll) or from several. Their rows are sent together.
  struct Segments {
    std::vector<const IndexPiece*> pieces;
    int dim = -1;
    std::vector<int> operands() const {
      std::vector<int> out;
      for (const IndexPiece* piece : pieces)
        if (out.empty() || out.back() != piece->operand) out.push_back(piece->operand);
      return out;
    }
  };
  std::vector<Segments> joined_pieces() const {
    std::vector<Segments> out;
    for (const IndexPiece& piece : r_.mapping.pieces) {
      if (!out.empty() && joins(out.back(), piece)) {
        out.back().pieces.push_back(&piece);
      } else {
        out.push_back({{&piece}});
      }
    }
    return out;
  }
  bool joins(Segments& segments, const IndexPiece& next) const {
    const IndexPiece& last = *segments.pieces.back();
    const bool other = next.operand != last.operand;
    if ((other && !joins_operands_) || last.start.empty() || next.start.empty() ||
        !last.start_dynamic.empty() || !next.start_dynamic.empty() ||
        last.terms.size() != r_.result.shape.size())
      return false;
    int dim = -1;
    for (size_t d = 0; d < next.terms.size(); ++d) {
      const IndexTerm &a = last.terms[d], &b = next.terms[d];
      if (a.result_dim != b.result_dim || a.stride != b.stride || a.divisor != b.divisor ||
          a.dynamic >= 0 || b.dynamic >= 0)
        return false;
      if (a.offset == b.offset && last.start[d] == next.start[d] && last.stop[d] == next.stop[d])
        continue;
      if (dim >= 0 || std::abs(a.stride) != 1 || a.divisor != 1 || last.stop[d] != next.start[d])
        return false;
      dim = static_cast<int>(d);
    }
    if (dim < 0 || (segments.dim >= 0 && segments.dim != dim)) return false;
    if (other && !are_alike(last, next, dim)) return false;
    segments.dim = dim;
    return true;
  }
  // Returns whether the shards of both operands can be joined along a sharded dimension.
  bool are_alike(const IndexPiece& a, const IndexPiece& b, int dim) const {
    Shape shape = operand(a).shape;
    if (shape.rank() != operand(b).rank() || a.terms[dim].stride != 1 || atoms(a, dim).empty())
      return false;
    shape[dim] = operand(b).shape[dim];
    return shape == operand(b).shape && operand(a).dtype == operand(b).dtype &&
           r_.operand_dims[a.operand] == r_.operand_dims[b.operand];
  }

  const Type& operand(const IndexPiece& piece) const { return r_.operands[piece.operand]; }
  const AtomList& atoms(const IndexPiece& piece, int d) const {
    return r_.operand_dims[piece.operand][d];
  }
  RowRange guard(const IndexPiece& piece, int d) const {
    const int64_t extent = r_.result.shape[d];
    if (piece.start.empty()) return {0, extent};
    return {std::max<int64_t>(0, piece.start[d]), std::min(extent, piece.stop[d])};
  }
  bool covers(const IndexPiece& piece, int d) const {
    const RowRange rows = guard(piece, d);
    return piece.terms[d].divisor == 1 && rows.low == 0 && rows.high == r_.result.shape[d];
  }
  bool is_identity(const IndexPiece& piece, int d) const {
    const IndexTerm& term = piece.terms[d];
    const bool fixed = term.dynamic < 0 || term.dynamic_max == 0;  // or all rows are taken
    return fixed && covers(piece, d) && term.stride == 1 && term.offset == 0 &&
           operand(piece).shape[d] == r_.result.shape[d];
  }

  // Returns whether the result can be computed as a sum over devices. One copy must cover all of
  // it, since other elements would be summed, too, and its dtype must have a value that changes no
  // sum.
  bool may_be_partial() const {
    if (r_.mapping.pieces.size() != 1) return false;
    const IndexPiece& piece = r_.mapping.pieces[0];
    if (operand(piece).rank() != r_.result.rank()) return false;
    for (int d = 0; d < r_.result.rank(); ++d)
      if (!covers(piece, d)) return false;
    return has_neutral_to_sum(r_.result.dtype);
  }

  bool add_piece(const Segments& segments) {
    const IndexPiece& piece = *segments.pieces[0];
    const Type& from = operand(piece);
    if (from.rank() != r_.result.rank() || !piece.start_dynamic.empty()) return false;
    std::vector<DimWindow> windows;
    for (int d = 0; d < from.rank(); ++d) {
      const IndexTerm& term = piece.terms[d];
      if (term.result_dim != d || term.stride == 0) return false;
      if (d != segments.dim && is_identity(piece, d)) {
        if (atoms(piece, d) != r_.result_dims[d]) return false;
        continue;
      }
      std::optional<DimWindow> w =
          term.dynamic >= 0 ? dynamic_window(piece, d) : window(segments, d);
      if (!w) return false;
      windows.push_back(std::move(*w));
    }
    // Windows that shrink the operand come first: then less is moved along the other dimensions.
    std::stable_sort(windows.begin(), windows.end(), [](const DimWindow& a, const DimWindow& b) {
      return a.shard * std::max<int64_t>(1, b.own) < b.shard * std::max<int64_t>(1, a.own);
    });
    add_cost(local_shape(mesh_, from.shape, r_.operand_dims[piece.operand]), from.dtype, windows);
    plan_.pieces.push_back({segments.operands(), segments.dim, std::move(windows)});
    return true;
  }

  DimWindow blank(const IndexPiece& piece, int d, int64_t n) const {
    return {.dim = d,
            .atoms = atoms(piece, d),
            .own = ceil_div(operand(piece).shape[d], n),
            .shard = ceil_div(r_.result.shape[d], n)};
  }

  std::optional<DimWindow> window(const Segments& segments, int d) {
    const IndexPiece& piece = *segments.pieces[0];
    const int64_t n = mesh_.size(atoms(piece, d)), extent = operand(piece).shape[d];
    // If the result has more rows than a shard, a sharded result takes less memory than a sum.
    const bool sums = r_.partial && n > 1 && r_.result.shape[d] <= ceil_div(extent, n);
    if (!sums && atoms(piece, d) != r_.result_dims[d]) return std::nullopt;
    DimWindow w = blank(piece, d, n);
    RowRange rows = guard(piece, d);
    if (d == segments.dim) rows.high = guard(*segments.pieces.back(), d).high;
    w.guard_start = piece.start.empty() ? 0 : piece.start[d];
    w.guard_stop = rows.high;
    w.guarded = piece.terms[d].divisor > 1 || rows.low > 0 || rows.high < r_.result.shape[d];
    if (sums) make_partial(d, w);
    if ((extent == 0 && segments.operands().size() == 1) || w.shard == 0) return w;
    // If several operands are sent together, a device has their shards one after the other.
    std::vector<RowHolding> held;
    int64_t before = 0;
    const IndexPiece* last = &piece;
    for (const IndexPiece* part : segments.pieces) {
      if (part->operand != last->operand) {
        before += w.kept;
        w.own = ceil_div(operand(*part).shape[d], n);
      }
      last = part;
      const RowRange own = guard(*part, d);
      for (RowHolding& h :
           hold_rows(part->terms[d], w.guard_start, operand(*part).shape[d], n, w)) {
        h.base -= before;
        h.range = {std::max(h.range.low, own.low), std::min(h.range.high, own.high)};
        // A device has rows of only a few of many pieces.
        if (sums || !h.range.empty()) held.push_back(h);
      }
      if (d != segments.dim) break;
    }
    w.own += before;
    w.kept += before;
    w.moves = sums ? std::vector{laid_over_neutral(held, w)}
                   : plan_row_moves(held, n, w.kept, w.shard, rows);
    return w;
  }

  // Returns the move of a sum: every device has all rows of the result, and its own rows at their
  // positions.
  static RowMove laid_over_neutral(const std::vector<RowHolding>& held, const DimWindow& w) {
    RowMove move{.home = true, .rows = w.kept};
    for (const RowHolding& h : held) {
      move.send.push_back(0);
      move.target_row.push_back(std::clamp(h.base, -w.kept, w.shard));
      RowRange taken{std::max<int64_t>(0, h.range.low), std::min(w.shard, h.range.high)};
      move.taken.push_back(taken.empty() ? RowRange{} : taken);
    }
    return move;
  }

  // Returns the window for a dynamic start, for which any shard may have any row.
  std::optional<DimWindow> dynamic_window(const IndexPiece& piece, int d) {
    const int64_t n = mesh_.size(atoms(piece, d));
    const IndexTerm& term = piece.terms[d];
    if (n > 1 && !r_.partial) return std::nullopt;
    DimWindow w = blank(piece, d, n);
    w.start = term.dynamic;
    w.start_max = term.dynamic_max;
    make_partial(d, w);
    w.partial = n > 1;
    return w;
  }

  void make_partial(int d, DimWindow& w) {
    w.partial = true;
    w.shard = r_.result.shape[d];
    plan_.result_dims[d].clear();
    plan_.reduced |= atom_set(w.atoms);
  }

  void add_cost(Shape rows, DType dtype, const std::vector<DimWindow>& windows) {
    for (const DimWindow& w : windows) {
      const int64_t row_bytes =
          rows[w.dim] == 0 ? 0 : rows.elements() / rows[w.dim] * itemsize(dtype);
      for (const RowMove& move : w.moves)
        if (!move.home) plan_.cost += move.rows * row_bytes + latency_;
      rows[w.dim] = w.shard;
    }
  }

  const AtomMesh& mesh_;
  const WindowRequest& r_;
  const bool joins_operands_;
  const int64_t latency_;
  WindowPlan plan_;
};

// --- application ---

Array number(int64_t value) { return Array(Literal::scalar(static_cast<int32_t>(value))); }

// A number that may differ between devices.
struct DeviceNumber {
  std::optional<int64_t> fixed;
  Array value;
};

DeviceNumber device_number(const AtomMesh& mesh, const AtomList& atoms,
                           const std::vector<int64_t>& values) {
  if (std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values[0]; }))
    return {values[0], number(values[0])};
  Literal table(int32, Shape{static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    table.mutable_data<int32_t>()[i] = static_cast<int32_t>(values[i]);
  const Array mine =
      lax::dynamic_slice(Array(std::move(table)), std::vector{atom_index(mesh, atoms)}, {1});
  return {std::nullopt, lax::reshape(mine, {})};
}

Array rows_from(const Array& x, int dim, const DeviceNumber& start, int64_t size) {
  if (start.fixed) return lax::slice_in_dim(x, *start.fixed, *start.fixed + size, 1, dim);
  return dynamic_rows(x, dim, start.value, size);
}

// Returns rows [0, size) of the device's shard; x begins at row `target_row` of it.
Array place_parcel(Array x, int dim, const std::vector<int64_t>& target_rows,
                   const DeviceNumber& target_row, int64_t size) {
  const auto [least, most] = std::minmax_element(target_rows.begin(), target_rows.end());
  const int64_t low = std::max<int64_t>(0, *most),
                high = std::max<int64_t>(0, size - x.shape()[dim] - *least);
  x = pad_dim(x, dim, low, high);
  const DeviceNumber start = target_row.fixed
                                 ? DeviceNumber{low - *target_row.fixed, {}}
                                 : DeviceNumber{{}, lax::sub(number(low), target_row.value)};
  return rows_from(x, dim, start, size);
}

// Returns where low <= row < high along `dim` of `shape`, with this device's low and high. An
// undefined Array means everywhere.
Array in_range(const AtomMesh& mesh, const AtomList& atoms, const std::vector<RowRange>& ranges,
               const Shape& shape, int dim) {
  std::vector<int64_t> low, high;
  for (const RowRange& r : ranges) {
    low.push_back(r.low);
    high.push_back(r.high);
  }
  const Array row = lax::iota(int32, shape, dim);
  auto bound = [&](const std::vector<int64_t>& values) {
    return lax::broadcast_in_dim(device_number(mesh, atoms, values).value, shape, {});
  };
  Array out;
  if (std::any_of(low.begin(), low.end(), [](int64_t v) { return v > 0; }))
    out = lax::ge(row, bound(low));
  if (std::any_of(high.begin(), high.end(), [&](int64_t v) { return v < shape[dim]; })) {
    const Array below = lax::lt(row, bound(high));
    out = out.defined() ? lax::bitwise_and(out, below) : below;
  }
  return out;
}

// Returns the rows of x that the result needs, in the order in which the result has them.
Array keep_rows(const AtomMesh& mesh, const DimWindow& w, Array x) {
  if (w.reversed) x = lax::rev(x, {w.dim});
  if (w.divisor > 1) return pad_dim(x, w.dim, 0, 0, w.divisor - 1);
  if (w.stride == 1) return x;
  const int64_t span = (w.kept - 1) * w.stride + 1,
                last = *std::max_element(w.first.begin(), w.first.end());
  x = pad_dim(x, w.dim, 0, std::max<int64_t>(0, last + span - w.own));
  x = rows_from(x, w.dim, device_number(mesh, w.atoms, w.first), span);
  return lax::slice_in_dim(x, 0, span, w.stride, w.dim);
}

// Returns the parcel that the device gets in a move. If nothing is sent, it is all of `kept`.
Array parcel_of(const AtomMesh& mesh, const DimWindow& w, const RowMove& move, const Array& kept) {
  if (move.home) return kept;
  return bind_op1(collective_permute_op,
                  CollectivePermuteParams{
                      .mesh = mesh.mesh(), .axes = mesh.axis_names(w.atoms), .pairs = move.pairs},
                  {rows_from(kept, w.dim, device_number(mesh, w.atoms, move.send), move.rows)});
}

// Returns the concatenation of parcels that have the same positions on every device.
Array join_parts(const AtomMesh& mesh, const DimWindow& w, const std::vector<RowRange>& parts,
                 const Array& kept) {
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return parts[a].low < parts[b].low; });
  std::vector<Array> joined;
  for (size_t m : order) {
    if (parts[m].empty()) continue;
    const int64_t target_row = w.moves[m].target_row[0], rows = w.moves[m].rows;
    const int64_t low = parts[m].low - target_row, high = parts[m].high - target_row;
    const int64_t room = std::max<int64_t>(0, -low);
    const Array parcel = pad_dim(parcel_of(mesh, w, w.moves[m], kept), w.dim, room,
                                 std::max<int64_t>(0, high - rows));
    joined.push_back(lax::slice_in_dim(parcel, low + room, high + room, 1, w.dim));
  }
  return lax::concatenate(joined, w.dim);
}

Array fetch(const AtomMesh& mesh, const DimWindow& w, const Array& x) {
  Shape shape = x.shape();
  shape[w.dim] = w.shard;
  if (w.moves.empty() && !w.partial) return lax::full(shape, Literal(x.dtype(), Shape{}));
  const Array kept = w.moves.empty() ? x : keep_rows(mesh, w, x);
  Array out;
  if (w.partial) {
    out = neutral_to_sum(x.dtype(), shape);
  } else if (const std::vector<RowRange> parts = common_parts(w.moves, w.shard); !parts.empty()) {
    return join_parts(mesh, w, parts, kept);
  }
  for (const RowMove& move : w.moves) {
    const Array parcel = place_parcel(parcel_of(mesh, w, move, kept), w.dim, move.target_row,
                                      device_number(mesh, w.atoms, move.target_row), w.shard);
    if (!out.defined()) {
      out = parcel;
      continue;
    }
    const Array taken = in_range(mesh, w.atoms, move.taken, shape, w.dim);
    out = taken.defined() ? lax::select(taken, parcel, out) : parcel;
  }
  return out;
}

// Returns the start clamped to [0, max], as int32.
Array clamped_start(Array start, int64_t max) {
  auto wide = [](int64_t value) { return Array(Literal::scalar(value)); };
  if (start.dtype() == uint64) start = lax::min(start, Array(Literal::scalar(uint64_t{INT64_MAX})));
  start = lax::clamp(wide(0), lax::convert_element_type(start, int64), wide(max));
  return lax::convert_element_type(start, int32);
}

// Returns the rows from `start` on. In a sum, a device has only its own of these.
Array fetch_dynamic(const AtomMesh& mesh, const DimWindow& w, const Array& x, const Array& start) {
  const Array first = clamped_start(start, w.start_max);
  if (!w.partial) return dynamic_rows(x, w.dim, first, w.shard);
  Shape shape = x.shape();
  shape[w.dim] = w.shard;
  const Array here = lax::sub(first, shard_start(mesh, w.atoms, w.own));
  const Array at = lax::clamp(number(-w.shard), here, number(w.own));
  const Array rows = dynamic_rows(pad_dim(x, w.dim, w.shard, w.shard), w.dim,
                                  lax::add(at, number(w.shard)), w.shard);
  const Array row = lax::add(lax::iota(int32, shape, w.dim), lax::broadcast_in_dim(at, shape, {}));
  auto full = [&](int64_t v) { return lax::full(shape, static_cast<double>(v), int32); };
  const Array inside = lax::bitwise_and(lax::ge(row, full(0)), lax::lt(row, full(w.own)));
  return lax::select(inside, rows, neutral_to_sum(x.dtype(), shape));
}

// Returns whether the window copies each row of the local result.
Array guard_mask(const AtomMesh& mesh, const DimWindow& w, const Shape& shape) {
  auto full = [&](int64_t v) { return lax::full(shape, static_cast<double>(v), int32); };
  const Array row = global_rows(mesh, w.atoms, shape, w.dim);
  Array inside =
      lax::bitwise_and(lax::ge(row, full(w.guard_start)), lax::lt(row, full(w.guard_stop)));
  if (w.divisor > 1) {
    const Array step = lax::rem(lax::sub(row, full(w.guard_start)), full(w.divisor));
    inside = lax::bitwise_and(inside, lax::eq(step, full(0)));
  }
  return inside;
}

}  // namespace

std::optional<WindowPlan> plan_windows(const AtomMesh& mesh, const WindowRequest& request) {
  std::optional<WindowPlan> apart = WindowPlanner(mesh, request, false).run();
  if (!apart || request.operands.size() < 2) return apart;
  std::optional<WindowPlan> joined = WindowPlanner(mesh, request, true).run();
  return joined && joined->cost < apart->cost ? joined : apart;
}

bool compose_windows(const IndexMapping& inner, IndexPiece& piece) {
  if (inner.reshape || inner.fill >= 0 || inner.pieces.size() != 1) return false;
  const IndexPiece& behind = inner.pieces[0];
  if (!behind.start.empty() || behind.terms.size() != piece.terms.size()) return false;
  for (size_t d = 0; d < piece.terms.size(); ++d) {
    const IndexTerm &a = behind.terms[d], &b = piece.terms[d];
    const auto dim = static_cast<int>(d);
    if (a.result_dim != dim || a.dynamic >= 0 || a.divisor != 1 || a.stride == 0 ||
        b.result_dim != dim || b.dynamic >= 0 || b.divisor != 1)
      return false;
  }
  for (size_t d = 0; d < piece.terms.size(); ++d) {
    const IndexTerm& a = behind.terms[d];
    IndexTerm& b = piece.terms[d];
    b.offset = a.offset + a.stride * b.offset;
    b.stride *= a.stride;
  }
  return true;
}

ReduceKind window_combiner(DType dtype) {
  return dtype == bool_ ? ReduceKind::kOr : ReduceKind::kSum;
}

Array apply_windows(const AtomMesh& mesh, const WindowPlan& plan, const Shape& local_result,
                    std::span<const Array> operands) {
  Array out;
  if (plan.fill >= 0) out = lax::broadcast_in_dim(operands[plan.fill], local_result, {});
  // The first piece that applies wins, so pieces are applied from the last to the first.
  for (auto piece = plan.pieces.rbegin(); piece != plan.pieces.rend(); ++piece) {
    std::vector<Array> sending;
    for (int operand : piece->operands) sending.push_back(operands[operand]);
    Array x = sending.size() == 1 ? sending[0] : lax::concatenate(sending, piece->joined_dim);
    Array inside;
    for (const DimWindow& w : piece->windows) {
      x = w.start >= 0 ? fetch_dynamic(mesh, w, x, operands[w.start]) : fetch(mesh, w, x);
      if (!w.guarded) continue;
      const Array here = guard_mask(mesh, w, local_result);
      inside = inside.defined() ? lax::bitwise_and(inside, here) : here;
    }
    out = out.defined() && inside.defined() ? lax::select(inside, x, out) : x;
  }
  return out;
}

}  // namespace tessera::spmd
