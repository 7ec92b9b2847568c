// How ops stand in StableHLO and Shardy text where that is more than their attributes in a row (see
// ir/op_format.h).
#pragma once

#include "tessera/ir/factors.h"
#include "tessera/ir/op_format.h"
#include "tessera/ops/control/control.h"

namespace tessera::ops::formats {

// EQ, %0, %1, FLOAT; the comparison type may be missing.
OpFormat compare();
// dense<1.0> : tensor<4xf32>
OpFormat constant();
// %0, %1, batching_dims = [0] x [0], contracting_dims = [2] x [1]; precision is a hint
OpFormat dot_general();
// (%0 init: %1) applies stablehlo.add across dimensions = [0], or with a region `reducer`
OpFormat reduce();
// The kind that a body of the text is. Unlike classify_reduce_body(), minimum of bool is kMin, not
// kAnd.
ReduceKind written_kind(const Function& body);
// A body with its calls written out, and without the sharding constraints on scalars that JAX puts
// there, which mean nothing.
FunctionRef plain_body(const FunctionRef& body);
// %0 <@mesh, [{"x"}, {}]>
OpFormat sharding_constraint();
// (%0) in_shardings=[...] out_shardings=[...] manual_axes={"x"} (%arg0: tensor<4xf32>) {...}
OpFormat manual_computation();
// (%iterArg = %0, ...) : types cond {...} do {...}
OpFormat while_loop();
// Generic, "stablehlo.case"(%index) ({...}, {...}), or "stablehlo.if" where the index is a bool.
// Regions have no inputs: they use the operands by name.
OpFormat branches();
// Generic form with StableHLO's replica_groups; `tessera.axes`, `tessera.mesh` and `tessera.groups`
// say the same by mesh axes. Text without these is read by finding the axes that its groups run
// along.
OpFormat collective();

}  // namespace tessera::ops::formats
