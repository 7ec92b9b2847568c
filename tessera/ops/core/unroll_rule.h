// Unroll rules. The rule of an op over windows computes it, if the windows are small, by
// elementwise ops on slices, one slice for each position in a window. The rule of convolution may
// also use a matrix product, if windows do not overlap. Products, triangular equations and LU
// factors of small matrices, folds of few elements, pads between elements and sorts of short lines
// have such rules, too.
// The pass unroll_windows (fusion/rewrites/unroll_windows.h) applies the rules.
#pragma once

#include <span>

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// Returns the function that computes the op's results from its operands; null if the op is not to
// be replaced. `result` is the type of the first result.
using UnrollRule = FlatFn (*)(const OpParams& params, std::span<const Type> operands,
                              const Type& result);

// Registers the rule of an op. It is called once, next to the op's definition.
bool register_unroll_rule(const OpDef& def, UnrollRule rule);
// Returns the op's rule, or null if it has none.
UnrollRule find_unroll_rule(const OpDef& def);

}  // namespace tessera::ops
