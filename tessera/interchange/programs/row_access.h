// Rows of an array that a loop reads or writes one block after the other, as scanned operands and
// stacked results of a scan have them. For count_loops.
//
//   dynamic_slice x [10, 3], i, 0, sizes = [2, 3]   where i is 8, 6, 4 in trips 0, 1, 2
//   first = 4, block = 2, stride = 2, descending    rows 4 to 9, as [3, 2, 3]; of one row a trip: [3, 3]
#pragma once

#include <functional>
#include <optional>

#include "tessera/interchange/programs/known_scalars.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

struct RowAccess {
  bool writes = false;
  int64_t first = 0, block = 1;  // the lowest row, and how many rows a trip takes
  int64_t stride = 1;            // between the first rows of trips that follow each other
  bool descending = false;       // the first trip takes the last rows
  bool is_contiguous() const { return stride == block; }
};

// How the op, a dynamic_slice or dynamic_update_slice, goes through its first operand, where it
// takes whole rows, another block each trip; nullopt for anything else. `scalars` of all trips.
std::optional<RowAccess> row_access(const Function& f, const Op& op, const KnownScalars& scalars);

// Adds an op of one result.
using AddOp = std::function<ValueId(const OpDef& def, OpParams params, ValueIds operands)>;

// What a trip has of an array of this shape: [block, ...], of a block of one row the row itself.
Shape row_shape(const RowAccess& rows, Shape array);

// What the access reads of `array` of `f`, such rows of all trips; of a scan that runs in `reverse`
// or not.
ValueId append_rows(const RowAccess& rows, int64_t trips, bool reverse, const Function& f,
                    ValueId array, const AddOp& add);
// `array` with what was stacked, such rows of all trips, in its place.
ValueId append_written(const RowAccess& rows, int64_t trips, bool reverse, const Function& f,
                       ValueId array, ValueId stacked, const AddOp& add);

}  // namespace tessera::interchange
