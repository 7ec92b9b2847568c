// Collectives with members in several processes: finds these collectives, and makes their steps.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "tessera/base/format.h"
#include "tessera/runtime/collectives/collective_code.h"
#include "tessera/runtime/collectives/cross_moves.h"
#include "tessera/runtime/collectives/cross_reduce.h"
#include "tessera/runtime/collectives/rank_map.h"
#include "tessera/runtime/step_code.h"

namespace tessera::runtime {
namespace {

Holding holding(const Schedule& s, const AxisList& axes) {
  Holding out;
  out.holders = s.local->holders(axes);
  out.held_index.assign(out.holders.size(), -1);
  int32_t next = 0;
  for (int32_t i : s.local->instances(axes)) out.held_index[static_cast<size_t>(i)] = next++;
  return out;
}

cluster::Processes& processes() {
  cluster::Processes* found = cluster::Processes::current();
  TESSERA_CHECK(found, "a collective over processes in a process that is alone");
  return *found;
}

// Returns, for each rank, the rank whose data it gets; -1: it gets zeros.
std::vector<int64_t> permuted_from(const CollectiveStep& c, int64_t ranks) {
  std::vector<int64_t> out(static_cast<size_t>(ranks), -1);
  if (c.kind == CollectiveKind::kPermute) {
    for (const Dims& pair : c.pairs) out[static_cast<size_t>(pair[1])] = pair[0];
    return out;
  }
  out.assign(static_cast<size_t>(ranks), c.root);
  for (const Dims& group : c.groups)
    for (int64_t rank : group) out[static_cast<size_t>(rank)] = group[static_cast<size_t>(c.root)];
  return out;
}

// Runs all_gather, all_to_all, permute, broadcast and casts. All of these move boxes.
class MovesCode final : public TransferCode {
 public:
  MovesCode(const CollectiveStep& c, const Schedule& s)
      : in_(c.in),
        out_(c.out),
        bytes_(slot_at(s, c.out).bytes()),
        what_(c.what),
        sends_with_next_(c.sends_with_next),
        moves_(make(c, s)) {}

  bool crosses() const { return moves_.crosses(); }
  int64_t workspace_bytes() const override { return moves_.workspace_bytes(); }
  void start(const SlotRef* slots, std::byte* workspace) const override {
    const SlotRef in = slots[in_], out = slots[out_];
    for (int64_t o : zeros_) std::memset(out.at(o), 0, static_cast<size_t>(bytes_));
    const auto src = [in](int64_t i) { return in.at(i); };
    const auto dst = [out](int64_t o) { return out.at(o); };
    processes().start(
        this,
        [this, src, dst, workspace, begun = false]() mutable -> std::optional<cluster::Round> {
          if (!std::exchange(begun, true)) return moves_.begin(src, dst, workspace);
          moves_.end(dst, workspace);
          return std::nullopt;
        },
        [this] { return what_; }, sends_with_next_);
    moves_.copy_local(src, dst);
  }
  void finish() const override { processes().finish(this); }

 private:
  CrossMoves make(const CollectiveStep& c, const Schedule& s) {
    const Slot &in = slot_at(s, c.in), &out = slot_at(s, c.out);
    const RankMap ranks = RankMap::on_all_devices(s, out, in, c);
    const int64_t size = itemsize(in.dtype), group = ranks.group_size();
    const Holding src = holding(s, in.axes), dst = holding(s, out.axes);
    CopyPattern pattern = make_copy_pattern({in.bytes()}, {1}, {1}, 1);
    std::vector<Move> moves;
    const auto add = [&](int64_t o, int64_t k, int64_t src_offset, int64_t dst_offset) {
      moves.push_back(
          {0, static_cast<int32_t>(k), static_cast<int32_t>(o), src_offset, dst_offset});
    };
    switch (c.kind) {
      case CollectiveKind::kAllGather: {
        const int64_t rows = product(in.shape, 0, c.dim),
                      run = product(in.shape, c.dim, in.shape.rank()) * size;
        pattern = make_copy_pattern({rows, run}, {run * group, 1}, {run, 1}, 1);
        for (int64_t o = 0; o < ranks.instances(); ++o)
          for (int64_t g = 0; g < group; ++g) add(o, ranks.source(o, g), 0, g * run);
        break;
      }
      case CollectiveKind::kAllToAll: {
        Shape box = in.shape;
        box[c.dim] /= group;
        const Dims src_strides = byte_strides(in.shape, size),
                   dst_strides = byte_strides(out.shape, size);
        pattern = make_copy_pattern(box, dst_strides, src_strides, size);
        for (int64_t o = 0; o < ranks.instances(); ++o)
          for (int64_t g = 0; g < group; ++g)
            add(o, ranks.source(o, g), ranks.position(o) * box[c.dim] * src_strides[c.dim],
                g * box[c.concat_dim] * dst_strides[c.concat_dim]);
        break;
      }
      case CollectiveKind::kPermute:
      case CollectiveKind::kBroadcast: {
        const std::vector<int64_t> from = permuted_from(c, ranks.ranks());
        for (int64_t o = 0; o < ranks.instances(); ++o) {
          const int64_t r = from[static_cast<size_t>(ranks.rank(o))];
          if (r >= 0) {
            add(o, ranks.source_of_rank(o, r), 0, 0);
          } else if (dst.held_index[static_cast<size_t>(o)] >= 0) {
            zeros_.push_back(dst.held_index[static_cast<size_t>(o)]);
          }
        }
        break;
      }
      case CollectiveKind::kCast: {
        const std::vector<int32_t> from = instance_map(s.mesh, out.axes, in.axes);
        for (size_t o = 0; o < from.size(); ++o) add(static_cast<int64_t>(o), from[o], 0, 0);
        break;
      }
      case CollectiveKind::kAllReduce:
      case CollectiveKind::kReduceScatter:
      case CollectiveKind::kRaggedAllToAll:
      case CollectiveKind::kAxisIndex:
        TESSERA_CHECK(false, "no moves");
    }
    return CrossMoves({pattern}, moves, src, dst, s.local->process());
  }

  int in_, out_;
  int64_t bytes_;
  std::string what_;
  bool sends_with_next_;
  std::vector<int64_t> zeros_;  // the instances that get zeros
  CrossMoves moves_;
};

// Runs all_reduce and reduce_scatter. A large one is divided into pieces, such that sending and
// folding overlap.
class FoldCode final : public TransferCode {
 public:
  FoldCode(const CollectiveStep& c, const Schedule& s)
      : in_(c.in), out_(c.out), what_(c.what), sends_with_next_(c.sends_with_next) {
    const Slot &in = slot_at(s, c.in), &out = slot_at(s, c.out);
    const RankMap ranks = RankMap::on_all_devices(s, out, in, c);
    const Holding src = holding(s, in.axes), dst = holding(s, out.axes);
    process_ = s.local->process();
    held_index_ = dst.held_index;
    std::vector<Piece> pieces(1);
    for (int64_t o = 0; o < ranks.instances(); ++o) {
      FoldPiece fold;
      fold.out = static_cast<int32_t>(o);
      for (int64_t g = 0; g < ranks.group_size(o); ++g)
        fold.sources.push_back(static_cast<int32_t>(ranks.source(o, g)));
      fold.targets = dst.holders[static_cast<size_t>(o)];
      for (int p : fold.targets)
        for (int32_t k : fold.sources) crosses_ = crosses_ || !src.holds(k, p);
      if (c.kind == CollectiveKind::kReduceScatter) {
        const int64_t rows = product(in.shape, 0, c.dim),
                      row = product(in.shape, c.dim, in.shape.rank()),
                      run = row / ranks.group_size();
        fold.region = {ranks.position(o) * run, rows, row, run};
        pieces[0].folds.push_back(std::move(fold));
      } else {
        share(std::move(fold), in.shape.elements(), itemsize(out.dtype), pieces);
      }
    }
    if (!crosses_) return;
    for (Piece& piece : pieces) {
      if (piece.folds.empty()) continue;
      piece.reduce.emplace(out.dtype, c.reduce, piece.folds, src, dst, process_);
      piece.folds.clear();
      piece.workspace = workspace_;
      workspace_ += ceil_div(piece.reduce->workspace_bytes(), 64) * 64;
      pieces_.push_back(std::move(piece));
    }
  }

  bool crosses() const { return crosses_; }
  int64_t workspace_bytes() const override { return workspace_; }
  void start(const SlotRef* slots, std::byte* workspace) const override {
    const SlotRef in = slots[in_], out = slots[out_];
    const bool with_next = sends_with_next_ && pieces_.size() == 1;
    for (const Piece& piece : pieces_) {
      std::byte* work = workspace + piece.workspace;
      processes().start(
          &piece,
          [this, &piece, in, out, work, round = 0]() mutable -> std::optional<cluster::Round> {
            const auto src = [in](int64_t i) { return in.at(i); };
            const auto dst = [out](int64_t o) { return out.at(o); };
            switch (round++) {
              case 0:
                return piece.reduce->begin(src, work);
              case 1:
                piece.reduce->end(src, dst, work);
                if (!piece.shares.empty()) return share_round(piece, out);
                [[fallthrough]];
              default:
                return std::nullopt;
            }
          },
          [this] { return what_; }, with_next);
    }
  }
  void finish() const override {
    for (const Piece& piece : pieces_) processes().finish(&piece);
  }

 private:
  // For at most this many bytes, a second round costs more than folding in every process.
  static constexpr int64_t kFoldedByAll = int64_t{8} << 10;
  // The bytes of a piece that one process folds.
  static constexpr int64_t kPieceBytes = int64_t{512} << 10;

  // A part of an instance of the result that one process folds and sends to the others.
  struct Share {
    int64_t out, first, bytes;
    int from;
    std::vector<int> to;
  };
  struct Piece {
    std::vector<FoldPiece> folds;
    std::optional<CrossReduce> reduce;
    std::vector<Share> shares;
    int64_t workspace = 0;
  };

  // Divides an all_reduce of n elements among the processes that need its result: each process
  // folds one part and sends it to the others.
  static void share(FoldPiece fold, int64_t n, int64_t size, std::vector<Piece>& pieces) {
    const std::vector<int> targets = fold.targets;
    const auto count = static_cast<int64_t>(targets.size());
    if (n * size <= kFoldedByAll || count == 1) {
      fold.region = {0, 1, n, n};
      pieces[0].folds.push_back(std::move(fold));
      return;
    }
    const int64_t part = std::min(ceil_div(ceil_div(n, count), 64) * 64, kPieceBytes / size);
    for (int64_t i = 0, begin = 0; begin < n; ++i, begin += part) {
      const auto at = static_cast<size_t>(i / count);
      if (pieces.size() <= at) pieces.resize(at + 1);
      FoldPiece one = fold;
      one.region = {begin, 1, n, std::min(part, n - begin)};
      one.targets = {targets[static_cast<size_t>(i % count)]};
      one.to = begin;
      pieces[at].shares.push_back(
          {fold.out, begin * size, one.region.run * size, one.targets[0], targets});
      pieces[at].folds.push_back(std::move(one));
    }
  }

  cluster::Round share_round(const Piece& piece, const SlotRef& out) const {
    cluster::Round round;
    for (const Share& share : piece.shares) {
      const int64_t held_index = held_index_[static_cast<size_t>(share.out)];
      if (held_index < 0) continue;
      std::byte* data = out.at(held_index) + share.first;
      if (share.from != process_) {
        round.in.push_back({share.from, data, share.bytes});
        continue;
      }
      for (int p : share.to)
        if (p != process_) round.out.push_back({p, data, share.bytes});
    }
    return round;
  }

  int in_, out_, process_ = 0;
  std::string what_;
  bool sends_with_next_;
  std::vector<Piece> pieces_;
  std::vector<int32_t> held_index_;
  int64_t workspace_ = 0;
  bool crosses_ = false;
};

// Runs ragged_all_to_all: exchanges each member's tables, then the rows that the tables describe.
class RaggedMovesCode final : public TransferCode {
 public:
  RaggedMovesCode(const CollectiveStep& c, const Schedule& s)
      : in_(c.in), out_(c.out), what_(c.what), sizes_(c.sizes) {
    const Slot &in = slot_at(s, c.in), &out = slot_at(s, c.out);
    const RankMap ranks = RankMap::on_all_devices(s, out, in, c);
    const Holding src = holding(s, in.axes), dst = holding(s, out.axes);
    const int me = s.local->process();
    in_rows_ = in.shape[0];
    out_rows_ = out.shape[0];
    row_bytes_ = product(in.shape, 1, in.shape.rank()) * itemsize(in.dtype);
    // The device that sends the rows also has the sizes. These may vary over more axes than the
    // rows.
    std::vector<RankMap> table_ranks;
    std::vector<Holding> tables;
    for (size_t t = 0; t < 3; ++t) {
      const Slot& table = slot_at(s, sizes_[t]);
      table_ranks.push_back(RankMap::on_all_devices(s, out, table, c));
      tables.push_back(holding(s, table.axes));
    }
    for (int64_t o = 0; o < ranks.instances(); ++o) {
      for (int p : dst.holders[static_cast<size_t>(o)]) {
        for (int64_t g = 0; g < ranks.group_size(o); ++g) {
          const int64_t k = ranks.source(o, g);
          std::vector<int> givers = src.holders[static_cast<size_t>(k)];
          for (size_t t = 0; t < 3; ++t)
            std::erase_if(givers,
                          [&](int q) { return !tables[t].holds(table_ranks[t].source(o, g), q); });
          TESSERA_CHECK(!givers.empty(), "the sizes of rows that are elsewhere");
          const int giver = std::binary_search(givers.begin(), givers.end(), p)
                                ? p
                                : givers[static_cast<size_t>(p) % givers.size()];
          crosses_ = crosses_ || giver != p;
          if (p != me && giver != me) continue;
          Part part{p, giver, -1, -1, ranks.position(o), {}};
          if (p == me) part.out = dst.held_index[static_cast<size_t>(o)];
          if (giver == me) part.in = src.held_index[static_cast<size_t>(k)];
          for (size_t t = 0; t < 3 && giver == me; ++t)
            part.tables[t] = tables[t].held_index[static_cast<size_t>(table_ranks[t].source(o, g))];
          parts_.push_back(part);
        }
      }
    }
    wide_ = slot_at(s, sizes_[0]).dtype == int64;
    initial_ = instance_map(s, out.axes, slot_at(s, sizes_.back()).axes);
    instances_ = out.instances;
  }

  bool crosses() const { return crosses_; }
  void start(const SlotRef* slots, std::byte*) const override {
    for (int64_t o = 0; o < instances_; ++o) {
      std::byte* dst = slots[out_].at(o);
      if (sizes_.size() == 5) {
        std::memcpy(dst, slots[sizes_[4]].at(initial_[static_cast<size_t>(o)]),
                    static_cast<size_t>(out_rows_ * row_bytes_));
      } else {
        std::memset(dst, 0, static_cast<size_t>(out_rows_ * row_bytes_));
      }
    }
    auto rows = std::make_shared<std::vector<Rows>>(parts_.size());
    for (size_t i = 0; i < parts_.size(); ++i)
      if (parts_[i].in >= 0) (*rows)[i] = rows_of(slots, parts_[i]);
    const SlotRef in = slots[in_], out = slots[out_];
    processes().start(
        this,
        [this, in, out, rows, round = 0]() mutable -> std::optional<cluster::Round> {
          switch (round++) {
            case 0:
              return tell_rows(*rows);
            case 1:
              return move_rows(*rows, in, out);
            default:
              return std::nullopt;
          }
        },
        [this] { return what_; });
  }
  void finish() const override { processes().finish(this); }

 private:
  // The first row in the sender's array, the first row in the receiver's, and the number of rows.
  struct Rows {
    int64_t from, to, count;
  };
  // The rows that one member of a group sends to the member at `position`. `out` and `in` are held
  // indices here; -1: elsewhere.
  struct Part {
    int target, giver;
    int64_t out, in;
    int64_t position;
    int64_t tables[3];
  };
  Rows rows_of(const SlotRef* slots, const Part& part) const {
    Rows r{read(slots, part, 0), read(slots, part, 2), 0};
    // Sizes are data, so they may be wrong: rows that do not exist are neither read nor written.
    r.count = std::min({read(slots, part, 1), in_rows_ - r.from, out_rows_ - r.to});
    if (r.from < 0 || r.to < 0 || r.count < 0) r.count = 0;
    return r;
  }
  cluster::Round tell_rows(std::vector<Rows>& rows) const {
    cluster::Round round;
    for (size_t i = 0; i < parts_.size(); ++i) {
      auto* data = reinterpret_cast<std::byte*>(&rows[i]);
      if (parts_[i].in < 0) {
        round.in.push_back({parts_[i].giver, data, sizeof(Rows)});
      } else if (parts_[i].out < 0) {
        round.out.push_back({parts_[i].target, data, sizeof(Rows)});
      }
    }
    return round;
  }
  cluster::Round move_rows(const std::vector<Rows>& rows, const SlotRef& in,
                           const SlotRef& out) const {
    cluster::Round round;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Part& part = parts_[i];
      const Rows& r = rows[i];
      if (r.count <= 0) continue;
      const int64_t bytes = r.count * row_bytes_;
      std::byte* to = part.out >= 0 ? out.at(part.out) + r.to * row_bytes_ : nullptr;
      const std::byte* from = part.in >= 0 ? in.at(part.in) + r.from * row_bytes_ : nullptr;
      if (to && from) {
        std::memcpy(to, from, static_cast<size_t>(bytes));
      } else if (to) {
        round.in.push_back({part.giver, to, bytes});
      } else {
        round.out.push_back({part.target, from, bytes});
      }
    }
    return round;
  }
  int64_t read(const SlotRef* slots, const Part& part, size_t table) const {
    const std::byte* data = slots[sizes_[table]].at(part.tables[table]);
    if (wide_) {
      int64_t value;
      std::memcpy(&value, data + part.position * 8, 8);
      return value;
    }
    int32_t value;
    std::memcpy(&value, data + part.position * 4, 4);
    return value;
  }

  int in_, out_;
  std::string what_;
  std::vector<int> sizes_;
  std::vector<Part> parts_;
  std::vector<int32_t> initial_;
  int64_t in_rows_ = 0, out_rows_ = 0, row_bytes_ = 0, instances_ = 0;
  bool wide_ = false, crosses_ = false;
};

template <class Code>
std::unique_ptr<TransferCode> if_crosses(const CollectiveStep& step, const Schedule& schedule) {
  auto code = std::make_unique<Code>(step, schedule);
  if (!code->crosses()) return nullptr;
  return code;
}

}  // namespace

std::unique_ptr<TransferCode> make_cross_collective_code(const CollectiveStep& step,
                                                         const Schedule& schedule) {
  if (!schedule.local || schedule.local->processes().size() < 2 || step.in < 0) return nullptr;
  switch (step.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduceScatter:
      return if_crosses<FoldCode>(step, schedule);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kPermute:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kCast:
      return if_crosses<MovesCode>(step, schedule);
    case CollectiveKind::kRaggedAllToAll:
      return if_crosses<RaggedMovesCode>(step, schedule);
    case CollectiveKind::kAxisIndex:
      break;
  }
  return nullptr;
}

}  // namespace tessera::runtime
