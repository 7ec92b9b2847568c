// Derivatives of Functions, by the rules of their ops. All functions here bind what they compute in
// the current trace.
//
// Forward: jvp_function walks the ops once, and computes tangents next to values. Reverse:
// linearize_function does the same, except that it records ops that depend on a tangent in a
// separate Function, which is linear; transpose_function walks that Function backwards. An
// undefined Array is a symbolic zero everywhere.
#pragma once

#include "tessera/ir/op_def.h"
#include "tessera/trace/trace.h"

namespace tessera::transforms {

// Returns the results of `function` at `primals` and their tangents. Throws UserError for an op
// without a derivative.
JvpResult jvp_function(const Function& function, std::span<const Array> primals,
                       std::span<const Array> tangents);

// The tangent program of a function at given primals. It is linear in its first inputs, which are
// the tangents of those arguments that have one. The other inputs are residuals.
struct LinearizedFunction {
  std::vector<Array> primals;  // the function's results
  Function linear;
  std::vector<Array> residuals;  // the arrays that the last inputs of `linear` stand for
  std::vector<bool> nonzero;     // which results have a tangent; `linear` returns those
};
LinearizedFunction linearize_function(const Function& function, std::span<const Array> primals,
                                      const std::vector<bool>& has_tangent);

// Does the same if the values `known` of the function are given: later ops read these, and ops that
// only they need are not computed.
LinearizedFunction linearize_function_with(const Function& function, std::span<const Array> primals,
                                           const std::vector<bool>& has_tangent, const Dims& known,
                                           std::span<const Array> known_values);

// Returns the cotangents of the inputs marked `linear`, undefined for all others and for cotangents
// that are zero. Operands that are linear are not read, and may be undefined. A cotangent varies
// over the manual axes over which its value varies; over other axes it is summed.
std::vector<Array> transpose_function(const Function& function, const std::vector<bool>& linear,
                                      std::span<const Array> operands,
                                      std::span<const Array> cotangents);

// Returns ct as a cotangent of a value of type `like`: summed over axes over which only ct varies,
// and cast to vary over those over which only the value varies.
Array cotangent_of(const Array& ct, const Type& like);

}  // namespace tessera::transforms
