// count_loops: a while loop whose number of trips is known becomes a scan. JAX's scan and fori_loop
// are while loops in StableHLO; as scans they have a reverse derivative, and what it keeps of a trip
// is what JAX's scan keeps.
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
// Before: a Function as it was read; calls in it.
// After:  the same values, exactly. Calls are inlined. A while is left as it is unless
//         - its condition compares an integer scalar it carries, that starts at a known number and
//           to which the body adds a known one, with a known bound, and
//         - the comparison fails before the counter leaves the range of its dtype.
//         Known is a constant, what integer arithmetic makes of constants, and a carried value that
//         starts as one and is handed on as it came. A read of an array that does not change, at
//         places that go up or down from trip to trip, becomes a scanned operand; a carried array
//         that the body only writes so, rows it writes once, a stacked result.
//
// Loops inside loops, branches and manual computations are counted too.
#pragma once

#include "tessera/interchange/text/parser.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

Function count_loops(const Function& function);

// The main function of a module, its loops counted if it is cut over several devices: what a scan reads
// and stacks row by row is cut as the rows are, where a while ties how its arrays are cut to how
// their rows are sliced.
Function count_loops_if_sharded(const ParsedModule& module);

}  // namespace tessera::interchange
