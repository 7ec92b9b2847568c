// loop_over_rows: returns the same function, with a part that contains loops over large arrays
// computed for a few rows (indices of dimension 0) at a time, if it computes each row of its
// results from the same row of its operands. Then all values in between stay in the cache of a
// core, and cores take different rows.
//
// Before: a partitioned function. After: the same results, bit for bit; a part of the function
// (row_part.h) is the body of a scan without carries. The runtime runs its trips at the same time.
//
// For example, 1,000 steps of a recurrence whose state is an array
//
//   y = scan(x: [1000000]), length = 1000          x is read and written 1,000 times
//     return x + 0.1 * sin(x)
//
// become
//
//   t = reshape x                                  [125, 8000]
//   r = scan(rows of t), length = 125
//     y = scan(row: [8000]), length = 1000
//       return row + 0.1 * sin(row)
//     return; stacked y
//   y = reshape r                                  [1000000]
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::fusion {

Function loop_over_rows(const Function& function);

}  // namespace tessera::fusion
