// The arguments of a clipped function as those of one example: what the function is traced with, and
// how microbatches of them are made.
#pragma once

#include <span>

#include "tessera/ir/function.h"
#include "tessera/privacy/clipping/clipped_sum.h"

namespace tessera::privacy::internal {

struct ExampleArguments {
  int64_t size = 0;             // examples
  std::vector<Array> operands;  // of the traced function: arguments, then what it captured
  std::vector<int> dims;        // 0: an example for each index, -1: the same for all
  std::vector<bool> wrt;        // parameters
  ir::Function function;        // of one example
  Array padding;                // [size] of bool; undefined where there is none

  // Which operands each example has its own of.
  std::vector<bool> differs() const {
    std::vector<bool> out;
    for (int dim : dims) out.push_back(dim >= 0);
    return out;
  }
};

// Padding is cleared first: what stands there is not read.
//
// Traces the call with one example's leaves (call_result has its tree then). UserErrors: batch
// leaves of no or of different first dimensions, a padding of another shape, a microbatch size that
// does not divide them; those of one_example.h.
ExampleArguments example_arguments(std::string_view op, const ErasedCall& call,
                                   const ClipRequest& request, const std::vector<Array>& leaves,
                                   ErasedResult& call_result);

// Whether a condition holds on all devices of a shard_map around: what a branch may hang on.
Array holds_everywhere(const Array& condition);

// Returns what fn gives of the (micro)batches: its results are sums, `num_sums` of them, and then
// what is by example, [size, ...]. Sums over microbatches are added up in their own dtype. fn is
// called under a BatchAxis::Scope of `size` examples, at least two: a batch of one has another
// program than the same example beside others, so an example alone gets padding beside it.
using BatchFn = std::function<std::vector<Array>(std::span<const Array> operands,
                                                 const Array& padding, int64_t size)>;
std::vector<Array> over_microbatches(const ExampleArguments& arguments, size_t num_sums,
                                     const ClipOptions& options, const BatchFn& fn);

}  // namespace tessera::privacy::internal
