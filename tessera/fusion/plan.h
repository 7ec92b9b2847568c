// FusionPlan: which values are stored, and which step computes each.
//
// Ops are visited from the last to the first, so that all readers of a value have groups when it is
// visited. A value is either computed inside the kernels that read it (in each of them, if that is
// cheaper than storing it), or stored by one of them or by a kernel of its own. A GroupMembership
// contains how the element that a kernel reads follows from the kernel's loop dimensions. If that
// is a plain choice of dimensions, reductions can join the kernel of their readers, and readers the
// kernel of a reduction.
//
// Example, softmax of f32[n, m] (op 6 is the last op). The quotient opens kernel 0 with dimensions
// (n, m). The exponential is read at (0, 1). The sum over m is read at (0), so dimension 0 is
// parallel, dimension 1 is inner, and the sum is a loop over m in the same rows, in which the
// exponential is also read at (0, 1). The maximum joins like the sum.
#pragma once

#include <vector>

#include "tessera/fusion/graph.h"
#include "tessera/fusion/kernels/access.h"

namespace tessera::fusion {

struct GroupMembership {
  int group = -1;
  Access access;  // how the kernel reads the op's result
  // The number of different elements of the result that one element of the kernel needs.
  float times = 1;
  // How many elements of the result an element of the kernel needs on average, if the kernel tests
  // for whole rows and parts of rows which pieces of an index map they need (codegen/middle.cc).
  float load = 1;
  // The part of the kernel's elements that need it (short_row_pieces.h).
  float share = 1;
};

struct GroupOutput {
  int value = -1;
  Access access;
  // The piece of the value's index map that is stored; -1: all of the value.
  int piece = -1;
};

// A group of ops that becomes one step.
struct Group {
  bool kernel = true;  // false: the step is that of the stored op `op`, or a view of its operand
  // The op that opened the group. Steps keep the order of the program unless dependencies require
  // another one.
  int op = -1;
  int piece = -1;     // the group computes only this piece of the index map `op`
  Dims extents;       // of the first output's dimensions, then of those of reductions
  int root_rank = 0;  // the number of the first output's dimensions
  AxisList axes;      // the step runs once for each coordinate along these axes
  // True once a reduction (or an expensive value that depends only on some dimensions) has joined.
  // Then the leading parallel_rank dimensions of the root are parallel, and the others inner.
  bool structured = false;
  int parallel_rank = 0;
  // For each family, the dimensions of a kind of inner loop.
  std::vector<boost::container::small_vector<int, 3>> families;
  std::vector<GroupOutput> outputs;
  std::vector<int> ops;                         // the ops that it computes, descending
  int64_t computed = 0;                         // how many of them are not constants
  std::vector<std::pair<int, int>> reductions;  // (op, the family it folds over)
};

struct FusionPlan {
  std::vector<char> stored;  // for each value: whether it exists in memory
  std::vector<Group> groups;
  std::vector<boost::container::small_vector<GroupMembership, 1>> memberships;  // for each op
  // The order of the groups' steps.
  std::vector<int> order;
};

// Returns the plan. `must_store` marks values that must be stored whatever their readers (in
// addition to outputs, and operands and results of stored ops).
FusionPlan make_fusion_plan(const Graph& graph, const std::vector<char>& must_store);

}  // namespace tessera::fusion
