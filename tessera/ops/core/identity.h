// Ops that hand their operand through and mean something to one stage only.
#pragma once

#include <string>

#include "tessera/ir/array.h"

namespace tessera::ops {

// A constant to differentiation: neither tangents nor cotangents pass.
struct StopGradientParams {};
extern const OpDef& stop_gradient_op;

// A name by which a policy of checkpoint knows the value.
struct CheckpointNameParams {
  std::string name;
};
extern const OpDef& checkpoint_name_op;

// Nothing that computes the result is found equal to what computes the operand: what stands behind
// it is computed anew.
struct OptimizationBarrierParams {};
extern const OpDef& optimization_barrier_op;

}  // namespace tessera::ops

namespace tessera::lax {

// x, as a constant to differentiation.
Array stop_gradient(const Array& x);
// x, which checkpoint policies know as `name`.
Array checkpoint_name(const Array& x, const std::string& name);
Array optimization_barrier(const Array& x);

}  // namespace tessera::lax
