// log |beta(a, b)| of promoted arguments. Only source files of special/ include this header.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::scipy::special::internal {

// Returns lgamma(a) + lgamma(b) - lgamma(a + b), without cancellation if a or b is large.
Array log_beta(const Array& a, const Array& b);

}  // namespace tessera::scipy::special::internal
