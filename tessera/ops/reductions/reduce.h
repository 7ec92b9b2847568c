// reduce: folds dimensions of one or several arrays with an associative function.
//
// It has n operands of one shape, then n initial scalars; n results without the reduced dimensions
// (StableHLO's reduce). The common folds are named by `kind`; argmin and argmax are the two-operand
// fold of (values, indices); any other is kCustom with a body.
#pragma once

#include "tessera/ir/array.h"
#include "tessera/ir/reduce_kind.h"

namespace tessera::ops {

struct ReduceParams {
  Dims dims;  // reduced, ascending
  ReduceKind kind = ReduceKind::kSum;
  FunctionRef body;  // kCustom only: (acc..., x...) -> acc..., pointwise on scalars, associative
};
extern const OpDef& reduce_op;

// Returns the body of a known kind on scalars of `dtype` (for argmin and argmax also on indices of
// `index`); there is one object for each.
FunctionRef reduce_body(ReduceKind kind, DType dtype, DType index = int32);
// Returns the kind of which `body` is the body, kCustom if it is none.
ReduceKind classify_reduce_body(const Function& body);
// Returns the scalar with which a fold starts: 0, 1, the largest or smallest value, all bits. Not
// for argmin and argmax (see reduce_identities).
Literal reduce_identity(ReduceKind kind, DType dtype);
// Returns one scalar for each operand.
std::vector<Literal> reduce_identities(ReduceKind kind, std::span<const Type> operands);

}  // namespace tessera::ops

namespace tessera::lax {

// Each folds `dims` (negative ones count from the end) of x; without any it returns x. Sums of bool
// are UserErrors: convert first.
Array reduce_sum(const Array& x, const Dims& dims);
Array reduce_prod(const Array& x, const Dims& dims);
Array reduce_min(const Array& x, const Dims& dims);
Array reduce_max(const Array& x, const Dims& dims);
Array reduce_and(const Array& x, const Dims& dims);
Array reduce_or(const Array& x, const Dims& dims);
// Returns the index along `axis` of the smallest or largest element, the first of equal ones; NaN
// counts as both. Throws UserError if the axis is empty.
Array argmin(const Array& x, int64_t axis, DType index_dtype = int32);
Array argmax(const Array& x, int64_t axis, DType index_dtype = int32);
// Returns any fold; `body` is (acc..., x...) -> acc... on scalars. A body of a known kind becomes
// that kind.
std::vector<Array> reduce(std::span<const Array> operands, std::span<const Array> inits,
                          ir::FunctionRef body, const Dims& dims);
std::vector<Array> reduce(std::span<const Array> operands, std::span<const Array> inits,
                          ReduceKind kind, const Dims& dims);

}  // namespace tessera::lax
