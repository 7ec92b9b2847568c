// A function in wider numbers: where it has float16 or bfloat16, the result has float32. What is
// linear is the same map, without its roundings.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::per_example {

// Whether any value of the function, or of its regions, has such a dtype.
bool has_halves(const Function& function);
Function widened(const Function& function);

// The function in float64 and complex128, whatever its floating-point dtypes are.
Function in_float64(const Function& function);

}  // namespace tessera::per_example
