// A function in wider dtypes: float32 replaces float16 and bfloat16. A linear function stays the
// same map, without its roundings.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::per_example {

// Returns whether any value of the function, or of its regions, has such a dtype.
bool has_halves(const Function& function);
Function widened(const Function& function);

// Returns the function in float64 and complex128, whatever its floating-point dtypes are.
Function in_float64(const Function& function);

}  // namespace tessera::per_example
