// CrossMoves: boxes of bytes from instances of one array to instances of another, between processes
// and within this one. Collectives over processes, and resharding of arrays, use it.
//
// Every process knows all moves, so sender and receiver agree on the content of a message without
// communicating. A box is sent to a process once, however many instances there need it. Small boxes
// for one process are one message; a large one is a message of its own, sent from and received into
// the arrays if it is contiguous.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/cluster/processes.h"
#include "tessera/runtime/copy.h"

namespace tessera::runtime {

// Data of this size or more is a message of its own, sent from the array if it is contiguous.
inline constexpr int64_t kOwnMessage = int64_t{32} << 10;
// Returns the bytes of a message in the workspace, so that the next one is aligned.
inline int64_t aligned_message(int64_t bytes) { return ceil_div(bytes, 64) * 64; }

// The processes that hold the instances of an array, and the positions of those that this one
// holds.
struct Holding {
  std::vector<std::vector<int>> holders;  // of each instance, ascending
  std::vector<int32_t> held_index;        // of each instance among those held here; -1: elsewhere
  // Returns the process that sends instance `i` to process `p`: p itself if it holds the instance.
  int giver(int64_t i, int p) const;
  bool holds(int64_t i, int p) const;
};

struct Move {
  int32_t pattern;   // which of the patterns
  int32_t src, dst;  // instances, by their numbers on all devices
  int64_t src_offset, dst_offset;
};

class CrossMoves {
 public:
  CrossMoves(std::vector<CopyPattern> patterns, const std::vector<Move>& moves, const Holding& src,
             const Holding& dst, int process);

  // Returns whether any process gets anything from another one.
  bool crosses() const { return crosses_; }
  int64_t workspace_bytes() const { return workspace_; }
  // Returns the address of an instance that this process holds, by its held index.
  using AddressOf = std::function<std::byte*(int64_t)>;
  // begin() returns what to send and receive; call end() when that is done. copy_local() may be
  // called at any time.
  cluster::Round begin(const AddressOf& src, const AddressOf& dst, std::byte* workspace) const;
  void copy_local(const AddressOf& src, const AddressOf& dst) const;
  void end(const AddressOf& dst, std::byte* workspace) const;

 private:
  // A box and its position: `held_index` is that of an instance, or it is in the workspace.
  struct Box {
    int32_t pattern, held_index;
    int64_t offset;
  };
  struct Message {
    int peer;
    int64_t workspace = -1;  // the position of its bytes; -1: in the array, at `box`
    int64_t bytes = 0;
    Box box{};
  };
  // A box between an array and the workspace, where it is dense.
  struct Staged {
    Box box;
    int64_t workspace;
  };
  struct LocalCopy {
    int32_t pattern, src, dst;
    int64_t src_offset, dst_offset;
  };

  struct Flow;
  // Returns the position of new bytes in the workspace.
  int64_t stage(int64_t bytes);
  void lay_out_sends(int peer, const Flow& flow, const std::vector<Move>& moves,
                     const Holding& src);
  void lay_out_receives(int peer, const Flow& flow, const std::vector<Move>& moves,
                        const Holding& dst);

  std::vector<CopyPattern> patterns_;
  // The patterns of the same boxes, dense on one side.
  std::vector<CopyPattern> packing_, unpacking_;
  std::vector<LocalCopy> local_;
  std::vector<Message> out_, in_;
  std::vector<Staged> pack_, unpack_;
  // Boxes that were received directly into the result and are needed elsewhere in it, too.
  std::vector<std::pair<Box, Box>> again_;
  int64_t workspace_ = 0;
  bool crosses_ = false;
};

}  // namespace tessera::runtime
