// FusionPlan: which values are stored, and which step computes each.
//
// Ops are visited from last to first, so that all readers of a value have groups when it is
// visited. A value is either computed inside the kernels that read it (as often as it is read, if
// that is cheaper than storing it), or stored by one of them or by a kernel of its own. A
// GroupMembership says how the element that a kernel reads follows from the kernel's loop
// dimensions; if that is a plain choice of dimensions, reductions can join the kernel of their
// readers, and readers the kernel of a reduction.
//
// Example, softmax of f32[n, m] (the last op is op 6): the quotient opens kernel 0 with dimensions
// (n, m); the exponential is read at (0, 1); the sum over m is read at (0), so dimension 0 is
// parallel, 1 is inner and the sum is a loop over m in the same rows, in which the exponential is
// also read at (0, 1); the maximum joins like the sum.
#pragma once

#include <vector>

#include "tessera/fusion/access.h"
#include "tessera/fusion/graph.h"

namespace tessera::fusion {

struct GroupMembership {
  int group = -1;
  Access access;    // of the op's result
  float times = 1;  // the number of different elements of it that one element of the kernel needs
};

struct GroupOutput {
  int value = -1;
  Access access;
  int piece = -1;  // the stored part, a piece of the index map that makes the value; -1: all of it
};

// A group of ops that becomes one step.
struct Group {
  bool kernel = true;  // false: the stored op `op`, or a view of its operand
  // The op that opened the group; steps keep the order of the program if dependencies leave a
  // choice.
  int op = -1;
  int piece = -1;     // the group computes only this piece of the index map `op`
  Dims extents;       // of the dimensions; those of the first output, then those of reductions
  int root_rank = 0;  // the number of the former
  AxisList axes;      // the step runs once for each coordinate along these
  // Set once a reduction joined (or an expensive value that depends only on some dimensions): then
  // the leading parallel_rank root dimensions are parallel, the others inner.
  bool structured = false;
  int parallel_rank = 0;
  // The dimensions of one kind of inner loop.
  std::vector<boost::container::small_vector<int, 3>> families;
  std::vector<GroupOutput> outputs;
  std::vector<int> ops;                         // the ops that it computes, descending
  int64_t computed = 0;                         // how many of them are no constants
  std::vector<std::pair<int, int>> reductions;  // (op, the family it folds over)
};

struct FusionPlan {
  std::vector<char> stored;  // for each value: it exists in memory
  std::vector<Group> groups;
  std::vector<boost::container::small_vector<GroupMembership, 1>> memberships;  // of an op
  std::vector<int> order;                                                       // of the groups
};

// Returns the plan. `must_store`: values that must be stored whatever their readers (besides
// outputs and operands of stored ops).
FusionPlan make_fusion_plan(const Graph& graph, const std::vector<char>& must_store);

}  // namespace tessera::fusion
