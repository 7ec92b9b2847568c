// Ops that give elements new indices: reshape, transpose, reverse.
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

// Returns the elements of x in row-major order with another shape; x itself if the shape is x's.
Array reshape(const Array& x, const Shape& shape);
// Returns x with its dimensions permuted; x itself if the permutation is the identity.
Array transpose(const Array& x, const Dims& permutation);
Array rev(const Array& x, const Dims& dimensions);

// Returns x with dimension `from` moved to position `to`. The others keep their order.
Array move_dim(const Array& x, int64_t from, int64_t to);
inline Array move_to_front(const Array& x, int64_t dim) { return move_dim(x, dim, 0); }
// expand_dims() returns x with dimensions of extent 1 inserted at these positions of the result;
// squeeze() returns it with such dimensions removed.
Array expand_dims(const Array& x, const Dims& dimensions);
Array squeeze(const Array& x, const Dims& dimensions);

}  // namespace tessera::lax
