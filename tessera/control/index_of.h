// index_of: finds which input of a body an array is, while the body is traced. A rule of a loop
// needs this to see that a value of a trip is only an operand of the loop.
#pragma once

#include <vector>

#include "tessera/ir/array.h"

namespace tessera::control {

// Returns the index of x in `inputs`, or -1 if it is not among them.
inline int index_of(const Array& x, const std::vector<Array>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].data() == x.data()) return static_cast<int>(i);
  return -1;
}

}  // namespace tessera::control
