// Derivatives of Functions, by the rules of their ops. All functions bind what they compute in the
// current trace, whichever it is.
//
// Forward: jvp_function walks the ops once, with tangents beside values. Reverse:
// linearize_function does the same, but records what depends on a tangent in a Function of its own,
// which is linear; transpose_function walks that one backwards. An undefined Array is a symbolic
// zero everywhere.
#pragma once

#include "tessera/ir/op_def.h"
#include "tessera/trace/trace.h"

namespace tessera::transforms {

// Returns the results of `function` at `primals` and their tangents. Throws UserError for an op
// without a derivative.
JvpResult jvp_function(const Function& function, std::span<const Array> primals,
                       std::span<const Array> tangents);

// The tangent program of a function at given primals. It is linear in its first inputs, which are
// the tangents of the arguments that have one; the other inputs are residuals.
struct LinearizedFunction {
  std::vector<Array> primals;  // the function's results
  Function linear;
  std::vector<Array> residuals;  // the arrays that the last inputs of `linear` stand for
  std::vector<bool> nonzero;     // which results have a tangent; `linear` returns those
};
LinearizedFunction linearize_function(const Function& function, std::span<const Array> primals,
                                      const std::vector<bool>& has_tangent);

// Returns the same if the values `known` of the function are given. What follows reads these, and
// what only they need is not computed.
LinearizedFunction linearize_function_with(const Function& function, std::span<const Array> primals,
                                           const std::vector<bool>& has_tangent, const Dims& known,
                                           std::span<const Array> known_values);

// Returns the cotangents of the inputs marked `linear`, undefined for the others and if they are
// zero. Operands that are not linear are read; those that are may be undefined. A cotangent varies
// over the manual axes that its value varies over: for a value that is the same on all devices it
// is summed over them.
std::vector<Array> transpose_function(const Function& function, const std::vector<bool>& linear,
                                      std::span<const Array> operands,
                                      std::span<const Array> cotangents);

// Returns ct typed as a cotangent of a value of type `like`: summed over axes that only ct varies
// over, cast to varying over those that only the value varies over.
Array cotangent_of(const Array& ct, const Type& like);

}  // namespace tessera::transforms
