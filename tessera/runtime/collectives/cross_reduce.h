// CrossReduce: folds instances that are in several processes, for all_reduce and reduce_scatter.
//
// The order is that of the tree of reduce_blocks.h over the whole group, whichever processes its
// members are in, so the bits do not depend on how devices are divided among processes. A process
// folds the subtrees whose leaves it has, and sends one array for each subtree. If devices 0 to 7
// are in two processes, each process sends one array.
//
//   reduce_scatter   each instance of the result is folded by the process that holds it: one round
//   all_reduce       each process folds one part of the elements and sends it to the others: two
//                    rounds, in which each process sends 2 (p - 1) / p of the array. A small array
//                    is folded by every process: one round
#pragma once

#include <map>
#include <vector>

#include "tessera/ir/factors.h"
#include "tessera/runtime/collectives/cross_moves.h"
#include "tessera/runtime/collectives/reduce_blocks.h"

namespace tessera::runtime {

// A piece of each operand: `rows` runs of `run` elements at distance `row`, of which the first run
// begins at element `first`.
struct FoldRegion {
  int64_t first = 0, rows = 1, row = 0, run = 0;
  int64_t elements() const { return rows * run; }
};

// One dense piece of the result: region.elements() elements of instance `out`, from element `to`
// on, are the fold of that region of the sources.
struct FoldPiece {
  std::vector<int32_t> sources;  // numbers of instances on all devices, in order
  FoldRegion region;
  std::vector<int> targets;  // the processes that fold it
  int32_t out = -1;
  int64_t to = 0;
};

class CrossReduce {
 public:
  CrossReduce(DType dtype, ReduceKind kind, const std::vector<FoldPiece>& pieces,
              const Holding& src, const Holding& dst, int process);

  int64_t workspace_bytes() const { return workspace_; }
  // Folds the values that other processes need, and returns the transfers of the round.
  cluster::Round begin(const CrossMoves::AddressOf& src, std::byte* workspace) const;
  // Folds the rest, after everything has been received.
  void end(const CrossMoves::AddressOf& src, const CrossMoves::AddressOf& dst,
           std::byte* workspace) const;

 private:
  // A subtree that this process folds, for itself or for another process, or that it receives.
  struct Node {
    int32_t left = -1, right = -1;  // nodes; -1 for a leaf or a received node
    int32_t source = -1;            // the held index of a leaf that is here
    // For a received node: its position in the workspace, where it is dense.
    int64_t received = -1;
    bool narrow = true;  // it is not folded yet and has the operands' dtype
  };
  struct Fold {
    FoldRegion region;
    int32_t root;
    // The position of the result in the workspace, with the wider dtype of folds if `wide`; -1: the
    // result is in the result array.
    int64_t workspace = -1;
    int32_t out = -1;
    int64_t to = 0;
    bool wide = false;
  };
  struct Message {
    int peer;
    int64_t workspace, bytes;
    // If the message is sent from the array: the held index of the instance, and the offset in it.
    int32_t source = -1;
    int64_t offset = 0;
  };

  // The operands of a piece for one target: the position of each, and the process that sends it.
  struct Leaves;
  // A result that another process folds and this one receives.
  struct Wanted {
    int32_t node;
    int64_t bytes;
  };
  using WantedBySender = std::map<int, std::vector<Wanted>>;

  int32_t add_node(const Node& node);
  // Adds the tree over [begin, end) of leaves that this process has, and returns its root.
  int32_t add_own_tree(const Leaves& leaves, size_t begin, size_t end);
  // Does the same if other processes have some of the leaves, and adds what they fold to `wanted`.
  int32_t add_tree(const Leaves& leaves, size_t begin, size_t end, WantedBySender& wanted);
  void lay_out_sends(std::map<int, std::vector<Fold>>& folds);
  void lay_out_receives(const WantedBySender& wanted);

  void fold(const Fold& f, int64_t row, int64_t first, int64_t n, const CrossMoves::AddressOf& src,
            const CrossMoves::AddressOf& dst, std::byte* workspace) const;
  const std::byte* value(const Fold& f, int32_t node, int64_t row, int64_t first, int64_t n,
                         const CrossMoves::AddressOf& src, const std::byte* workspace,
                         std::byte*& spare) const;
  void run_folds(const std::vector<Fold>& folds, const CrossMoves::AddressOf& src,
                 const CrossMoves::AddressOf& dst, std::byte* workspace) const;

  DType dtype_;
  int64_t narrow_, wide_;  // the bytes of an element, as an operand and in folds
  PairReducer combine_;
  std::vector<Node> nodes_;
  std::vector<Fold> sent_, kept_;
  std::vector<Message> out_, in_;
  int64_t workspace_ = 0;
};

}  // namespace tessera::runtime
