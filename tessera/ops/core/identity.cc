#include "tessera/ops/core/identity.h"

#include <algorithm>

#include "tessera/ir/control_flow.h"
#include "tessera/ops/core/expect.h"
#include "tessera/ops/core/inspect_sharding.h"
#include "tessera/ops/core/norm_choice.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/core/sharding_group.h"

namespace tessera::ops {
namespace {

template <class P>
std::vector<Type> infer(std::span<const Type> operands, const P&) {
  expect_operands("identity", operands, 1);
  return {operands[0]};
}
template <class P>
std::vector<Literal> evaluate(std::span<const Literal> x, const P&) {
  return {x[0]};
}
template <class P>
Factors factors(std::span<const Type> operands, std::span<const Type> results, const P&) {
  return pointwise_factors(operands, results);
}
template <class P>
double no_flops(std::span<const Type>, std::span<const Type>, const P&) {
  return 0;
}
template <class P>
std::vector<Sample> samples() {
  return {{.operands = {{float32, {2, 3}}}, .params = P{}},
          {.operands = {{int32, {}}}, .params = P{}}};
}

template <const OpDef& (*def)(), class P>
JvpResult jvp(std::span<const Array> x, std::span<const Array> t, const P& p) {
  return {{bind_op1(def(), p, {x[0]})}, {t[0].defined() ? bind_op1(def(), p, {t[0]}) : Array()}};
}
template <const OpDef& (*def)(), class P>
std::vector<Array> transpose(std::span<const Array> ct, std::span<const Array>,
                             const std::vector<bool>&, const P& p) {
  return {ct[0].defined() ? bind_op1(def(), p, {ct[0]}) : Array()};
}
template <const OpDef& (*def)(), class P>
BatchResult batch(std::span<const Array> x, std::span<const int> dims, const P& p) {
  return {{bind_op1(def(), p, {x[0]})}, {dims[0]}};
}

const OpDef& stop() { return stop_gradient_op; }
const OpDef& named() { return checkpoint_name_op; }
const OpDef& barrier() { return optimization_barrier_op; }
const OpDef& group() { return sharding_group_op; }
const OpDef& inspect() { return inspect_sharding_op; }
const OpDef& choice() { return norm_choice_op; }
const OpDef& expected() { return expect_op; }

JvpResult jvp_stop(std::span<const Array> x, std::span<const Array>, const StopGradientParams& p) {
  return {{bind_op1(stop_gradient_op, p, {x[0]})}, {Array()}};
}

// A linear function contains a stop_gradient if it is computed for all examples although some take
// the other branch: those get zero.
std::vector<Array> transpose_stop(std::span<const Array>, std::span<const Array>,
                                  const std::vector<bool>&, const StopGradientParams&) {
  return {Array()};
}

}  // namespace

const OpDef& stop_gradient_op = define<StopGradientParams>({
    .name = "stop_gradient",
    .dialect = "tessera",
    .infer = infer<StopGradientParams>,
    .evaluate = evaluate<StopGradientParams>,
    .factors = factors<StopGradientParams>,
    .lower = Identity{},
    .flops = no_flops<StopGradientParams>,
    .jvp = {jvp_stop},
    .transpose = {transpose_stop},
    .batch = {batch<stop, StopGradientParams>},
    .samples = samples<StopGradientParams>,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& checkpoint_name_op = define<CheckpointNameParams>({
    .name = "checkpoint_name",
    .dialect = "tessera",
    .attributes = {"name"},
    .infer = infer<CheckpointNameParams>,
    .evaluate = evaluate<CheckpointNameParams>,
    .factors = factors<CheckpointNameParams>,
    .lower = Identity{},
    .flops = no_flops<CheckpointNameParams>,
    .jvp = {jvp<named, CheckpointNameParams>},
    .transpose = {transpose<named, CheckpointNameParams>},
    .batch = {batch<named, CheckpointNameParams>},
    .samples = samples<CheckpointNameParams>,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& norm_choice_op = define<NormChoiceParams>({
    .name = "norm_choice",
    .dialect = "tessera",
    .attributes = {"parameter", "method", "flops", "bytes"},
    .infer = infer<NormChoiceParams>,
    .evaluate = evaluate<NormChoiceParams>,
    .factors = factors<NormChoiceParams>,
    .lower = Identity{},
    .flops = no_flops<NormChoiceParams>,
    .jvp = {jvp<choice, NormChoiceParams>},
    .transpose = {transpose<choice, NormChoiceParams>},
    .batch = {batch<choice, NormChoiceParams>},
    .samples = samples<NormChoiceParams>,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& expect_op = define<ExpectParams>({
    .name = "expect",
    .dialect = "tessera",
    .attributes = {"value"},
    .infer = infer<ExpectParams>,
    .evaluate = evaluate<ExpectParams>,
    .factors = factors<ExpectParams>,
    .lower = Identity{},
    .flops = no_flops<ExpectParams>,
    .jvp = {jvp<expected, ExpectParams>},
    .transpose = {transpose<expected, ExpectParams>},
    .batch = {batch<expected, ExpectParams>},
    .samples = samples<ExpectParams>,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& optimization_barrier_op = define<OptimizationBarrierParams>({
    .name = "optimization_barrier",
    .infer = infer<OptimizationBarrierParams>,
    .evaluate = evaluate<OptimizationBarrierParams>,
    .factors = factors<OptimizationBarrierParams>,
    .lower = Identity{},
    .flops = no_flops<OptimizationBarrierParams>,
    .jvp = {jvp<barrier, OptimizationBarrierParams>},
    .transpose = {transpose<barrier, OptimizationBarrierParams>},
    .batch = {batch<barrier, OptimizationBarrierParams>},
    .samples = samples<OptimizationBarrierParams>,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& sharding_group_op = define<ShardingGroupParams>({
    .name = "sharding_group",
    .dialect = "tessera",
    .attributes = {"group"},
    .infer = infer<ShardingGroupParams>,
    .evaluate = evaluate<ShardingGroupParams>,
    .factors = factors<ShardingGroupParams>,
    .lower = Identity{},
    .flops = no_flops<ShardingGroupParams>,
    .jvp = {jvp<group, ShardingGroupParams>},
    .transpose = {transpose<group, ShardingGroupParams>},
    .batch = {batch<group, ShardingGroupParams>},
    .samples = samples<ShardingGroupParams>,
    .effect = true,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& inspect_sharding_op = define<InspectShardingParams>({
    .name = "inspect_sharding",
    .dialect = "tessera",
    .attributes = {"function", "data"},
    .infer = infer<InspectShardingParams>,
    .evaluate = evaluate<InspectShardingParams>,
    .factors = factors<InspectShardingParams>,
    .lower = Identity{},
    .flops = no_flops<InspectShardingParams>,
    .jvp = {jvp<inspect, InspectShardingParams>},
    .transpose = {transpose<inspect, InspectShardingParams>},
    .batch = {batch<inspect, InspectShardingParams>},
    .samples = samples<InspectShardingParams>,
    .effect = true,
    .narrow = NarrowOperands::kAsTheyAre,
});

const NormChoiceParams* norm_choice_of(const Op& op) {
  return op.def == &norm_choice_op ? &op.params.as<NormChoiceParams>() : nullptr;
}

const ShardingGroupParams* sharding_group_of(const Op& op) {
  return op.def == &sharding_group_op ? &op.params.as<ShardingGroupParams>() : nullptr;
}

const InspectShardingParams* inspect_sharding_of(const Op& op) {
  return op.def == &inspect_sharding_op ? &op.params.as<InspectShardingParams>() : nullptr;
}

bool is_about_sharding(const Op& op) { return sharding_group_of(op) || inspect_sharding_of(op); }

std::optional<size_t> expected_branch(const Function& f, const Op& op) {
  if (!is_control_flow(op)) return std::nullopt;
  const ControlFlow flow = control_flow_of(op);
  if (flow.is_loop()) return std::nullopt;
  const auto index = std::ranges::find_if(f.ops, [&](const Op& other) {
    return other.def == &expect_op && other.results[0] == op.operands[0];
  });
  if (index == f.ops.end()) return std::nullopt;
  // An index out of range selects the last branch.
  const size_t branch = static_cast<size_t>(index->params.as<ExpectParams>().value);
  return std::min(branch, flow.regions.size() - 1);
}

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

Array stop_gradient(const Array& x) {
  return bind_op1(stop_gradient_op, StopGradientParams{}, {x});
}
Array checkpoint_name(const Array& x, const std::string& name) {
  return bind_op1(checkpoint_name_op, CheckpointNameParams{name}, {x});
}
Array optimization_barrier(const Array& x) {
  return bind_op1(optimization_barrier_op, OptimizationBarrierParams{}, {x});
}

}  // namespace tessera::lax
