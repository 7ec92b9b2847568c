// Windows: slice, pad, reverse and concatenate along a dimension that is cut. Instead of gathering
// it, each device sends the rows that others need of it, and nothing else.
//
// Example: x[1:] - x[:-1] of f32[64] on 8 devices. x[1:] has 63 rows in shards of 8; device i needs
// rows 8 i + 1 .. 8 i + 8: its own but for the last, which is the first one of device i + 1: one
// permutation of one row.
//
// Where the result is not cut (x[:5]), or begins where a run decides (dynamic_slice), each device
// lays its rows over what changes no sum, and the results are summed.
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
  AtomList atoms;     // that cut the operand's dimension
  int64_t own = 0;    // rows of one shard of the operand in storage
  int64_t shard = 0;  // of the result
  // What a device does to its own rows before any are sent: they become `kept` rows that follow
  // each other in the result.
  bool reversed = false;
  int64_t stride = 1;               // one row of so many stays
  std::vector<int64_t> first = {};  // of each device's rows: the first that stays
  int64_t divisor = 1;              // rows are set so far apart
  int64_t kept = 0;
  std::vector<RowMove> moves = {};
  // Only result rows [guard_start, guard_stop) are copies, and of these every divisor-th.
  bool guarded = false;
  int64_t guard_start = 0, guard_stop = 0;
  // The result has all rows on every device, those of others neutral to a sum.
  bool partial = false;
  int start = -1;  // operand that holds the first row (clamped to [0, start_max])
  int64_t start_max = 0;
};

// What one part of the result is copied from: an operand, or several whose shards are put one
// behind the other along `joined_dim`, so that their rows travel together.
struct WindowPiece {
  std::vector<int> operands;
  int joined_dim = -1;
  std::vector<DimWindow> windows;
};

struct WindowPlan {
  std::vector<WindowPiece> pieces;  // of the index map
  int fill = -1;                    // operand that fills the rest
  DimAtoms result_dims;             // how the result is cut
  AtomSet reduced = 0;              // and over what it is partial
  int64_t cost = 0;                 // bytes received by each device, and steps
};

// An index map over operands that are cut in some way, to a result that is cut so. `partial`:
// dimensions that the map changes are not cut in the result, but summed.
struct WindowRequest {
  IndexMapping mapping;
  std::vector<Type> operands;  // global
  std::vector<DimAtoms> operand_dims;
  Type result;
  DimAtoms result_dims;
  bool partial = false;
};

// Empty where the map is not one of windows, or the request does not fit it.
std::optional<WindowPlan> plan_windows(const AtomMesh& mesh, const WindowRequest& request);

// The piece, which copies from a value that `inner` makes of one operand, as a copy of that
// operand: a slice of a slice is a slice. False where it is none.
bool compose_windows(const IndexMapping& inner, IndexPiece& piece);

// The kind by which partial results of a plan combine.
ReduceKind window_combiner(DType dtype);

// The local result from local operands that are cut as requested.
Array apply_windows(const AtomMesh& mesh, const WindowPlan& plan, const Shape& local_result,
                    std::span<const Array> operands);

}  // namespace tessera::spmd
