// multiply_after_loops: a sum of products that a scan carries becomes one product after the scan,
// which contracts the trips too. The derivative of a recurrent layer by its weights is such a sum:
// the scan would read and write an array of the weights' size in every trip.
//
//   %r:2 = scan(%w = %init, %h = %h0; rows %x of %xs), length = 5      xs [5, 2, 3]
//     %g = tanh(%h)                                                    h, g [2, 4]
//     %d = dot_general %x, %g, contracting_dims = [0] x [0]            w, d [3, 4]
//     return %w + %d, %g
//
//   %r:2 = scan(%h = %h0), length = 5
//     %g = tanh(%h)
//     return %g; %g                                                    stacked [5, 2, 4]
//   %d = dot_general %xs, %r#1, contracting_dims = [0, 1] x [0, 1]
//   %w = %init + %d
//
// Before: a Function, as it was traced or with its loops counted.
// After:  the same values, except for the order of sums and the sign of zeros. Sums of integers are
//         the same. Sums of 16-bit floats are rounded once, after the last trip. It applies to a
//         carry if
//         - the body only adds products to it or subtracts them, and nothing else reads it in the
//           body. Between a product and the sum there may be transposes, reshapes, negations,
//           conversions between floats of at most 32 bits, and factors: of integers, those that are
//           the same in each trip; of floats, constants of at least 1 (and divisors of at most 1),
//           because the sum could overflow before a smaller one makes it smaller;
//         - both operands of each product differ from trip to trip, and their order of sums is
//           DotSum::kAny; and
//         - it pays: the carry has at least 32 KiB, and what a trip has to stack in addition is not
//           larger than the carry and, for all trips together, not larger than what the loop reads
//           and stacks by rows already, or 16 MiB. An operand that the loop reads or stacks by rows
//           (also reshaped or transposed) is not stacked again.
//         All of this follows from global shapes, so that a program has the same sums on any number
//         of devices.
//
// Loops inside loops, branches and manual computations are rewritten, too, the inner ones first.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::control {

// A smaller carry stays in the first cache of a core, or in registers.
constexpr int64_t kLeastSumBytes = int64_t{32} << 10;

// Rewrites carries of at least this many bytes. (Tests rewrite all of them.)
Function multiply_after_loops(const Function& function, int64_t least_bytes = kLeastSumBytes);

// Returns whether the pass changes a scan of the function, also in regions and in functions that it
// calls.
bool sums_products_in_loops(const Function& function, int64_t least_bytes = kLeastSumBytes);

// Returns whether a while loop of the function has a product. If not, the function need not be
// searched for while loops that would sum products as scans of the same length.
bool has_products_in_while_loops(const Function& function);

}  // namespace tessera::control
