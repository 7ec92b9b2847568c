// Functions with custom derivatives, and checkpointed functions, whose values are computed again
// instead of kept. Each is a call with its rules in its params. The pipeline inlines `primal`.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

// jvp is (primals..., tangents of all of them...) -> (results..., tangents of all of them...).
struct CustomJvpParams {
  FunctionRef primal, jvp;
};
extern const OpDef& custom_jvp_call_op;

// fwd is (operands...) -> (results..., residuals...). bwd is (residuals..., cotangents of the
// results...) -> cotangents of the first num_args operands. The other operands are arrays that the
// functions captured.
struct CustomVjpParams {
  FunctionRef primal, fwd, bwd;
  int64_t num_args = 0, num_results = 0;
};
extern const OpDef& custom_vjp_call_op;

}  // namespace tessera::ops

namespace tessera {

// Which values of a checkpointed function are kept for its derivative, by the op that computes them
// or by their checkpoint_name.
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
