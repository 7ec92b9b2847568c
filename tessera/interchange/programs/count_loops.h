// count_loops: a while loop whose number of trips is known becomes a scan. JAX's scan and fori_loop
// are while loops in StableHLO. As scans they have a reverse derivative, which keeps the same
// residuals of a trip as JAX's scan.
//
//   %r:4 = while(%xs = %arg1, %i = 0, %c = %arg0, %ys = zeros)   xs, ys [5, 3]; i < 5
//     %x = dynamic_slice %xs, %i, 0, sizes = [1, 3]
//     %y = tanh(%c + reshape %x)
//     %w = dynamic_update_slice %ys, reshape %y, %i, 0
//     return %xs, %i + 1, %y, %w
//
//   %i5, %r#2, %r#3 = scan(%i = 0, %c = %arg0; rows %x of %arg1), length = 5
//     %y = tanh(%c + %x)                                         x, y [3]
//     return %i + 1, %y; %y                                      stacked [5, 3]
//
// Before: a Function as it was read, with calls.
// After:  the same values, exactly. Calls are inlined. A while becomes a scan only if
//         - its condition compares an integer scalar that it carries with a known bound; the scalar
//           starts at a known number, and the body adds a known number to it; and
//         - the comparison fails before the counter leaves the range of its dtype.
//         Known values are constants, integer arithmetic on constants, and carried values that
//         start with a known one and are returned unchanged. A read of an array that does not
//         change, at positions that ascend or descend from trip to trip, becomes a scanned operand.
//         A carried array that the body only writes in this manner, each row once, becomes a
//         stacked result.
//
// Loops inside loops, branches and manual computations become scans, too.
//
// Loops of sharded programs are counted (with_loops_rewritten in unroll_loops.h): in a scan, arrays
// that are read and stacked row by row are sharded like their rows, while in a while loop their
// sharding is tied to how the rows are sliced.
#pragma once

#include "tessera/interchange/text/parser.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

Function count_loops(const Function& function);

// Returns whether the module has a mesh of several devices.
bool is_sharded(const ParsedModule& module);

}  // namespace tessera::interchange
