// split_lines: a Fourier transform along a sharded dimension becomes transforms of shorter lines,
// if no other dimension can be sharded instead during the transform.
//
// Before: a propagated Function with transforms over one dimension each (split_transforms.h).
// After:  the same values. A line of n = n1 n2 points in k shards, where k divides n1 and n2, is a
//         matrix [n1, n2] with sharded rows. With j = j1 n2 + j2, point k1 + n1 k2 of its spectrum
//         is
//           sum over j2 of (w(n, j2 k1) sum over j1 of x[j1, j2] w(n1, j1 k1)) w(n2, j2 k2)
//         So columns are transformed, multiplied by roots of unity, and transformed as rows, each
//         time under a sharding in which they are whole. The matrix [n2, n1] of the results is the
//         spectrum, row by row. This takes three all_to_alls, as in Bailey, "FFTs in external or
//         hierarchical memory" (1990). Real lines become complex lines. Other sharded lines are not
//         split: the partitioner shards another dimension during the transform, or gathers them.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::sharding {

Function split_lines(const Function& function);

}  // namespace tessera::sharding
