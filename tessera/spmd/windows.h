// Windows: slice, pad, reverse and concatenate along a sharded dimension. Instead of gathering it,
// each device sends exactly the rows that others need.
//
// Example: x[1:] - x[:-1] of f32[64] on 8 devices. x[1:] has 63 rows in shards of 8; device i needs
// rows 8 i + 1 .. 8 i + 8: its own except the first, and the first one of device i + 1: one
// permutation of one row.
//
// If the result is not sharded (x[:5]), or begins at a dynamic index (dynamic_slice), each device
// puts its rows into an array of values that do not change a sum, and the results are summed.
#pragma once

#include <vector>

#include "tessera/ir/op_def.h"
#include "tessera/ops/indexing/indexed_windows.h"
#include "tessera/spmd/assignment.h"
#include "tessera/spmd/row_moves.h"

namespace tessera::spmd {

// One dimension of one operand, and the part of it that the shards of the result are copied from.
struct DimWindow {
  int dim = 0;
  AtomList atoms;     // the axes that shard the operand's dimension
  int64_t own = 0;    // rows of one shard of the operand in storage
  int64_t shard = 0;  // of the result
  // What a device does to its own rows before any are sent: they become `kept` rows that are
  // adjacent in the result.
  bool reversed = false;
  int64_t stride = 1;               // one row of so many is kept
  std::vector<int64_t> first = {};  // of each device's rows: the first that is kept
  int64_t divisor = 1;              // the distance at which rows are placed
  int64_t kept = 0;
  std::vector<RowMove> moves = {};
  // Only result rows [guard_start, guard_stop) are copies, and of these every divisor-th.
  bool guarded = false;
  int64_t guard_start = 0, guard_stop = 0;
  // Every device has all rows of the result; those of other devices are neutral in a sum.
  bool partial = false;
  int start = -1;  // the operand with the first row (clamped to [0, start_max])
  int64_t start_max = 0;
};

// The source of one part of the result: an operand, or several whose shards are concatenated along
// `joined_dim`, so that their rows are sent together.
struct WindowPiece {
  std::vector<int> operands;
  int joined_dim = -1;
  std::vector<DimWindow> windows;
};

struct WindowPlan {
  std::vector<WindowPiece> pieces;  // of the index map
  int fill = -1;                    // the operand that fills the rest
  DimAtoms result_dims;             // the sharding of the result
  AtomSet reduced = 0;              // the axes over which it is partial
  int64_t cost = 0;                 // bytes received by each device, and steps
};

// An index map over operands with some sharding, to a result with some sharding. `partial`:
// dimensions that the map changes are not sharded in the result, but summed.
struct WindowRequest {
  IndexMapping mapping;
  std::vector<Type> operands;  // global
  std::vector<DimAtoms> operand_dims;
  Type result;
  DimAtoms result_dims;
  bool partial = false;
};

// Returns nullopt if the map is not one of windows, or if the request does not fit it.
std::optional<WindowPlan> plan_windows(const AtomMesh& mesh, const WindowRequest& request);

// Rewrites the piece, which copies from a value that `inner` makes of one operand, as a copy of
// that operand: a slice of a slice is a slice. Returns false if that is not possible.
bool compose_windows(const IndexMapping& inner, IndexPiece& piece);

// Returns the kind by which partial results of a plan are combined.
ReduceKind window_combiner(DType dtype);

// Returns the local result from local operands with the shardings of the request.
Array apply_windows(const AtomMesh& mesh, const WindowPlan& plan, const Shape& local_result,
                    std::span<const Array> operands);

}  // namespace tessera::spmd
