#include "tessera/runtime/cross_reduce.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

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

// Finds the largest subtrees of the members [begin, end) whose leaves one process sends to
// `target`. `givers` has the sender of each leaf.
void subtrees(const std::vector<int>& givers, size_t begin, size_t end,
              const std::function<void(size_t, size_t, int)>& found) {
  const int giver = givers[begin];
  if (std::all_of(givers.begin() + static_cast<ptrdiff_t>(begin),
                  givers.begin() + static_cast<ptrdiff_t>(end),
                  [&](int g) { return g == giver; })) {
    found(begin, end, giver);
    return;
  }
  const size_t middle = begin + fold_split(end - begin);
  subtrees(givers, begin, middle, found);
  subtrees(givers, middle, end, found);
}

}  // namespace

CrossReduce::CrossReduce(DType dtype, ReduceKind kind, const std::vector<FoldPiece>& pieces,
                         const Holding& src, const Holding& dst, int process)
    : dtype_(dtype),
      narrow_(itemsize(dtype)),
      wide_(is_half_dtype(dtype) ? 4 : narrow_),
      combine_(pair_reducer(dtype, kind)) {
  std::map<int, std::vector<Fold>> to;
  // For each sender: the results of its folds, in the order in which it sends them.
  struct Wanted {
    int32_t node;
    int64_t bytes;
  };
  std::map<int, std::vector<Wanted>> from;
  for (const FoldPiece& piece : pieces) {
    if (piece.region.elements() == 0) continue;
    for (int target : piece.targets) {
      std::vector<int> givers;
      for (int32_t k : piece.sources) givers.push_back(src.giver(k, target));
      const auto leaf_source = [&](size_t i) {
        return src.held_index[static_cast<size_t>(piece.sources[i])];
      };
      // Adds the tree over the leaves [begin, end), all of which this process has.
      const std::function<int32_t(size_t, size_t)> own = [&](size_t begin, size_t end) {
        Node node;
        if (end - begin == 1) {
          node.source = leaf_source(begin);
        } else {
          const size_t middle = begin + fold_split(end - begin);
          node.left = own(begin, middle);
          node.right = own(middle, end);
          node.narrow = false;
        }
        nodes_.push_back(node);
        return static_cast<int32_t>(nodes_.size()) - 1;
      };
      if (target != process) {
        if (std::find(givers.begin(), givers.end(), process) == givers.end()) continue;
        subtrees(givers, 0, givers.size(), [&](size_t begin, size_t end, int giver) {
          if (giver != process) return;
          Fold fold{.region = piece.region, .root = own(begin, end)};
          fold.wide = end - begin > 1;
          to[target].push_back(fold);
        });
        continue;
      }
      const std::function<int32_t(size_t, size_t)> build = [&](size_t begin, size_t end) {
        const int giver = givers[begin];
        const bool one = std::all_of(givers.begin() + static_cast<ptrdiff_t>(begin),
                                     givers.begin() + static_cast<ptrdiff_t>(end),
                                     [&](int g) { return g == giver; });
        if (one && giver == process) return own(begin, end);
        Node node;
        if (one) {
          node.narrow = end - begin == 1;
          nodes_.push_back(node);
          const auto id = static_cast<int32_t>(nodes_.size()) - 1;
          from[giver].push_back({id, piece.region.elements() * (node.narrow ? narrow_ : wide_)});
          return id;
        }
        const size_t middle = begin + fold_split(end - begin);
        node.left = build(begin, middle);
        node.right = build(middle, end);
        node.narrow = false;
        nodes_.push_back(node);
        return static_cast<int32_t>(nodes_.size()) - 1;
      };
      Fold fold{.region = piece.region, .root = build(0, givers.size())};
      fold.out = dst.held_index[static_cast<size_t>(piece.out)];
      fold.to = piece.to;
      kept_.push_back(fold);
    }
  }
  // Whether a result is a message of its own follows from its size, which both sides know.
  for (auto& [peer, folds] : to) {
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
  for (const auto& [peer, list] : from) {
    Message joint{peer, workspace_, 0};
    for (const bool large : {false, true}) {
      for (const Wanted& wanted : list) {
        if ((wanted.bytes >= kOwnMessage) != large) continue;
        nodes_[static_cast<size_t>(wanted.node)].received = workspace_;
        if (large) in_.push_back({peer, workspace_, wanted.bytes});
        workspace_ += aligned_message(wanted.bytes);
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
