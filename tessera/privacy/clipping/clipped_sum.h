// The flat cores of clipped_grad and clipped_fun: calls of lists of leaves, of which the caller says
// what each is. Behind clipped_grad.h.
#pragma once

#include <string>
#include <vector>

#include "tessera/compile/erased_call.h"
#include "tessera/privacy/clipping/clip_options.h"

namespace tessera::privacy::internal {

using tessera::internal::ErasedCall;
using tessera::internal::ErasedResult;

// What a leaf of the arguments is to clipping.
enum class LeafRole : uint8_t {
  kShared,      // the same for every example
  kUndeclared,  // the same for every example; UserError if it is as long as the batch
  kParameter,   // the same, and differentiated by
  kBatch,       // an example for each index of its first dimension
  kKey,         // the words of a key that is split for the examples
  kStream,      // the words of the key of a stream inside a module: folded with the example's index
};

struct ClipRequest {
  ClipOptions options;
  std::vector<LeafRole> roles;     // one a leaf
  std::vector<std::string> paths;  // of the leaves, for messages
  std::optional<Array> padding;    // Padding::mask
  bool loss_follows = false;       // what is clipped is of gradients of the result after it
  std::optional<ErasedCall>
      loss;  // of the same arguments, its first result; none: there is no loss
};

struct ClippedSum {
  ErasedResult results;     // of the call, by example: [batch, ...] each
  std::vector<Array> sums;  // of what is clipped
  Array norms;              // [batch]: of each example before clipping
};
// The sums are of the gradients by the parameters, in order; the call's first result is the loss.
ClippedSum clipped_gradients(const ErasedCall& call, const ClipRequest& request,
                             const std::vector<Array>& leaves);

// The first result leaves of the call, as many as there are `values`, are clipped and summed; the
// results have the sums in their place, and the others by example. The call sets `values`: their
// paths.
ClippedSum clipped_values(const ErasedCall& call, const ClipRequest& request,
                          const std::vector<Array>& leaves, const std::vector<std::string>& values);

// Returns the options with batch_argnums, which may be left out if there is no choice. UserErrors of
// options that do not fit together or not the number of arguments.
ClipOptions checked_options(std::string_view op, ClipOptions options, size_t num_arguments,
                            const std::vector<size_t>& argnums);

}  // namespace tessera::privacy::internal
