// Arrays as text, digit for digit as NumPy and JAX with their default options.
#pragma once

#include <iosfwd>
#include <string>

#include "tessera/ir/array.h"

namespace tessera {

// As Python's print(x): `[0.02138912 0.893112  ]`; a scalar as its item, `4.004354476928711`. More
// than 1000 elements are summarised. A traced value prints as `Traced<float32[4,8]>`.
std::ostream& operator<<(std::ostream& out, const Array& x);
// NumPy's str: as above, but a scalar in its own dtype's digits, `4.0043545`.
std::string str(const Array& x);
// JAX's repr: `Array([0.02138912, 0.893112  ], dtype=float32)`.
std::string repr(const Array& x);

}  // namespace tessera
