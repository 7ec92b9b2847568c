#include "tessera/runtime/collectives/cross_moves.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "tessera/base/format.h"

namespace tessera::runtime {
namespace {

// Returns the strides, in bytes, of the box's runs in a dense copy of the box.
Dims dense_strides(const CopyPattern& p) {
  Dims strides(p.extents.size(), p.run);
  for (size_t d = p.extents.size(); d-- > 1;) strides[d - 1] = strides[d] * p.extents[d];
  return strides;
}
bool is_dense(const CopyPattern& p, const Dims& strides) {
  return p.runs() <= 1 || strides == dense_strides(p);
}

const CopyPattern& at(const std::vector<CopyPattern>& list, int32_t i) {
  return list[static_cast<size_t>(i)];
}
int32_t held_index(const Holding& h, int32_t i) { return h.held_index[static_cast<size_t>(i)]; }

}  // namespace

bool Holding::holds(int64_t i, int p) const {
  const std::vector<int>& list = holders[static_cast<size_t>(i)];
  return std::binary_search(list.begin(), list.end(), p);
}
int Holding::giver(int64_t i, int p) const {
  if (holds(i, p)) return p;
  const std::vector<int>& list = holders[static_cast<size_t>(i)];
  TESSERA_CHECK(!list.empty(), "instance {} is held by nobody", i);
  return list[static_cast<size_t>(p) % list.size()];
}

// The boxes that one process gets from another one, each once, in the order of the moves.
struct CrossMoves::Flow {
  struct Entry {
    size_t first;               // a move of this box
    std::vector<size_t> moves;  // all moves that need it
  };
  void add(const std::vector<Move>& all, size_t m) {
    const Move& move = all[m];
    const auto [found, fresh] =
        known.try_emplace({move.pattern, move.src, move.src_offset}, boxes.size());
    if (fresh) boxes.push_back({m, {}});
    boxes[found->second].moves.push_back(m);
  }

  std::vector<Entry> boxes;
  std::map<std::tuple<int32_t, int32_t, int64_t>, size_t> known;
};

CrossMoves::CrossMoves(std::vector<CopyPattern> patterns, const std::vector<Move>& moves,
                       const Holding& src, const Holding& dst, int process)
    : patterns_(std::move(patterns)) {
  for (const CopyPattern& p : patterns_) {
    const Dims dense = dense_strides(p);
    packing_.push_back({p.extents, dense, p.src_strides, p.run});
    unpacking_.push_back({p.extents, p.dst_strides, dense, p.run});
  }
  std::map<int, Flow> to, from;
  for (size_t m = 0; m < moves.size(); ++m) {
    const Move& move = moves[m];
    if (at(patterns_, move.pattern).bytes() == 0) continue;
    for (int p : dst.holders[static_cast<size_t>(move.dst)]) {
      const int giver = src.giver(move.src, p);
      crosses_ = crosses_ || giver != p;
      if (p == process && giver == process) {
        local_.push_back({move.pattern, held_index(src, move.src), held_index(dst, move.dst),
                          move.src_offset, move.dst_offset});
      } else if (p == process) {
        from[giver].add(moves, m);
      } else if (giver == process) {
        to[p].add(moves, m);
      }
    }
  }
  for (const auto& [peer, flow] : to) lay_out_sends(peer, flow, moves, src);
  for (const auto& [peer, flow] : from) lay_out_receives(peer, flow, moves, dst);
}

int64_t CrossMoves::stage(int64_t bytes) {
  const int64_t position = workspace_;
  workspace_ += bytes;
  return position;
}

void CrossMoves::lay_out_sends(int peer, const Flow& flow, const std::vector<Move>& moves,
                               const Holding& src) {
  Message joint{peer, aligned_message(workspace_), 0, {}};
  std::vector<Message> large;
  workspace_ = joint.workspace;
  for (const Flow::Entry& entry : flow.boxes) {
    const Move& move = moves[entry.first];
    const CopyPattern& p = at(patterns_, move.pattern);
    const Box box{move.pattern, held_index(src, move.src), move.src_offset};
    if (p.bytes() < kOwnMessage) {
      pack_.push_back({box, stage(p.bytes())});
      joint.bytes += p.bytes();
    } else {
      large.push_back({peer, -1, p.bytes(), box});
    }
  }
  workspace_ = aligned_message(workspace_);
  for (Message& message : large) {
    const CopyPattern& p = at(patterns_, message.box.pattern);
    if (!is_dense(p, p.src_strides)) {
      message.workspace = stage(aligned_message(p.bytes()));
      pack_.push_back({message.box, message.workspace});
    }
    out_.push_back(message);
  }
  if (joint.bytes > 0) out_.push_back(joint);
}

void CrossMoves::lay_out_receives(int peer, const Flow& flow, const std::vector<Move>& moves,
                                  const Holding& dst) {
  Message joint{peer, aligned_message(workspace_), 0, {}};
  workspace_ = joint.workspace;
  const auto box_of = [&](size_t m) {
    return Box{moves[m].pattern, held_index(dst, moves[m].dst), moves[m].dst_offset};
  };
  for (const Flow::Entry& entry : flow.boxes) {
    const CopyPattern& p = at(patterns_, moves[entry.first].pattern);
    if (p.bytes() >= kOwnMessage) continue;
    const int64_t position = stage(p.bytes());
    for (size_t m : entry.moves) unpack_.push_back({box_of(m), position});
    joint.bytes += p.bytes();
  }
  workspace_ = aligned_message(workspace_);
  for (const Flow::Entry& entry : flow.boxes) {
    const CopyPattern& p = at(patterns_, moves[entry.first].pattern);
    if (p.bytes() < kOwnMessage) continue;
    Message message{peer, -1, p.bytes(), box_of(entry.first)};
    if (is_dense(p, p.dst_strides)) {
      for (size_t m : entry.moves)
        if (m != entry.first) again_.emplace_back(message.box, box_of(m));
    } else {
      message.workspace = stage(aligned_message(p.bytes()));
      for (size_t m : entry.moves) unpack_.push_back({box_of(m), message.workspace});
    }
    in_.push_back(message);
  }
  if (joint.bytes > 0) in_.push_back(joint);
}

cluster::Round CrossMoves::begin(const AddressOf& src, const AddressOf& dst,
                                 std::byte* workspace) const {
  std::vector<RegionCopy> copies;
  for (const Staged& s : pack_)
    copies.push_back({at(packing_, s.box.pattern), workspace + s.workspace,
                      src(s.box.held_index) + s.box.offset});
  run_copies(copies);
  cluster::Round round;
  for (const Message& m : out_)
    round.out.push_back(
        {m.peer, m.workspace >= 0 ? workspace + m.workspace : src(m.box.held_index) + m.box.offset,
         m.bytes});
  for (const Message& m : in_)
    round.in.push_back(
        {m.peer, m.workspace >= 0 ? workspace + m.workspace : dst(m.box.held_index) + m.box.offset,
         m.bytes});
  return round;
}

void CrossMoves::copy_local(const AddressOf& src, const AddressOf& dst) const {
  std::vector<RegionCopy> copies;
  for (const LocalCopy& c : local_)
    copies.push_back(
        {at(patterns_, c.pattern), dst(c.dst) + c.dst_offset, src(c.src) + c.src_offset});
  run_copies(copies);
}

void CrossMoves::end(const AddressOf& dst, std::byte* workspace) const {
  std::vector<RegionCopy> copies;
  for (const Staged& s : unpack_)
    copies.push_back({at(unpacking_, s.box.pattern), dst(s.box.held_index) + s.box.offset,
                      workspace + s.workspace});
  // Both boxes are dense.
  for (const auto& [from, to] : again_)
    copies.push_back({at(unpacking_, to.pattern), dst(to.held_index) + to.offset,
                      dst(from.held_index) + from.offset});
  run_copies(copies);
}

}  // namespace tessera::runtime
