// unroll_loops: a while loop of few trips whose body is elementwise becomes its trips, one after
// the other. A kernel then computes all of them with its values in registers, together with what
// reads the result, while a loop writes and reads its carry in every trip. JAX's random bits are
// such a loop: five trips over two arrays of the result's size.
//
//   %r:2 = while(%i = 0, %c = %x)   i < 3          %1 = sine %x
//     %d = sine %c                           ->    %2 = sine %1
//     return %i + 1, %d                            %3 = sine %2
//
// Before: a Function as it was read, with calls.
// After:  the same values. A while is unrolled only if
//         - its condition follows from integer scalars that are known (known_scalars.h), and fails
//           after at most 8 trips;
//         - each op of its body is pointwise, a constant, an iota, a broadcast, a reshape or a
//           slice; and
//         - the trips have at most 512 ops together.
//         Small arrays of integers that are known are computed here and become constants (of at most 64
//         elements, or 8 if the program is sharded).
//
// The sizes of arrays do not matter, so that a batch of any size is computed by the same ops.
// Loops inside loops, branches, calls and manual computations are unrolled, too.
#pragma once

#include "tessera/interchange/text/parser.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

Function unroll_loops(const Function& function, bool is_sharded = false);

// Returns the main function of a module with short loops unrolled. The others are counted
// (count_loops.h) if the module is sharded, or if one of them then sums products that are better
// computed after it (control/multiply_after_loops.h).
Function with_loops_rewritten(const ParsedModule& module);

}  // namespace tessera::interchange
