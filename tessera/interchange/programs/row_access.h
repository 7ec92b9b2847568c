// The rows of an array that a loop reads or writes block by block, as scanned operands and stacked
// results of a scan. count_loops uses it.
//
//   dynamic_slice x [10, 3], i, 0, sizes = [2, 3]   where i is 8, 6, 4 in trips 0, 1, 2
//   first = 4, block = 2, stride = 2, descending    rows 4 to 9, as [3, 2, 3]; with one row a trip:
//                                                   [3, 3]
#pragma once

#include <functional>
#include <optional>

#include "tessera/interchange/programs/known_scalars.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

struct RowAccess {
  bool writes = false;
  int64_t first = 0, block = 1;  // the lowest row, and the number of rows of a trip
  int64_t stride = 1;            // between the first rows of consecutive trips
  bool descending = false;       // the first trip has the last rows
  bool is_contiguous() const { return stride == block; }
};

// Returns how the op, a dynamic_slice or dynamic_update_slice, walks through its first operand, if
// it takes whole rows, another block in each trip; nullopt for anything else. `scalars` are those
// of all trips.
std::optional<RowAccess> row_access(const Function& f, const Op& op, const KnownScalars& scalars);

// Adds an op with one result and returns that.
using AddOp = std::function<ValueId(const OpDef& def, OpParams params, ValueIds operands)>;

// Returns the shape that a trip sees of an array of this shape: [block, ...], or that of a row if a
// block has one row.
Shape row_shape(const RowAccess& rows, Shape array);

// Returns what the access reads of `array` of `f`: such rows of all trips. `reverse`: the scan runs
// in reverse.
ValueId append_rows(const RowAccess& rows, int64_t trips, bool reverse, const Function& f,
                    ValueId array, const AddOp& add);
// Returns `array` with the stacked rows of all trips in their positions.
ValueId append_written(const RowAccess& rows, int64_t trips, bool reverse, const Function& f,
                       ValueId array, ValueId stacked, const AddOp& add);

}  // namespace tessera::interchange
