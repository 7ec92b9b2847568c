// The text of arrays, digit for digit that of NumPy 2.4 and JAX with their default print options
// (precision 8, arrays of more than 1000 elements summarised to 3 at each edge, lines of 75
// columns).
#pragma once

#include <string>

#include "tessera/base/literal.h"

namespace tessera {

// Returns NumPy's str(x): `[0.02138912 0.893112  ]`; a rank-0 array prints as a scalar of its
// dtype, `4.0043545`.
std::string str(const Literal& literal);

// Returns Python's f"{x}", which is str(x), except that a rank-0 array prints as the Python number
// item() returns, `4.004354476928711`. operator<< of an Array writes this.
std::string to_string(const Literal& literal);

// Returns JAX's repr(x): `Array([0.02138912, 0.893112  ], dtype=float32)`, `Array(1.,
// dtype=float32, weak_type=True)`.
std::string repr(const Literal& literal, bool weak_type = false);

// Returns one element as a Python number: `4.004354476928711`, `7`, `True`, `(1+2j)`. `index`
// counts in row-major order.
std::string item_to_string(const Literal& literal, int64_t index = 0);

}  // namespace tessera
