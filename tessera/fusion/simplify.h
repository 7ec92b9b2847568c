// Simplify: the same function with less to do. Every rule keeps every bit of every result (x + 0 is
// x for integers, not for floats: -0 + 0 is 0). Ops that compute the same from the same are one op;
// what has no elements is a constant; ops nobody needs are gone.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::fusion {

Function simplify(const Function& function);

}  // namespace tessera::fusion
