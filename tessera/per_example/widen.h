// Functions in wider dtypes. widened() replaces float16 and bfloat16 by float32: a linear function
// stays the same map, except for its roundings.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::per_example {

// Returns whether any value of the function, or of its regions, is float16 or bfloat16.
bool has_halves(const Function& function);
Function widened(const Function& function);

// Returns the function in float64 and complex128, whatever its floating-point dtypes are.
Function in_float64(const Function& function);

}  // namespace tessera::per_example
