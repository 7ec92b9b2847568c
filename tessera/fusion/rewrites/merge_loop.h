// Sorts by merging, as ops: loops that compare two elements at a time by any comparator. They are
// one function of machine code (codegen/routines/routine.h), while the host call of a sort
// evaluates its comparator op by op.
//
// The elements are compared in the order in which the C++ library of GNU compares them, so results
// agree with it, and with XLA's CPU backend, which calls it, also for a comparator that is no
// strict weak order, such as < if there are NaNs:
//
//   1. The halves of the line, of which the first one may have one element more, are divided into
//      chunks of 7 elements, and each chunk is sorted by insertion.
//   2. Sorted parts of 7, 14, 28, ... elements are merged in each half. Both halves take their next
//      element in the same trip, so that the processor need not wait for one comparison before it
//      begins the next.
//   3. The halves are merged: forwards if they are equally long, backwards otherwise.
#pragma once

#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/array.h"
#include "tessera/ir/function.h"

namespace tessera::fusion {

// Sorts arrays of one shape along a dimension, stably, by a comparator (x0 of a, x0 of b, x1 of a,
// ...) -> whether a is before b.
std::vector<Array> sorted_by_merging(const Function& comparator, const std::vector<Array>& arrays,
                                     int64_t dimension);

}  // namespace tessera::fusion
