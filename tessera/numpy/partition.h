// Partly sorted arrays, as in jax.numpy. NaN is the largest number.
//
// All functions throw UserError for axes and positions that do not exist. The partitions also throw
// it for complex numbers.
#pragma once

#include "tessera/ir/array.h"

namespace tessera {

// Returns x with element kth where sorting would put it. Smaller elements come before it in
// ascending order, larger ones after it in descending order, as in JAX.
Array partition(const Array& x, int64_t kth, int64_t axis = -1);
// Returns the positions in x (int32) of the elements, up to kth as partition() orders them. The
// positions behind kth ascend, as in JAX (partition() has descending values there).
Array argpartition(const Array& x, int64_t kth, int64_t axis = -1);
// Returns the elements of x sorted along the last axis, as complex numbers.
Array sort_complex(const Array& x);

}  // namespace tessera
