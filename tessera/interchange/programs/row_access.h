// The rows of an array that a loop reads or writes block by block. count_loops makes scanned
// operands and stacked results of them.
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
  int64_t first = 0, block = 1;  // the lowest row, and the number of rows in a block
  int64_t stride = 1;            // distance of the first rows of consecutive trips
  bool descending = false;       // the first trip has the last rows
  bool is_contiguous() const { return stride == block; }
};

// Returns how the op, a dynamic_slice or dynamic_update_slice, goes through its first operand, if
// it takes whole rows and another block in each trip. Returns nullopt for anything else. `scalars`
// are those of all trips.
std::optional<RowAccess> row_access(const Function& f, const Op& op, const KnownScalars& scalars);

// Adds an op with one result and returns the result.
using AddOp = std::function<ValueId(const OpDef& def, OpParams params, ValueIds operands)>;

// Returns the shape of a block of an array of this shape: [block, ...], or the shape of a row if a
// block has one row.
Shape row_shape(const RowAccess& rows, Shape array);

// Returns the rows of all trips that the access reads of `array`, a value of `f`. If `reverse` is
// set, the scan runs in reverse.
ValueId append_rows(const RowAccess& rows, int64_t trips, bool reverse, const Function& f,
                    ValueId array, const AddOp& add);
// Returns `array` with the stacked rows of all trips written to their positions.
ValueId append_written(const RowAccess& rows, int64_t trips, bool reverse, const Function& f,
                       ValueId array, ValueId stacked, const AddOp& add);

}  // namespace tessera::interchange
