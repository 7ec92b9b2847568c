// reduce: folds dimensions of one or several arrays with an associative function.
//
// As in StableHLO, the operands are n arrays of one shape, then n initial scalars; the n results
// lack the reduced dimensions. Common folds have a `kind`; argmin and argmax fold two arrays,
// values and indices. Any other fold is kCustom and has a body.
#pragma once

#include "tessera/ir/array.h"
#include "tessera/ir/reduce_kind.h"

namespace tessera::ops {

struct ReduceParams {
  Dims dims;  // dimensions that are reduced, ascending
  ReduceKind kind = ReduceKind::kSum;
  FunctionRef body;  // kCustom only: (acc..., x...) -> acc..., pointwise on scalars, associative
};
extern const OpDef& reduce_op;

// Returns the body of a known kind on scalars of `dtype` (for argmin and argmax also on indices of
// `index`); equal arguments return the same object.
FunctionRef reduce_body(ReduceKind kind, DType dtype, DType index = int32);
// Returns the kind of fold that `body` computes, or kCustom if it is none of the known kinds.
ReduceKind classify_reduce_body(const Function& body);
// Returns the scalar with which a fold starts: 0, 1, the largest or smallest value, or all bits
// set. argmin and argmax have two (see reduce_identities).
Literal reduce_identity(ReduceKind kind, DType dtype);
// Returns the scalars with which a fold starts, one for each operand.
std::vector<Literal> reduce_identities(ReduceKind kind, std::span<const Type> operands);

}  // namespace tessera::ops

namespace tessera::lax {

// Each of these returns x folded along `dims`, of which negative ones count from the end; x itself
// if there are none. reduce_sum throws UserError for bool: convert first.
Array reduce_sum(const Array& x, const Dims& dims);
Array reduce_prod(const Array& x, const Dims& dims);
Array reduce_min(const Array& x, const Dims& dims);
Array reduce_max(const Array& x, const Dims& dims);
Array reduce_and(const Array& x, const Dims& dims);
Array reduce_or(const Array& x, const Dims& dims);
// Returns the index along `axis` of the smallest or largest element, the first of equal ones. NaN
// counts as the smallest and as the largest. Throws UserError if the axis is empty.
Array argmin(const Array& x, int64_t axis, DType index_dtype = int32);
Array argmax(const Array& x, int64_t axis, DType index_dtype = int32);
// Returns the results of a fold of several arrays along `dims`. `body` is (acc..., x...) -> acc...
// on scalars; if it computes a known kind, the op gets that kind.
std::vector<Array> reduce(std::span<const Array> operands, std::span<const Array> inits,
                          ir::FunctionRef body, const Dims& dims);
std::vector<Array> reduce(std::span<const Array> operands, std::span<const Array> inits,
                          ReduceKind kind, const Dims& dims);

}  // namespace tessera::lax
