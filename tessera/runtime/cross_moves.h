// CrossMoves: boxes of bytes from instances of one array to instances of another, between processes
// and within this one. What collectives over processes, and arrays that are laid out anew, are made
// of.
//
// Every process knows all moves, so sender and receiver agree on what a message holds without a
// word. A box goes to a process once, however many instances want it there. Small boxes for one
// process are one message; a large one is a message of its own, from and to where it lies, if it
// lies in one piece.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/cluster/processes.h"
#include "tessera/runtime/copy.h"

namespace tessera::runtime {

// Which processes hold the instances of an array, and where this one has its own.
struct Holding {
  std::vector<std::vector<int>> holders;  // of each instance, ascending
  std::vector<int32_t> held_index;        // of each instance among those held here; -1: elsewhere
  // Who gives instance `i` to process `p`, which holds it itself if it can.
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

  // Whether any process gets anything from another one.
  bool crosses() const { return crosses_; }
  int64_t workspace_bytes() const { return workspace_; }
  // Where the instances that this process holds are, by their place.
  using AddressOf = std::function<std::byte*(int64_t)>;
  // What is to be sent and received; then end() when it has been. copy_local() at any time.
  cluster::Round begin(const AddressOf& src, const AddressOf& dst, std::byte* workspace) const;
  void copy_local(const AddressOf& src, const AddressOf& dst) const;
  void end(const AddressOf& dst, std::byte* workspace) const;

 private:
  // A box and where it is: `at` of instance `place`, or of the workspace.
  struct Box {
    int32_t pattern, held_index;
    int64_t offset;
  };
  struct Message {
    int peer;
    int64_t workspace = -1;  // where its bytes are; -1: in the array, at `box`
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

  std::vector<CopyPattern> patterns_;
  // The same boxes, dense on one side.
  std::vector<CopyPattern> packing_, unpacking_;
  std::vector<LocalCopy> local_;
  std::vector<Message> out_, in_;
  std::vector<Staged> pack_, unpack_;
  // Boxes that came straight into the result and are wanted elsewhere in it too.
  std::vector<std::pair<Box, Box>> again_;
  int64_t workspace_ = 0;
  bool crosses_ = false;
};

}  // namespace tessera::runtime
