// Unroll rules: of ops over windows, how a program with small windows computes them by elementwise
// ops on slices, one slice for each place in a window; of convolutions whose windows do not
// overlap, how it computes them by a product. The pass unroll_windows (fusion/unroll_windows.h)
// asks for them.
#pragma once

#include <span>

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// Returns the function that computes the op's one result from its operands; null if the op stays as
// it is.
using UnrollRule = FlatFn (*)(const OpParams& params, std::span<const Type> operands,
                              const Type& result);

// Registers the rule of an op. It is called once, next to the op's definition.
bool register_unroll_rule(const OpDef& def, UnrollRule rule);
// Returns the op's rule, or null if it has none.
UnrollRule find_unroll_rule(const OpDef& def);

}  // namespace tessera::ops
