// The arguments of a clipped function, as one example sees them when the function is traced, and
// the microbatches into which they are divided.
#pragma once

#include <span>

#include "tessera/ir/function.h"
#include "tessera/privacy/clipping/clipped_sum.h"

namespace tessera::privacy::internal {

struct ExampleArguments {
  int64_t size = 0;             // the number of examples
  std::vector<Array> operands;  // inputs of the function: arguments, then captured arrays
  std::vector<int> dims;        // the dimension of examples: 0, or -1 if the same for all
  std::vector<bool> wrt;        // whether each operand is a parameter
  ir::Function function;        // the function of one example
  Array padding;                // [size] of bool; undefined if there is none

  // Returns which operands differ between examples.
  std::vector<bool> differs() const {
    std::vector<bool> out;
    for (int dim : dims) out.push_back(dim >= 0);
    return out;
  }
};

// Traces the call with the leaves of one example, and sets call_result to its result. The contents
// of padding are replaced by zeros first, so that they are never read. Throws UserError for batch
// leaves without a first dimension or with different ones, a padding of another shape, a microbatch
// size that does not divide the batch, and those of one_example.h.
ExampleArguments example_arguments(std::string_view op, const ErasedCall& call,
                                   const ClipRequest& request, const std::vector<Array>& leaves,
                                   ErasedResult& call_result);

// Returns whether a condition holds on all devices of a surrounding shard_map, so that a branch may
// depend on it.
Array holds_everywhere(const Array& condition);

// Returns the results of fn for the (micro)batches: first `num_sums` sums, then results for each
// example, [size, ...]. Sums over microbatches are added up in their own dtype. fn is called under
// a BatchAxis::Scope of `size` examples, at least two. (The program of a batch of one would differ
// from that of a larger batch, so a single example is padded.)
using BatchFn = std::function<std::vector<Array>(std::span<const Array> operands,
                                                 const Array& padding, int64_t size)>;
std::vector<Array> over_microbatches(const ExampleArguments& arguments, size_t num_sums,
                                     const ClipOptions& options, const BatchFn& fn);

}  // namespace tessera::privacy::internal
