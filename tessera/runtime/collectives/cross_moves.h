// CrossMoves: moves boxes of bytes from instances of one array to instances of another, between
// processes and within this one. Collectives between processes, and resharding of arrays, use it.
//
// Every process knows all moves, so sender and receiver agree on the content of a message without
// communicating. A box is sent to a process once, however many instances there need it. Small boxes
// for one process are sent together as one message. A large box is a message of its own; if it is
// contiguous, it is sent from and received into the arrays.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/cluster/processes.h"
#include "tessera/runtime/copy.h"

namespace tessera::runtime {

// A box of this many bytes or more is a message of its own.
inline constexpr int64_t kOwnMessage = int64_t{32} << 10;
// Returns the bytes of a message in the workspace, rounded up so that the next one is aligned.
inline int64_t aligned_message(int64_t bytes) { return ceil_div(bytes, 64) * 64; }

// The processes that hold each instance of an array, and the held indices of those that this
// process holds.
struct Holding {
  std::vector<std::vector<int>> holders;  // the processes that hold each instance, ascending
  std::vector<int32_t> held_index;        // of each instance; -1: it is elsewhere
  // Returns the process that sends instance `i` to process `p`: p itself if it holds the instance.
  int giver(int64_t i, int p) const;
  bool holds(int64_t i, int p) const;
};

struct Move {
  int32_t pattern;   // an index into the patterns
  int32_t src, dst;  // instances, by their numbers on all devices
  int64_t src_offset, dst_offset;
};

class CrossMoves {
 public:
  CrossMoves(std::vector<CopyPattern> patterns, const std::vector<Move>& moves, const Holding& src,
             const Holding& dst, int process);

  // Returns whether any process gets data from another one.
  bool crosses() const { return crosses_; }
  int64_t workspace_bytes() const { return workspace_; }
  // Returns the address of an instance that this process holds, given its held index.
  using AddressOf = std::function<std::byte*(int64_t)>;
  // begin() returns what to send and receive. Call end() after that is done, and copy_local() at
  // any time.
  cluster::Round begin(const AddressOf& src, const AddressOf& dst, std::byte* workspace) const;
  void copy_local(const AddressOf& src, const AddressOf& dst) const;
  void end(const AddressOf& dst, std::byte* workspace) const;

 private:
  // A box in the instance with this held index, or in the workspace.
  struct Box {
    int32_t pattern, held_index;
    int64_t offset;
  };
  struct Message {
    int peer;
    int64_t workspace = -1;  // the position of its bytes; -1: they are in the array, at `box`
    int64_t bytes = 0;
    Box box{};
  };
  // A box that is copied between an array and the workspace; it is dense there.
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
  // The patterns for copying boxes to and from the workspace, in which they are dense.
  std::vector<CopyPattern> packing_, unpacking_;
  std::vector<LocalCopy> local_;
  std::vector<Message> out_, in_;
  std::vector<Staged> pack_, unpack_;
  // Boxes that are received directly into the result and then copied to other positions in it.
  std::vector<std::pair<Box, Box>> again_;
  int64_t workspace_ = 0;
  bool crosses_ = false;
};

}  // namespace tessera::runtime
