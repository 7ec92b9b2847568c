// Whether a clipped function computes one example by itself: what is refused before it runs.
//
// A function sees one example. One that is written for a batch and mixes its examples (statistics over
// them, sorts, contrastive terms) computes something else then, and a collective over devices that
// hold examples of their own mixes them although each device sees one. Neither shows in the result.
//
//   function of one example, [1, ...]   traced once more with several, [53, ...]
//       it refuses these                it is written for one example: nothing to find
//       it takes them                   find_mixing() follows their dimension
#pragma once

#include "tessera/privacy/clipping/example_arguments.h"

namespace tessera::privacy::internal {

// UserError (kValue) if the loss, or a clipped function without one, mixes examples or has a collective
// over examples' axes. `types`: of one example's leaves.
void expect_one_example(std::string_view op, const ErasedCall& call, const ClipRequest& request,
                        const std::vector<Array>& leaves, const std::vector<ir::Type>& types);

// UserError (kValue) if a captured array is as long as the batch of `size` examples, unless the options
// say that every example sees all of it.
void expect_no_captured_batch(std::string_view op, const ClipOptions& options,
                              const std::vector<Array>& captures, int64_t size);

}  // namespace tessera::privacy::internal
