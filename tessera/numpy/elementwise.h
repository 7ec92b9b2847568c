// The form of the elementwise functions of math, logic and nn: they promote, broadcast and compute
// one expression of lax ops, as a composite. Only source files of numpy/ include this header.
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

// Returns f(x), with x promoted alone.
Array unary(const char* name, const Array& x, Promotion promotion, Unary f);
// Returns f(x, y), with x and y promoted together and broadcast.
Array binary(const char* name, const Array& x, const Array& y, Promotion promotion, Binary f);

// Returns the constant `value` with x's dtype and shape.
inline Array like(const Array& x, double value) { return lax::full_like(x, value); }

// Throws UserError naming `op` if the array is complex.
inline void expect_real(std::string_view op, const Array& x) {
  if (is_complex(x.dtype()))
    type_error(op, "expected real arrays, got {}; take real(z), imag(z) or abs(z) first",
               describe(x.type()));
}

// Returns in x's own dtype whether elements are NaN: false for dtypes other than floating and
// complex.
Array is_nan(const Array& x);

}  // namespace tessera::elementwise
