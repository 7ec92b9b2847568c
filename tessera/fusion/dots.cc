#include "tessera/fusion/dots.h"

#include "tessera/ops/dot_general.h"

namespace tessera::fusion {

DotStep dot_step(const GraphOp& op, std::span<const int> in, int out, const AxisList& axes) {
  const DotParams& params = op.op->params.as<DotParams>();
  DotStep step;
  step.lhs_batch = params.lhs_batch;
  step.rhs_batch = params.rhs_batch;
  step.lhs_contract = params.lhs_contract;
  step.rhs_contract = params.rhs_contract;
  step.lhs = in[0];
  step.rhs = in[1];
  step.out = out;
  step.accumulate = dot_accumulate_dtype(params.result);
  step.axes = axes;
  return step;
}

}  // namespace tessera::fusion
