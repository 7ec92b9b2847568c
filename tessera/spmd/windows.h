// Windows: partitions slice, pad, reverse and concatenate along a sharded dimension. Instead of
// gathering the dimension, each device sends exactly the rows that others need.
//
// Example: x[1:] - x[:-1] of f32[64] on 8 devices. x[1:] has 63 rows in shards of 8. Device i needs
// rows 8 i + 1 .. 8 i + 8: its own except the first, and the first row of device i + 1. This takes
// one permutation of one row.
//
// If the result is not sharded (x[:5]), or begins at a dynamic index (dynamic_slice), each device
// puts its rows into an array of values that do not change a sum, and the arrays are summed.
#pragma once

#include <vector>

#include "tessera/ir/op_def.h"
#include "tessera/ops/indexing/indexed_windows.h"
#include "tessera/spmd/assignment.h"
#include "tessera/spmd/row_moves.h"

namespace tessera::spmd {

// One dimension of one operand, and the part of it from which the shards of the result are copied.
struct DimWindow {
  int dim = 0;
  AtomList atoms;     // the axes that shard the operand's dimension
  int64_t own = 0;    // rows in storage of one shard of the operand
  int64_t shard = 0;  // rows of one shard of the result
  // What a device does to its own rows before any are sent. They become `kept` rows that are
  // adjacent in the result.
  bool reversed = false;
  int64_t stride = 1;               // every stride-th row is kept
  std::vector<int64_t> first = {};  // for each device: the first of its rows that is kept
  int64_t divisor = 1;              // the distance between rows in the result
  int64_t kept = 0;
  std::vector<RowMove> moves = {};
  // If guarded, only result rows [guard_start, guard_stop) are copies, and of these every
  // divisor-th.
  bool guarded = false;
  int64_t guard_start = 0, guard_stop = 0;
  // If partial, every device has all rows of the result; rows of other devices are neutral in a
  // sum.
  bool partial = false;
  // The operand that contains the first row, which is clamped to [0, start_max]; -1: none.
  int start = -1;
  int64_t start_max = 0;
};

// The source of one part of the result: an operand, or several operands whose shards are
// concatenated along `joined_dim`, so that their rows are sent together.
struct WindowPiece {
  std::vector<int> operands;
  int joined_dim = -1;
  std::vector<DimWindow> windows;
};

struct WindowPlan {
  std::vector<WindowPiece> pieces;  // for the pieces of the index map
  int fill = -1;                    // the operand that fills the rest; -1: none
  DimAtoms result_dims;             // the sharding of the result
  AtomSet reduced = 0;              // the axes over which the result is partial
  int64_t cost = 0;                 // the bytes that each device receives, and the cost of steps
};

// An index map, and the shardings of its operands and result. `partial`: dimensions that the map
// changes are summed over devices in the result instead of sharded.
struct WindowRequest {
  IndexMapping mapping;
  std::vector<Type> operands;  // global
  std::vector<DimAtoms> operand_dims;
  Type result;
  DimAtoms result_dims;
  bool partial = false;
};

// Returns the plan; nullopt if the map is not one of windows, or if the request does not fit it.
std::optional<WindowPlan> plan_windows(const AtomMesh& mesh, const WindowRequest& request);

// Makes the piece, which copies from a value, copy from the operand of which `inner` makes that
// value: a slice of a slice is a slice. Returns false if that is not possible.
bool compose_windows(const IndexMapping& inner, IndexPiece& piece);

// Returns the kind of fold that combines partial results of a plan.
ReduceKind window_combiner(DType dtype);

// Returns the local result from local operands with the shardings of the request.
Array apply_windows(const AtomMesh& mesh, const WindowPlan& plan, const Shape& local_result,
                    std::span<const Array> operands);

}  // namespace tessera::spmd
