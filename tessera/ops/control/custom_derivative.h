// Functions with derivatives of their own, and functions that are computed again instead of kept:
// calls whose rules are in their params. The pipeline inlines `primal`. tessera/control defines the
// ops, above the transforms that their rules call.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

// jvp: (primals..., tangents of all of them...) -> (results..., tangents of all of them...).
struct CustomJvpParams {
  FunctionRef primal, jvp;
};
extern const OpDef& custom_jvp_call_op;

// fwd: (operands...) -> (results..., residuals...). bwd: (residuals..., cotangents of the
// results...) -> cotangents of the first num_args operands; the operands behind those are what the
// functions captured.
struct CustomVjpParams {
  FunctionRef primal, fwd, bwd;
  int64_t num_args = 0, num_results = 0;
};
extern const OpDef& custom_vjp_call_op;

// The tangents of a custom_vjp_call: (residuals..., the results, for their types..., tangents of
// the arguments in `args`...) -> tangents of the results. It exists to be transposed.
struct CustomLinearParams {
  FunctionRef bwd;
  int64_t num_residuals = 0, num_results = 0;
  Dims args;
};
extern const OpDef& custom_linear_op;

}  // namespace tessera::ops

namespace tessera {

// What of a checkpointed function is kept for its derivative: values whose `kind` or name is
// listed.
enum class Saveable : uint8_t {
  kNothing,
  kEverything,
  kDots,
  kDotsWithNoBatchDims,
  kNames,
  kAllButNames
};
inline constexpr std::array<std::string_view, 6> enum_names(Saveable) {
  return {"nothing", "everything", "dots", "dots_with_no_batch_dims", "names", "all_but_names"};
}

}  // namespace tessera

namespace tessera::ops {
struct CheckpointParams {
  FunctionRef primal;
  Saveable saveable = Saveable::kNothing;
  std::vector<std::string> names = {};
};
extern const OpDef& checkpoint_op;

// The tangents of a checkpointed function: (primal operands..., saved values..., the results in
// `nonzero`, for their types..., tangents of the operands in `args`...) -> tangents of the results
// in `nonzero`. Its transpose computes what was not saved again, from operands that stand behind an
// optimization_barrier.
struct CheckpointLinearParams {
  FunctionRef primal;
  Dims saved;    // values of `primal`
  Dims args;     // operands with a tangent
  Dims nonzero;  // results with a tangent
};
extern const OpDef& checkpoint_linear_op;

}  // namespace tessera::ops
