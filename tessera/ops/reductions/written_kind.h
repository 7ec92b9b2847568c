// The kind of a body that folds two scalars, by the op of which it consists.
#pragma once

#include "tessera/ir/function.h"
#include "tessera/ir/reduce_kind.h"

namespace tessera::ops {

// Returns whether the body is one op of its two inputs, in order, without params.
bool is_one_op(const Function& body);
// Returns the kind of the body, kCustom if it has none. Unlike classify_reduce_body(), minimum and
// maximum of bools and of complex numbers are kMin and kMax.
ReduceKind written_kind(const Function& body);

}  // namespace tessera::ops
