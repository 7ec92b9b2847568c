// Ops that rename elements: reshape, transpose, reverse.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

struct ReshapeParams {
  Shape shape;
};
struct TransposeParams {
  Dims permutation;  // dimension d of the result is dimension permutation[d] of the operand
};
struct ReverseParams {
  Dims dims;
};
extern const OpDef& reshape_op;
extern const OpDef& transpose_op;
extern const OpDef& reverse_op;

}  // namespace tessera::ops

namespace tessera::lax {

// Returns the same elements in row-major order; x itself if the shape is x's.
Array reshape(const Array& x, const Shape& shape);
// Returns x itself if the permutation is the identity.
Array transpose(const Array& x, const Dims& permutation);
Array rev(const Array& x, const Dims& dimensions);

// Returns a transpose that moves dimension `from` to `to` and keeps the order of the others.
Array move_dim(const Array& x, int64_t from, int64_t to);
inline Array move_to_front(const Array& x, int64_t dim) { return move_dim(x, dim, 0); }
// Return x with dimensions of extent 1 inserted at these positions of the result, or removed.
Array expand_dims(const Array& x, const Dims& dimensions);
Array squeeze(const Array& x, const Dims& dimensions);

}  // namespace tessera::lax
