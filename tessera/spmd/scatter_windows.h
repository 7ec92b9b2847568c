// select_and_scatter, the derivative of max-pooling, along a sharded dimension. Each device
// computes its own rows of the result from all windows that contain them. Neighbours send it the
// rows of those windows, and the windows' values.
//
// Example: windows of 3 rows, 2 apart, over f32[65] on 8 devices. Device 1 has rows 9 .. 17, which
// are in windows 4 .. 8. It gets rows 8 .. 18 and the values of these five windows, scatters the
// values over its 11 rows, and keeps its own 9 rows.
//
// If windows extend into the padding, the padding is filled with copies of the first and of the
// last row. A copy is selected only if the row itself would be selected, and it is adjacent to the
// row; what is scattered to copies is added to their row. So no padding value is needed that is
// less than every number.
#pragma once

#include <optional>
#include <vector>

#include "tessera/spmd/windows.h"

namespace tessera::spmd {

struct ScatterPlan {
  int dim = 0;
  FactorAssignment assignment;  // of operands before rows are moved
  // The plans by which a device gets rows of the operand, and values of the source.
  WindowPlan rows, values;
  int64_t block = 0, windows = 0;  // the number of rows, and of values, that a device gets
  // For each device: the positions in its block of its own rows, and of row 0 of the array.
  std::vector<int64_t> own, origin;
  int64_t extent = 0;              // of the array along `dim`
  bool low = false, high = false;  // whether there are copies of the first row, and of the last row
};

// Returns the plan if the op is such a scatter along one sharded dimension, and if the plan costs
// no more than the op under the assignment `other`.
std::optional<ScatterPlan> choose_scatter_windows(const Op& op, const ShardedOp& sharded,
                                                  const FactorAssignment& other);

// Returns the local result from local operands with the shardings of the plan's assignment.
Array apply_scatter_windows(const AtomMesh& mesh, const ScatterPlan& plan, const Op& op,
                            const Shape& local_result, std::span<const Array> local);

}  // namespace tessera::spmd
