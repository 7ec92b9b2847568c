// The parts of reduce that have files of their own: naive evaluation (which the reducing
// collectives share), and the rules.
#pragma once

#include "tessera/ir/op_def.h"
#include "tessera/ops/reductions/reduce.h"

namespace tessera::ops {

// Returns whether the result is an index as well as a value.
inline bool is_arg(ReduceKind kind) {
  return kind == ReduceKind::kArgMin || kind == ReduceKind::kArgMax;
}

// The elements of a fold: element `kept[i] + reduced[j]` is the j-th that is folded into result i,
// both row-major.
struct FoldIndex {
  Shape shape;  // of the result
  Dims kept, reduced;
};
FoldIndex fold_index(const Shape& shape, const Dims& dims);

// Returns the sum, product, min, max, and, or of `dims`, starting with the scalar `init`.
Literal fold(ReduceKind kind, const Literal& x, const Literal& init, const Dims& dims);
// x: values, indices, and the initial scalars of both.
std::vector<Literal> fold_arg(ReduceKind kind, std::span<const Literal> x, const Dims& dims);
// x: n operands, n initial scalars.
std::vector<Literal> fold_custom(const Function& body, std::span<const Literal> x,
                                 const Dims& dims);

JvpResult jvp_reduce(std::span<const Array> x, std::span<const Array> t, const ReduceParams& p);
std::vector<Array> transpose_reduce(std::span<const Array> cts, std::span<const Array> x,
                                    const std::vector<bool>& linear, const ReduceParams& p);
BatchResult batch_reduce(std::span<const Array> x, std::span<const int> dims,
                         const ReduceParams& p);

}  // namespace tessera::ops
