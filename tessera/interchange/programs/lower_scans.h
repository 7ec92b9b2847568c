// lower_scans: a program as StableHLO alone says it, so that other consumers of StableHLO run it: the
// inverse of count_loops.
//
//   %r, %ys = scan(%c; rows of %xs), length = 5     ->   %i = 0, %ys = zeros
//                                                        while (%i, %c, %xs, %ys) cond %i < 5:
//                                                          %x = reshape(dynamic_slice %xs, %i, 0)
//                                                          ...
//                                                          %ys = dynamic_update_slice(%ys, %y, %i, 0)
//
// Before: a traced Function, as transforms make it.
// After:  the same values; whiles for scans (those of a reversed one read and write from the last
//         row to the first), what stands for a function written out (calls, checkpoints, functions
//         with derivatives of their own), and no op that only a transform reads.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::interchange {

Function lower_scans(const Function& function);

}  // namespace tessera::interchange
