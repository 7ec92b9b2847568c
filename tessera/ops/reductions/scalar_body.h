// The body of a fold without what elementwise ops can do: calls are replaced by what they call,
// conditionals by selections, and reshapes of scalars are left out.
//
//   case(i, {acc + x, max(acc, x)})   ->   select(i == 0, acc + x, max(acc, x))
#pragma once

#include "tessera/ir/function.h"

namespace tessera::ops {

FunctionRef scalar_body(const Function& body);

}  // namespace tessera::ops
