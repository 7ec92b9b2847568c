// lower_scans: the inverse of count_loops. The result is StableHLO alone, so that other tools can
// run the program.
//
//   %r, %ys = scan(%c; rows of %xs), length = 5   ->   %i = 0, %ys = zeros
//                                                      while (%i, %c, %xs, %ys) cond %i < 5:
//                                                        %x = reshape(dynamic_slice %xs, %i, 0)
//                                                        ...
//                                                        %ys = dynamic_update_slice(%ys, %y, %i, 0)
//
// Before: a traced Function, possibly transformed.
// After:  the same values, with whiles instead of scans (a reversed scan reads and writes from the
//         last row to the first), with calls, checkpoints and functions with custom derivatives
//         inlined, and without ops that only transforms read.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

Function lower_scans(const Function& function);

}  // namespace tessera::interchange
