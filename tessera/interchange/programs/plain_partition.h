// plain_partition: expresses the program of one device in StableHLO alone, for a runtime that runs
// it as one replica of many. lower_scans, which replaces loops, runs before.
//
//   axis_index over ("x")   ->   a table of ranks, by the replica's number
//                                %id = replica_id;  %r = dynamic_slice(dense<[0, 0, 1, 1]>, %id)
//   fft_along dimension d   ->   transpose, fft, transpose
//   pcast                   ->   its operand
//   reduce_scatter, all_to_all or collective_permute of several arrays   ->   one for each array
//
// Before: a partitioned Function. Replica k runs on the device with the k-th smallest id of the
//         mesh, as the groups of devices in the text of collectives count them.
// After:  the same values. Other ops that only Tessera has remain.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

Function plain_partition(const Function& partitioned);

}  // namespace tessera::interchange
