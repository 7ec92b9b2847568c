// Elementwise functions with jax.lax's names and rules: operands have one dtype and one shape,
// without promotion or broadcasting (numpy/ has both). Each binds the op of its row in
// elementwise.def. They throw UserError for a dtype or shape that does not fit.
#pragma once

#include "tessera/ir/array.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/select.h"

namespace tessera::ops {

#define UNARY(function, ...) extern const OpDef& function##_op;
#define BINARY UNARY
#include "tessera/ops/core/elementwise.def"
#undef UNARY
#undef BINARY

extern const OpDef& nextafter_op;

}  // namespace tessera::ops

namespace tessera::lax {

#define UNARY(function, ...) Array function(const Array& x);
#define BINARY(function, ...) Array function(const Array& x, const Array& y);
#include "tessera/ops/core/elementwise.def"
#undef UNARY
#undef BINARY

enum class RoundingMethod : uint8_t { kAwayFromZero, kToNearestEven };
Array round(const Array& x, RoundingMethod method = RoundingMethod::kAwayFromZero);

// Returns the number of the dtype that follows x in the direction of y.
Array nextafter(const Array& x, const Array& y);

// The following functions are compositions of the ones above.
Array exp2(const Array& x);
Array square(const Array& x);
Array reciprocal(const Array& x);
// Returns x**n by repeated multiplication; n may be negative if the dtype has fractions.
Array integer_pow(const Array& x, int64_t n);

}  // namespace tessera::lax
