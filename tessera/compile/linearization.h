// Linearization: a function at a point, with its tangent program. derivatives.h declares what grad,
// jvp and vjp need of it.
#pragma once

#include "tessera/compile/derivatives.h"
#include "tessera/ir/function.h"

namespace tessera::internal {

// A function at a point, with its tangent program `linear`. It can be used under a trace and, once
// its residuals are concrete, outside of the trace.
struct Linearization {
  std::vector<Array> results;
  ir::Function linear;
  std::vector<Array> residuals;
  std::vector<bool> has_tangent;    // which arguments are differentiated
  std::vector<bool> nonzero;        // which results have a tangent
  std::vector<ir::Type> arguments;  // types of the differentiated arguments
  std::vector<ir::Type> result_types;

  // Returns tangents of all results, given those of the differentiated arguments.
  std::vector<Array> push(std::span<const Array> tangents) const;
  // Returns cotangents of the differentiated arguments, given those of all results.
  std::vector<Array> pull(std::span<const Array> cotangents) const;
};

// Returns the linearization of `body` at `leaves` by those that `wrt` marks; messages call the
// leaves by `paths`. Throws UserError for a marked leaf that is not a float or complex array.
Linearization linearize_flat(std::string_view op, const ir::FlatFn& body,
                             std::span<const Array> leaves, const std::vector<bool>& wrt,
                             const std::vector<std::string>& paths);

}  // namespace tessera::internal
