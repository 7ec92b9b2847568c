// Arrays as text, digit for digit as NumPy and JAX with their default options.
#pragma once

#include <iosfwd>
#include <string>

#include "tessera/ir/array.h"

namespace tessera {

// Prints x as Python's print(x) does: `[0.02138912 0.893112  ]`, or a scalar as its item,
// `4.004354476928711`. Arrays of more than 1000 elements are summarised. A traced value prints as
// `Traced<float32[4,8]>`.
std::ostream& operator<<(std::ostream& out, const Array& x);
// Returns NumPy's str: the same text, except that a scalar has its own dtype's digits, `4.0043545`.
std::string str(const Array& x);
// Returns JAX's repr: `Array([0.02138912, 0.893112  ], dtype=float32)`.
std::string repr(const Array& x);

}  // namespace tessera
