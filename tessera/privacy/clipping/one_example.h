// Checks that a clipped function computes each example by itself. Other functions are refused
// before they run.
//
// A function sees one example. If it is written for a batch and mixes its examples (by statistics
// over them, sorts, contrastive terms), it computes something else for one example. And a
// collective over devices mixes their examples, although each device sees one. Neither error shows
// in the result.
//
//   the function of one example, [1, ...], is traced once more with several, [53, ...]:
//       it refuses these   it is written for one example: nothing to find
//       it takes them      find_mixing() follows their dimension
#pragma once

#include "tessera/privacy/clipping/example_arguments.h"

namespace tessera::privacy::internal {

// Throws UserError (kValue) if the loss, or a clipped function without one, mixes examples or has a
// collective over examples' axes. `types` are those of one example's leaves.
void expect_one_example(std::string_view op, const ErasedCall& call, const ClipRequest& request,
                        const std::vector<Array>& leaves, const std::vector<ir::Type>& types);

// Throws UserError (kValue) if a captured array is as long as the batch of `size` examples, unless
// the options say that every example sees all of it.
void expect_no_captured_batch(std::string_view op, const ClipOptions& options,
                              const std::vector<Array>& captures, int64_t size);

}  // namespace tessera::privacy::internal
