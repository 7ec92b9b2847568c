// Moves kernels that only make results of the program, such as the updates of weights by their
// gradients, to the products and convolutions whose results they read. Such a kernel follows all
// others in most programs, so every gradient would be stored until then.
//
// Example: in a = x . y; b = y . z; r = w - a; s = v - b, the kernel of r moves before the product
// b: a is then in the caches, and its memory is free for b.
#pragma once

#include "tessera/fusion/schedule.h"

namespace tessera::fusion {

// Reorders the steps of the schedule, and not those of nested schedules. A kernel stays behind the
// last other step that reads one of the inputs that it reads, because it may overwrite these.
void run_kernels_early(Schedule& schedule);

}  // namespace tessera::fusion
