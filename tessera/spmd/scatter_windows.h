// select_and_scatter, the derivative of max-pooling, along a dimension that is cut: each device computes
// its own rows of the result from all windows that reach them. Neighbours send the rows of those
// windows, and the windows' values.
//
// Example: windows of 3 rows, 2 apart, over f32[65] on 8 devices. Device 1 has rows 9 .. 17, which
// windows 4 .. 8 reach: it gets rows 8 .. 18, and the values of these five windows, scatters them over
// its 11 rows, and keeps its own 9.
//
// Beside the array, where windows reach into padding, stand copies of its first and of its last row.
// A copy is selected where the row itself would be, and before or after the row: what went to copies
// is added to their row. So nothing needs to lose against every number.
#pragma once

#include <optional>
#include <vector>

#include "tessera/spmd/windows.h"

namespace tessera::spmd {

struct ScatterPlan {
  int dim = 0;
  FactorAssignment assignment;     // of operands before rows move, and of the result
  WindowPlan rows, values;         // what a device gets of the operand, and of the source
  int64_t block = 0, windows = 0;  // how many of them
  // Of each device: where in its block its own rows begin, and where row 0 of the array would stand.
  std::vector<int64_t> own, origin;
  int64_t extent = 0;              // of the array
  bool low = false, high = false;  // whether there are copies of the first, of the last row
};

// The plan, where the op is such a sum along one cut dimension, and it costs no more than the op under
// the assignment `other`.
std::optional<ScatterPlan> choose_scatter_windows(const Op& op, const ShardedOp& sharded,
                                                  const FactorAssignment& other);

// The local result from local operands that are cut as the plan's assignment says.
Array apply_scatter_windows(const AtomMesh& mesh, const ScatterPlan& plan, const Op& op,
                            const Shape& local_result, std::span<const Array> local);

}  // namespace tessera::spmd
