// merge_sorts: sorts by comparators of the user's are compiled, so that none is evaluated op by op.
//
// What depends on one element alone becomes a key (fusion/rewrites/comparator_keys.h):
//
//   y = sort(x), (a, b) -> |a| < |b|
//     -> k, y = sort(|x|, x), (ka, kb, a, b) -> ka < kb
//
// - If the order of keys is known, the digits of the keys are sorted (ops/structural/sort_lines.h).
//   Comparisons of IEEE are no order if there are NaNs; a conditional then merges.
// - All other sorts become loops that merge (fusion/rewrites/merge_loop.h).
//
// Before: a partitioned function. After: only sorts by known orders, and those of sharded values
// and of elements of 4 bits or fewer, whose loops would be interpreted.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::fusion {

Function merge_sorts(const Function& function);

}  // namespace tessera::fusion
