// Divides a sort's comparator into keys and an order of keys: whatever depends on one of the two
// elements alone is a key, which is computed once for each element instead of in every comparison.
//
//   (a, b) -> |a| % 8 < |b| % 8
//     -> keys        x -> |x| % 8
//        comparator  (a, b) -> a < b
//
// If the comparator is a known order of its keys (ops/structural/sort_order.h), it is never called.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::fusion {

struct ComparatorKeys {
  Function keys;        // (x0, x1, ...) -> (k0, k1, ...), elementwise; a key may be an input
  Function comparator;  // (k0 of a, k0 of b, k1 of a, ...) -> whether a is before b
};

// Divides a comparator (x0 of a, x0 of b, x1 of a, ...) -> bool. Its calls are inlined.
ComparatorKeys keys_of_comparator(const Function& comparator);

}  // namespace tessera::fusion
