#include "tessera/interchange/programs/map_regions.h"

#include "tessera/control/control.h"
#include "tessera/control/custom_derivative.h"
#include "tessera/ir/control_flow.h"

namespace tessera::interchange {
namespace {

using Rewrite = std::function<Function(const Function&)>;

template <class P>
OpParams mapped(const Op& op, std::initializer_list<FunctionRef P::*> functions,
                const Rewrite& rewrite) {
  P params = op.params.as<P>();
  for (FunctionRef P::*f : functions)
    params.*f = std::make_shared<const Function>(rewrite(*(params.*f)));
  return params;
}

}  // namespace

OpParams map_regions(const Op& op, const Rewrite& rewrite) {
  if (op.def == &call_op) return mapped(op, {&CallParams::callee}, rewrite);
  if (op.def == &manual_computation_op)
    return mapped(op, {&ManualComputationParams::body}, rewrite);
  if (op.def == &checkpoint_op) return mapped(op, {&CheckpointParams::primal}, rewrite);
  if (op.def == &custom_jvp_call_op)
    return mapped(op, {&CustomJvpParams::primal, &CustomJvpParams::jvp}, rewrite);
  if (op.def == &custom_vjp_call_op)
    return mapped(op, {&CustomVjpParams::primal, &CustomVjpParams::fwd, &CustomVjpParams::bwd},
                  rewrite);
  return map_control_regions(op, rewrite);
}

}  // namespace tessera::interchange
