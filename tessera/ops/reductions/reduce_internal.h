// The parts of reduce in other files: its naive evaluation, which reducing collectives share, and
// its rules.
#pragma once

#include "tessera/ir/op_def.h"
#include "tessera/ops/reductions/reduce.h"

namespace tessera::ops {

// Returns whether a fold has an index as its second result.
inline bool is_arg(ReduceKind kind) {
  return kind == ReduceKind::kArgMin || kind == ReduceKind::kArgMax;
}

// The elements that a fold reads: the element at kept[i] + reduced[j] is the j-th that is folded
// into result i. Both lists are in row-major order.
struct FoldIndex {
  Shape shape;  // shape of the result
  Dims kept, reduced;
};
FoldIndex fold_index(const Shape& shape, const Dims& dims);

// Returns the sum, product, min, max, and, or of `dims`, starting with the scalar `init`.
Literal fold(ReduceKind kind, const Literal& x, const Literal& init, const Dims& dims);
// Returns the values and indices of argmin or argmax. x holds values, indices, and the initial
// scalars of both.
std::vector<Literal> fold_arg(ReduceKind kind, std::span<const Literal> x, const Dims& dims);
// Returns the results of a fold with this body. x holds n operands, then n initial scalars.
std::vector<Literal> fold_custom(const Function& body, std::span<const Literal> x,
                                 const Dims& dims);

JvpResult jvp_reduce(std::span<const Array> x, std::span<const Array> t, const ReduceParams& p);
std::vector<Array> transpose_reduce(std::span<const Array> cts, std::span<const Array> x,
                                    const std::vector<bool>& linear, const ReduceParams& p);
BatchResult batch_reduce(std::span<const Array> x, std::span<const int> dims,
                         const ReduceParams& p);

}  // namespace tessera::ops
