// Transposes a linear function back to its uses. A use is an op that reads a linear value which all
// examples share (a parameter's tangent, or a value computed from such tangents alone) and whose
// result differs between examples. The transposition stops at the uses. See ops/core/use_rule.h.
//
//   linear program of tanh(x W + b):      W', b' shared; x, s = 1 - tanh^2 of the example
//     t0 = x . W'         use: operands {x}, cotangents {c1 * s}
//     t1 = t0 + b'        use: operands {},  cotangents {c1 * s}
//     t2 = t1 * s
//
// Before: a linear function of one example.
// After:  each use is a small function by itself, linear in the function's shared linear inputs;
//         the sum over uses of their transposes is what transpose_function returns.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ops/core/use_rule.h"

namespace tessera::transforms {

// Returns the uses. `sharing` describes every input. Operands that are linear are not read, and
// undefined cotangents are zero.
Uses transpose_to_uses(const Function& function, const std::vector<Sharing>& sharing,
                       std::span<const Array> operands, std::span<const Array> cotangents);

// Returns a use that returns its input: `cotangent` is the input's cotangent for each example.
Use identity_use(size_t input, const Array& cotangent);

// Returns for each value of the function whether it differs between examples.
std::vector<bool> differs_between_examples(const Function& function,
                                           const std::vector<bool>& inputs);

}  // namespace tessera::transforms
