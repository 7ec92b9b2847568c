// Arrays made of nothing: literals and counts.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

// A rank-0 value stands at every place of `shape`; any other value has that shape.
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

// Those of this literal: a splat where all elements are the same bits.
ConstantParams constant_params(const Literal& value, bool weak = false);
bool is_constant(const OpDef& def);
// The params of a constant; null for other ops.
const ConstantParams* as_constant(const Op& op);

}  // namespace tessera::ops

namespace tessera::lax {

// The literal as an array of the current trace; one value repeated is stored once.
Array constant(const Literal& value, bool weak_type = false);
// `value` converted to `dtype` at every place.
Array full(const Shape& shape, double value, DType dtype, bool weak_type = false);
// `value`'s only element at every place; its dtype.
Array full(const Shape& shape, const Literal& value, bool weak_type = false);
// Dtype, shape and weakness of x.
Array full_like(const Array& x, double value);
Array zeros_like(const ir::Type& type);
// The index along `dimension`.
Array iota(DType dtype, const Shape& shape, int64_t dimension = 0);

}  // namespace tessera::lax
