// split_lines: a Fourier transform along a sharded dimension becomes transforms of shorter lines,
// if no other dimension can be sharded instead meanwhile.
//
// Before: a propagated Function, transforms over one dimension each (split_transforms.h).
// After:  the same. A line of n = n1 n2 points in k shards, where k divides both n1 and n2, is a
//         matrix [n1, n2] of sharded rows, and point k1 + n1 k2 of its spectrum is, with
//         j = j1 n2 + j2,
//           sum over j2 of (w(n, j2 k1) sum over j1 of x[j1, j2] w(n1, j1 k1)) w(n2, j2 k2)
//         so that columns are transformed, multiplied by roots of unity and transformed as rows,
//         each time under a sharding that leaves them whole, and [n2, n1] is the spectrum row by
//         row: three all_to_alls, as in Bailey, "FFTs in external or hierarchical memory" (1990).
//         Real lines become complex ones. Other sharded lines stay: the partitioner shards another
//         dimension instead meanwhile, or gathers them.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::sharding {

Function split_lines(const Function& function);

}  // namespace tessera::sharding
