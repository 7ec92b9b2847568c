// Ops without operands: constants and iota.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

// If the value has rank 0, every element of `shape` is that value; otherwise `shape` is the
// value's.
struct ConstantParams {
  Literal value = Literal::scalar(0.0f);
  Shape shape;
  bool weak = false;
  bool is_splat() const { return value.shape().empty(); }
  Literal dense() const;
};
struct IotaParams {
  DType dtype = int32;
  Shape shape;
  int64_t dimension = 0;
};
extern const OpDef& constant_op;
extern const OpDef& iota_op;

// Returns the params of a constant op for this literal: of a splat if all elements have the same
// bits.
ConstantParams constant_params(const Literal& value, bool weak = false);
bool is_constant(const OpDef& def);
// Returns the params of a constant; null for other ops.
const ConstantParams* as_constant(const Op& op);

}  // namespace tessera::ops

namespace tessera::lax {

// Returns the literal as an array of the current trace. If all elements have the same bits, one is
// stored.
Array constant(const Literal& value, bool weak_type = false);
// Returns an array whose elements are `value`, converted to `dtype`.
Array full(const Shape& shape, double value, DType dtype, bool weak_type = false);
// Returns an array whose elements all are the only element of `value`, with its dtype.
Array full(const Shape& shape, const Literal& value, bool weak_type = false);
// Returns an array of x's dtype, shape and weak type whose elements are `value`.
Array full_like(const Array& x, double value);
Array zeros_like(const ir::Type& type);
// Returns an array of `shape` in which each element is its index along `dimension`.
Array iota(DType dtype, const Shape& shape, int64_t dimension = 0);

}  // namespace tessera::lax
