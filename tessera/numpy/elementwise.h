// How the elementwise functions of math, logic and nn are written: promote, broadcast, one
// expression of lax ops, as a composite. For source files of numpy/ only.
#pragma once

#include "tessera/compile/composite.h"
#include "tessera/numpy/promotion.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"

namespace tessera::elementwise {

using Unary = Array (*)(const Array&);
using Binary = Array (*)(const Array&, const Array&);

struct UnaryParams {
  Promotion promotion;
  Unary f;
};
struct BinaryParams {
  std::string name;
  Promotion promotion;
  Binary f;
};

// f(x) of x promoted alone.
Array unary(const char* name, const Array& x, Promotion promotion, Unary f);
// f(x, y) of x and y promoted together and broadcast.
Array binary(const char* name, const Array& x, const Array& y, Promotion promotion, Binary f);

// The constant `value` in x's dtype and shape.
inline Array like(const Array& x, double value) { return lax::full_like(x, value); }

// UserError naming `op` for a complex array.
inline void expect_real(std::string_view op, const Array& x) {
  if (is_complex(x.dtype()))
    type_error(op, "expected real arrays, got {}; take real(z), imag(z) or abs(z) first",
               describe(x.type()));
}

// NaN of x's own where x is NaN: false for other than inexact dtypes.
Array is_nan(const Array& x);

}  // namespace tessera::elementwise
