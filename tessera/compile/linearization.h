// The flat core of grad, vjp, jvp and linearize: functions of lists of arrays, under a trace.
#pragma once

#include "tessera/ops/control/region_transforms.h"
#include "tessera/transform/derivative.h"

namespace tessera::internal {

// A function at a point, with its tangent program. Works under a trace and, once it has been taken
// out of one (residuals concrete), outside.
struct Linearization {
  std::vector<Array> results;
  Function linear;
  std::vector<Array> residuals;
  std::vector<bool> has_tangent;  // which arguments are differentiated
  std::vector<bool> nonzero;      // which results have a tangent
  std::vector<Type> arguments;    // types of the differentiated arguments
  std::vector<Type> result_types;

  // Tangents of all results from those of the differentiated arguments.
  std::vector<Array> push(std::span<const Array> tangents) const;
  // Cotangents of the differentiated arguments from those of all results.
  std::vector<Array> pull(std::span<const Array> cotangents) const;
};

// `paths` name the leaves in messages. UserErrors: a differentiated argument that is no float or
// complex array.
Linearization linearize_flat(std::string_view op, const FlatFn& body, std::span<const Array> leaves,
                             const std::vector<bool>& wrt, const std::vector<std::string>& paths);

// Results of `body`, whose first is the scalar to differentiate, and its gradients by the leaves
// that `wrt` marks. Inside a manual computation a gradient varies over what the scalar varies over:
// of a loss that every device has for itself, each device gets its own gradient.
struct ValueAndGradients {
  std::vector<Array> results, gradients;
};
ValueAndGradients value_and_grad_flat(const FlatFn& body, std::span<const Array> leaves,
                                      const std::vector<bool>& wrt,
                                      const std::vector<std::string>& paths);

// Results and tangents; `tangents` one a leaf.
struct ResultsAndTangents {
  std::vector<Array> results, tangents;
};
ResultsAndTangents jvp_flat(const FlatFn& body, std::span<const Array> leaves,
                            std::span<const Array> tangents, const std::vector<std::string>& paths);

}  // namespace tessera::internal
