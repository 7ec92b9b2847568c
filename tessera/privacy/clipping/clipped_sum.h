// The implementation of clipped_grad.h: clipped_grad and clipped_fun on lists of leaves. The caller
// states the role of each leaf.
#pragma once

#include <string>
#include <vector>

#include "tessera/compile/erased_call.h"
#include "tessera/privacy/clipping/clip_options.h"

namespace tessera::privacy::internal {

using tessera::internal::ErasedCall;
using tessera::internal::ErasedResult;

// The role of a leaf of the arguments in clipping.
enum class LeafRole : uint8_t {
  kShared,      // the same for every example
  kUndeclared,  // the same for every example; UserError if it is as long as the batch
  kParameter,   // the same for every example; gradients are by these leaves
  kBatch,       // an example for each index of its first dimension
  kKey,         // the words of a key that is split for the examples
  kStream,      // the words of the key of a stream inside a module: folded with the example's index
};

struct ClipRequest {
  ClipOptions options;
  std::vector<LeafRole> roles;     // one for each leaf
  std::vector<std::string> paths;  // of the leaves, for messages
  std::optional<Array> padding;    // Padding::mask
  // Whether the result after the clipped ones is the loss whose gradients are clipped.
  bool loss_follows = false;
  // A function of the same arguments whose first result is the loss. Absent if there is no loss.
  std::optional<ErasedCall> loss;
};

struct ClippedSum {
  ErasedResult results;     // results of the call for each example, [batch, ...]
  std::vector<Array> sums;  // of the clipped gradients or values
  Array norms;              // [batch]: the norm of each example before clipping
};
// Returns the sums of the gradients by the parameters, in order. The call's first result is the
// loss.
ClippedSum clipped_gradients(const ErasedCall& call, const ClipRequest& request,
                             const std::vector<Array>& leaves);

// Clips and sums the first result leaves of the call, as many as there are `values`. The results
// have the sums in place of these leaves, and the other leaves for each example. The call sets
// `values` to the paths of the clipped leaves.
ClippedSum clipped_values(const ErasedCall& call, const ClipRequest& request,
                          const std::vector<Array>& leaves, const std::vector<std::string>& values);

// Returns the options with batch_argnums, which may be left out if there is no choice. Throws
// UserError if options contradict each other or do not fit the number of arguments.
ClipOptions checked_options(std::string_view op, ClipOptions options, size_t num_arguments,
                            const std::vector<size_t>& argnums);

}  // namespace tessera::privacy::internal
