// Simplify: returns the same function with fewer ops. Every rule keeps every bit of every result (x
// + 0 is x for integers, not for floats: -0 + 0 is 0), except that a complex number divided by 1
// keeps its infinities and zeros, as in XLA; the division would change some of them. Ops that
// compute the same from the same operands become one op, arrays without elements become constants,
// and ops that nobody needs are removed.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::fusion {

Function simplify(const Function& function);

}  // namespace tessera::fusion
