// Functions with custom derivatives, and functions whose values are recomputed instead of kept:
// they are calls whose rules are in their params. The pipeline inlines `primal`.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

// jvp: (primals..., tangents of all of them...) -> (results..., tangents of all of them...).
struct CustomJvpParams {
  FunctionRef primal, jvp;
};
extern const OpDef& custom_jvp_call_op;

// fwd: (operands...) -> (results..., residuals...). bwd: (residuals..., cotangents of the
// results...) -> cotangents of the first num_args operands; the operands after those are what the
// functions captured.
struct CustomVjpParams {
  FunctionRef primal, fwd, bwd;
  int64_t num_args = 0, num_results = 0;
};
extern const OpDef& custom_vjp_call_op;

}  // namespace tessera::ops

namespace tessera {

// Which values of a checkpointed function are kept for its derivative: those whose `kind` or name
// is listed.
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

}  // namespace tessera::ops
