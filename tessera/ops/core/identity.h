// Ops that return their operand and matter to one stage only.
#pragma once

#include <string>

#include "tessera/ir/array.h"

namespace tessera::ops {

// stop_gradient: differentiation treats the result as a constant, without tangents and cotangents.
struct StopGradientParams {};
extern const OpDef& stop_gradient_op;

// The name by which a policy of checkpoint identifies the value.
struct CheckpointNameParams {
  std::string name;
};
extern const OpDef& checkpoint_name_op;

// optimization_barrier: values that are computed from the result are never merged with equal ones
// that are computed from the operand, so they are computed anew.
struct OptimizationBarrierParams {};
extern const OpDef& optimization_barrier_op;

}  // namespace tessera::ops

namespace tessera::lax {

// Returns x, which differentiation treats as a constant.
Array stop_gradient(const Array& x);
// Returns x, which checkpoint policies identify by `name`.
Array checkpoint_name(const Array& x, const std::string& name);
Array optimization_barrier(const Array& x);

}  // namespace tessera::lax
