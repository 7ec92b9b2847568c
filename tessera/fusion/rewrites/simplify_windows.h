// Windows of padded arrays: a fold of windows does the padding itself if it pads with a value that
// does not change the fold. JAX writes the gradient of average pooling as a pad between all
// elements and a sum of windows; the sum of windows that are dilated in the same way adds only the
// elements that exist (ops/reductions/unroll_folds.h).
//
//   reduce_window sum (pad(x, 0, low 1, high 1, interior 1), 0), size 2
//     -> reduce_window sum (x, 0), size 2, base dilation 2, low 1, high 1
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::fusion {

// Returns the same function, with pads merged into the folds of windows that read them. Pads that
// nothing else reads remain; a later pass drops them.
Function merge_window_pads(const Function& function);

}  // namespace tessera::fusion
