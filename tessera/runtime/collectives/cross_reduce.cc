#include "tessera/runtime/collectives/cross_reduce.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "tessera/base/format.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/base/workspace.h"
#include "tessera/runtime/halves.h"

namespace tessera::runtime {
namespace {

bool is_half_dtype(DType dtype) { return dtype == float16 || dtype == bfloat16; }

void widen_block(DType dtype, const std::byte* in, std::byte* out, int64_t n) {
  if (dtype == float16) {
    widen(reinterpret_cast<const Float16*>(in), reinterpret_cast<float*>(out), n);
  } else {
    widen(reinterpret_cast<const Bfloat16*>(in), reinterpret_cast<float*>(out), n);
  }
}
void narrow_block(DType dtype, const std::byte* in, std::byte* out, int64_t n) {
  if (dtype == float16) {
    narrow(reinterpret_cast<const float*>(in), reinterpret_cast<Float16*>(out), n);
  } else {
    narrow(reinterpret_cast<const float*>(in), reinterpret_cast<Bfloat16*>(out), n);
  }
}

// Returns whether one process, givers[begin], sends all leaves of [begin, end).
bool one_giver(const std::vector<int>& givers, size_t begin, size_t end) {
  return std::all_of(givers.begin() + static_cast<ptrdiff_t>(begin),
                     givers.begin() + static_cast<ptrdiff_t>(end),
                     [&](int g) { return g == givers[begin]; });
}

// Finds the largest subtrees of the members [begin, end) whose leaves `givers` sends to `target`.
void subtrees(const std::vector<int>& givers, size_t begin, size_t end,
              const std::function<void(size_t, size_t, int)>& found) {
  if (one_giver(givers, begin, end)) {
    found(begin, end, givers[begin]);
    return;
  }
  const size_t middle = begin + fold_split(end - begin);
  subtrees(givers, begin, middle, found);
  subtrees(givers, middle, end, found);
}

}  // namespace

struct CrossReduce::Leaves {
  int process;
  int64_t elements;                 // how many the piece has
  std::vector<int> givers;          // the process that sends each leaf
  std::vector<int32_t> held_index;  // the position of each leaf in this process; -1: elsewhere
};

CrossReduce::CrossReduce(DType dtype, ReduceKind kind, const std::vector<FoldPiece>& pieces,
                         const Holding& src, const Holding& dst, int process)
    : dtype_(dtype),
      narrow_(itemsize(dtype)),
      wide_(is_half_dtype(dtype) ? 4 : narrow_),
      combine_(pair_reducer(dtype, kind)) {
  std::map<int, std::vector<Fold>> sent;
  WantedBySender wanted;
  for (const FoldPiece& piece : pieces) {
    if (piece.region.elements() == 0) continue;
    for (int target : piece.targets) {
      Leaves leaves{process, piece.region.elements(), {}, {}};
      for (int32_t k : piece.sources) {
        leaves.givers.push_back(src.giver(k, target));
        leaves.held_index.push_back(src.held_index[static_cast<size_t>(k)]);
      }
      const size_t count = leaves.givers.size();
      if (target == process) {
        Fold fold{.region = piece.region, .root = add_tree(leaves, 0, count, wanted)};
        fold.out = dst.held_index[static_cast<size_t>(piece.out)];
        fold.to = piece.to;
        kept_.push_back(fold);
        continue;
      }
      if (std::find(leaves.givers.begin(), leaves.givers.end(), process) == leaves.givers.end())
        continue;
      subtrees(leaves.givers, 0, count, [&](size_t begin, size_t end, int giver) {
        if (giver != process) return;
        Fold fold{.region = piece.region, .root = add_own_tree(leaves, begin, end)};
        fold.wide = end - begin > 1;
        sent[target].push_back(fold);
      });
    }
  }
  lay_out_sends(sent);
  lay_out_receives(wanted);
}

int32_t CrossReduce::add_node(const Node& node) {
  nodes_.push_back(node);
  return static_cast<int32_t>(nodes_.size()) - 1;
}

int32_t CrossReduce::add_own_tree(const Leaves& leaves, size_t begin, size_t end) {
  Node node;
  if (end - begin == 1) {
    node.source = leaves.held_index[begin];
  } else {
    const size_t middle = begin + fold_split(end - begin);
    node.left = add_own_tree(leaves, begin, middle);
    node.right = add_own_tree(leaves, middle, end);
    node.narrow = false;
  }
  return add_node(node);
}

int32_t CrossReduce::add_tree(const Leaves& leaves, size_t begin, size_t end,
                              WantedBySender& wanted) {
  const int giver = leaves.givers[begin];
  Node node;
  if (one_giver(leaves.givers, begin, end)) {
    if (giver == leaves.process) return add_own_tree(leaves, begin, end);
    node.narrow = end - begin == 1;
    const int32_t id = add_node(node);
    wanted[giver].push_back({id, leaves.elements * (node.narrow ? narrow_ : wide_)});
    return id;
  }
  const size_t middle = begin + fold_split(end - begin);
  node.left = add_tree(leaves, begin, middle, wanted);
  node.right = add_tree(leaves, middle, end, wanted);
  node.narrow = false;
  return add_node(node);
}

// The small results for one process are sent in one message, and each large one in a message of its
// own. The size alone decides which it is, so both sides know.
void CrossReduce::lay_out_sends(std::map<int, std::vector<Fold>>& sent) {
  for (auto& [peer, folds] : sent) {
    Message joint{peer, workspace_, 0};
    for (const bool large : {false, true}) {
      for (Fold& fold : folds) {
        const int64_t bytes = fold.region.elements() * (fold.wide ? wide_ : narrow_);
        if ((bytes >= kOwnMessage) != large) continue;
        const Node& root = nodes_[static_cast<size_t>(fold.root)];
        if (large && !fold.wide && fold.region.rows == 1) {
          out_.push_back({peer, -1, bytes, root.source, fold.region.first * narrow_});
          continue;
        }
        fold.workspace = workspace_;
        workspace_ += aligned_message(bytes);
        if (large) out_.push_back({peer, fold.workspace, bytes});
        sent_.push_back(fold);
      }
      if (!large && workspace_ > joint.workspace) {
        joint.bytes = workspace_ - joint.workspace;
        out_.push_back(joint);
      }
    }
  }
}

void CrossReduce::lay_out_receives(const WantedBySender& wanted) {
  for (const auto& [peer, list] : wanted) {
    Message joint{peer, workspace_, 0};
    for (const bool large : {false, true}) {
      for (const Wanted& result : list) {
        if ((result.bytes >= kOwnMessage) != large) continue;
        nodes_[static_cast<size_t>(result.node)].received = workspace_;
        if (large) in_.push_back({peer, workspace_, result.bytes});
        workspace_ += aligned_message(result.bytes);
      }
      if (!large && workspace_ > joint.workspace) {
        joint.bytes = workspace_ - joint.workspace;
        in_.push_back(joint);
      }
    }
  }
}

// Returns n elements of a node in the wide dtype, from element `first` of row `row` of the region
// on.
const std::byte* CrossReduce::value(const Fold& f, int32_t id, int64_t row, int64_t first,
                                    int64_t n, const CrossMoves::AddressOf& src,
                                    const std::byte* workspace, std::byte*& spare) const {
  const Node& node = nodes_[static_cast<size_t>(id)];
  if (node.left >= 0) {
    std::byte* out = spare;
    spare += kReduceBlock * wide_;
    std::byte* below = spare;
    const std::byte* a = value(f, node.left, row, first, n, src, workspace, below);
    const std::byte* b = value(f, node.right, row, first, n, src, workspace, below);
    combine_(out, a, b, n);
    return out;
  }
  const int64_t size = node.narrow ? narrow_ : wide_;
  const std::byte* in =
      node.received >= 0 ? workspace + node.received + (row * f.region.run + first) * size
                         : src(node.source) + (f.region.first + row * f.region.row + first) * size;
  if (size == wide_) return in;
  std::byte* out = spare;
  spare += kReduceBlock * wide_;
  widen_block(dtype_, in, out, n);
  return out;
}

void CrossReduce::fold(const Fold& f, int64_t row, int64_t first, int64_t n,
                       const CrossMoves::AddressOf& src, const CrossMoves::AddressOf& dst,
                       std::byte* workspace) const {
  const Node& root = nodes_[static_cast<size_t>(f.root)];
  const int64_t at = row * f.region.run + first;
  const int64_t size = f.wide ? wide_ : narrow_;
  std::byte* out =
      f.workspace >= 0 ? workspace + f.workspace + at * size : dst(f.out) + (f.to + at) * narrow_;
  if (root.left < 0 && root.narrow && !f.wide) {
    const std::byte* in =
        root.received >= 0
            ? workspace + root.received + at * narrow_
            : src(root.source) + (f.region.first + row * f.region.row + first) * narrow_;
    std::memcpy(out, in, static_cast<size_t>(n * narrow_));
    return;
  }
  // At each level two blocks are in use at a time, and leaves may have to be converted.
  constexpr int64_t kBlocks = 256;
  const Workspace<std::byte> memory(kBlocks * kReduceBlock * wide_);
  std::byte* spare = memory.data();
  if (root.left >= 0 && size == wide_) {
    const std::byte* a = value(f, root.left, row, first, n, src, workspace, spare);
    const std::byte* b = value(f, root.right, row, first, n, src, workspace, spare);
    combine_(out, a, b, n);
    return;
  }
  const std::byte* in = value(f, f.root, row, first, n, src, workspace, spare);
  if (size == wide_) {
    std::memcpy(out, in, static_cast<size_t>(n * wide_));
  } else {
    narrow_block(dtype_, in, out, n);
  }
}

void CrossReduce::run_folds(const std::vector<Fold>& folds, const CrossMoves::AddressOf& src,
                            const CrossMoves::AddressOf& dst, std::byte* workspace) const {
  struct Unit {
    const Fold* fold;
    int64_t row, first, n;
  };
  std::vector<Unit> units;
  for (const Fold& f : folds)
    for (int64_t row = 0; row < f.region.rows; ++row)
      for (int64_t first = 0; first < f.region.run; first += kReduceBlock)
        units.push_back({&f, row, first, std::min(kReduceBlock, f.region.run - first)});
  parallel_for_ranges(static_cast<int64_t>(units.size()), 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Unit& u = units[static_cast<size_t>(i)];
      fold(*u.fold, u.row, u.first, u.n, src, dst, workspace);
    }
  });
}

cluster::Round CrossReduce::begin(const CrossMoves::AddressOf& src, std::byte* workspace) const {
  run_folds(sent_, src, {}, workspace);
  cluster::Round round;
  for (const Message& m : out_)
    round.out.push_back(
        {m.peer, m.source >= 0 ? src(m.source) + m.offset : workspace + m.workspace, m.bytes});
  for (const Message& m : in_) round.in.push_back({m.peer, workspace + m.workspace, m.bytes});
  return round;
}

void CrossReduce::end(const CrossMoves::AddressOf& src, const CrossMoves::AddressOf& dst,
                      std::byte* workspace) const {
  run_folds(kept_, src, dst, workspace);
}

}  // namespace tessera::runtime
