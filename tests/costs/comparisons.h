// Comparisons of elements that a sort makes by evaluating its comparator op by op, hundreds of times
// slower than by keys.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::costs {

// Whether the function sorts by a comparator of its own, in whichever region.
bool sorts_by_comparator(const ir::Function& function);

// Returns how many such comparisons one run on one device makes, on zeros; 0 for a function
// that does not sort by a comparator, which is not run.
int64_t interpreted_comparisons_of(const ir::Function& function);

}  // namespace tessera::costs
