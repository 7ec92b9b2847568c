// Counts the comparisons that a sort makes by evaluating its comparator op by op, which is hundreds
// of times slower than comparing keys.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::costs {

// Returns whether the function, or one of its regions, sorts by a comparator that has no keys.
bool sorts_by_comparator(const ir::Function& function);

// Returns the number of such comparisons in one run on one device, on zeros. A function that does
// not sort by a comparator is not run; its number is 0.
int64_t interpreted_comparisons_of(const ir::Function& function);

}  // namespace tessera::costs
