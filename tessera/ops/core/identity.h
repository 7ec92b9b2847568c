// Ops that return their operand and concern one stage only.
#pragma once

#include <string>

#include "tessera/ir/array.h"

namespace tessera::ops {

// A constant for differentiation: neither tangents nor cotangents pass.
struct StopGradientParams {};
extern const OpDef& stop_gradient_op;

// The name by which a policy of checkpoint identifies the value.
struct CheckpointNameParams {
  std::string name;
};
extern const OpDef& checkpoint_name_op;

// What computes the result is never merged with an equal computation of the operand, so that what
// depends on the barrier is computed anew.
struct OptimizationBarrierParams {};
extern const OpDef& optimization_barrier_op;

}  // namespace tessera::ops

namespace tessera::lax {

// Returns x as a constant for differentiation.
Array stop_gradient(const Array& x);
// Returns x, which checkpoint policies identify by `name`.
Array checkpoint_name(const Array& x, const std::string& name);
Array optimization_barrier(const Array& x);

}  // namespace tessera::lax
