// The kind of a body that folds two scalars, by the op of which it consists.
#pragma once

#include "tessera/ir/function.h"
#include "tessera/ir/reduce_kind.h"

namespace tessera::ops {

// Returns whether the body is a single op without params on its two inputs, in order.
bool is_one_op(const Function& body);
// Returns the kind of the body's op, or kCustom if it has none. Unlike in classify_reduce_body(),
// the minimum and maximum of bools and of complex numbers have the kinds kMin and kMax.
ReduceKind written_kind(const Function& body);

}  // namespace tessera::ops
