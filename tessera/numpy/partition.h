// Arrays sorted in part, as in jax.numpy. NaN is the largest number.
//
// Errors, of all: UserError for axes and places that do not exist and for complex numbers.
#pragma once

#include "tessera/ir/array.h"

namespace tessera {

// x with the element at kth along the axis where it stands once x is sorted: smaller ones before
// it, ascending, larger ones behind it, descending, as JAX has them.
Array partition(const Array& x, int64_t kth, int64_t axis = -1);
// Where the elements of such an order stand in x: int32. Those behind kth are in x's order.
Array argpartition(const Array& x, int64_t kth, int64_t axis = -1);
// The elements of x, sorted along the last axis, as complex numbers.
Array sort_complex(const Array& x);

}  // namespace tessera
