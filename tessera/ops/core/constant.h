// Arrays without operands: literals and counts.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

// A rank-0 value is every element of `shape`; any other value has that shape.
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

// Returns the params of this literal: a splat if all elements have the same bits.
ConstantParams constant_params(const Literal& value, bool weak = false);
bool is_constant(const OpDef& def);
// Returns the params of a constant; null for other ops.
const ConstantParams* as_constant(const Op& op);

}  // namespace tessera::ops

namespace tessera::lax {

// Returns the literal as an array of the current trace; one value repeated is stored once.
Array constant(const Literal& value, bool weak_type = false);
// Returns an array whose elements are `value`, converted to `dtype`.
Array full(const Shape& shape, double value, DType dtype, bool weak_type = false);
// Returns an array whose elements are `value`'s only element, of its dtype.
Array full(const Shape& shape, const Literal& value, bool weak_type = false);
// Returns the same with the dtype, shape and weakness of x.
Array full_like(const Array& x, double value);
Array zeros_like(const ir::Type& type);
// Returns the index along `dimension`.
Array iota(DType dtype, const Shape& shape, int64_t dimension = 0);

}  // namespace tessera::lax
