// Per-example gradients, computed from the uses of parameters. The loss of one example becomes a
// program that also returns, for each use of a parameter, what the use reads and the cotangent of
// its result. Run over a batch, this program is the forward and backward pass of ordinary training.
// From these values, and from weights that follow from the norms, the weighted sums of gradients
// are computed by the same products as in training.
//
//   example_program   loss of one example -> its program with uses
//   ExampleBatch      that program over a batch; gradients, norms (per_example_norms.h), sums
//
// The derivation is "ghost clipping" (Goodfellow 2015; Lee and Kifer 2021) with a single backward
// pass ("book-keeping", Bu et al. 2023), over a linear program instead of layers.
#pragma once

#include <optional>

#include "tessera/base/namespaces.h"
#include "tessera/ops/linear/use_product.h"

namespace tessera::per_example {

// Returns the dtype in which numbers of this dtype are summed over examples.
inline DType sum_dtype(DType dtype) { return is_complex(dtype) ? complex128 : float64; }

struct ExampleUse {
  std::vector<size_t> inputs;  // numbers of the inputs it reads, among the differentiated ones
  Function apply;              // (those..., operands...) -> results, in float32 or wider
  size_t num_operands = 0, num_cotangents = 0;
  std::optional<UseProduct> product;  // its arrays are the results after the cotangents
};

struct ExampleProgram {
  // Takes the loss's inputs. Returns the loss's results, and then for every use its operands, its
  // cotangents, and x and y if it is a product.
  Function function;
  size_t num_results = 0;
  std::vector<Type> inputs;  // types of the differentiated inputs
  std::vector<ExampleUse> uses;
};

// Returns the program with uses of a loss. The first result of `loss` is the real scalar that is
// differentiated. `wrt` marks the inputs by which it is differentiated, and `differs` the inputs
// that differ between examples. Throws UserError if an op has no derivative.
ExampleProgram example_program(const Function& loss, const std::vector<bool>& wrt,
                               const std::vector<bool>& differs);

// The values of a use over a batch of examples, in float32 or wider.
struct BatchUse {
  const ExampleUse* use = nullptr;
  std::vector<Array> operands;
  std::vector<int> dims;          // 0: [batch, ...]; -1: the same for all examples
  std::vector<Array> cotangents;  // [batch, ...]
  Array x, y;                     // of the product: [batch, D, T, P or none], [batch, D, T, Q]
};

class ExampleBatch {
 public:
  // Runs the program on a batch, under a BatchAxis::Scope. dims[i] is the dimension of examples of
  // operands[i], or -1 if the operand is the same for all examples. `program` must outlive this
  // object.
  ExampleBatch(const ExampleProgram& program, std::span<const Array> operands,
               std::span<const int> dims);

  const ExampleProgram& program() const { return program_; }
  int64_t size() const { return size_; }
  // Returns the loss's results, each [batch, ...].
  const std::vector<Array>& results() const { return results_; }
  const std::vector<BatchUse>& uses() const { return uses_; }
  // mapped() returns those values of all uses that differ between examples, each [batch, ...].
  // with_mapped() returns a batch with other such values, without x, y and the loss's results.
  std::vector<Array> mapped() const;
  ExampleBatch with_mapped(std::span<const Array> mapped) const;
  // Returns this batch with the uses of these inputs alone, and without the loss's results.
  ExampleBatch only(const std::vector<size_t>& inputs) const;
  // Returns the uses of a differentiated input.
  std::vector<const BatchUse*> uses_of(size_t input) const;

  // Returns the gradients of a differentiated input for every example, [batch, ...], in float32 or
  // wider. They are zero if there is no use.
  Array gradients(size_t input) const;
  // Returns the sum over examples of weights[b] times the gradient of example b, for each
  // differentiated input. It computes one product for each use, as the gradient of the sum of
  // losses would. `weights` are [batch] and finite. If the gradient of an example is not finite,
  // the sum is not finite either.
  //
  // Products with values that all examples share are summed by DotSum::kExamples and have float32
  // results. Everything else is computed in float64 (with `in_double` these products too), and so
  // are the sums over uses.
  std::vector<Array> weighted_sums(const Array& weights, bool in_double) const;

 private:
  std::vector<Array> sums_of_use(const BatchUse& use, const Function& apply,
                                 const std::vector<Array>& read,
                                 const std::vector<Array>& scaled) const;

  const ExampleProgram& program_;
  int64_t size_;
  std::vector<Array> results_;
  std::vector<BatchUse> uses_;
};

}  // namespace tessera::per_example
