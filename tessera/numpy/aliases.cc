// Functions that have two names in NumPy: the second ones. They are compiled by themselves, without
// calls in tail position, so that an error names the function that the user called
// (base/error_calls.h).
#include "tessera/numpy/activations.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/nn.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/ufuncs.h"

namespace tessera {

Array hard_swish(const Array& x) { return hard_silu(x); }
Array identity(int64_t n, OptionalDType dtype) { return eye(n, {}, 0, dtype); }
Array invert(const Array& x) { return bitwise_not(x); }
Array permute_dims(const Array& x, const Dims& axes) { return transpose(x, axes); }
Array true_divide(const Array& x, const Array& y) { return divide(x, y); }
Array mod(const Array& x, const Array& y) { return remainder(x, y); }
Array pow(const Array& x, const Array& y) { return power(x, y); }
Array absolute(const Array& x) { return abs(x); }
Array asin(const Array& x) { return arcsin(x); }
Array acos(const Array& x) { return arccos(x); }
Array atan(const Array& x) { return arctan(x); }
Array asinh(const Array& x) { return arcsinh(x); }
Array acosh(const Array& x) { return arccosh(x); }
Array atanh(const Array& x) { return arctanh(x); }
Array atan2(const Array& y, const Array& x) { return arctan2(y, x); }
Array swish(const Array& x) { return silu(x); }
Array amax(const Array& x, const ExtremumOptions& options) { return max(x, options); }
Array amin(const Array& x, const ExtremumOptions& options) { return min(x, options); }
Array around(const Array& x, int decimals) { return round(x, decimals); }
Array conjugate(const Array& z) { return conj(z); }
Array degrees(const Array& x) { return rad2deg(x); }
Array radians(const Array& x) { return deg2rad(x); }
Array bitwise_invert(const Array& x) { return bitwise_not(x); }
Array bitwise_left_shift(const Array& x, const Array& y) { return left_shift(x, y); }
Array bitwise_right_shift(const Array& x, const Array& y) { return right_shift(x, y); }
Array concat(const std::vector<Array>& arrays, int64_t axis) { return concatenate(arrays, axis); }

}  // namespace tessera
