// Verifier: checks what must hold for every Function. Debug builds and tests run it after each
// pass.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::ir {

// Throws InternalError, naming the op and its source, unless
//   - all ids are in range, and every value has exactly one definition (an input or one result),
//     before all its uses;
//    - each op's type rule accepts its operands and returns the recorded dtypes and shapes;
//   - a value's sharding has no more entries than the value has dimensions, and `varying` is sorted
//     without repeats;
//   - the same holds of nested functions.
void verify(const Function& function);

}  // namespace tessera::ir
