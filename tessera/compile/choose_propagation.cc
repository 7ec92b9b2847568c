#include "tessera/compile/choose_propagation.h"

#include <vector>

#include "tessera/base/contains.h"
#include "tessera/compile/flops.h"
#include "tessera/ir/op_def.h"
#include "tessera/sharding/atoms.h"
#include "tessera/sharding/cut_lines.h"
#include "tessera/sharding/cut_sorts.h"
#include "tessera/spmd/partition.h"

namespace tessera::compile {
namespace {

// What a function takes and gives back: inputs, and the constraints that make outputs of them.
struct State {
  std::vector<size_t> inputs;   // positions
  std::vector<ValueId> values;  // pinned ones
};

State state_of(const Function& f, const ShardingRequest& request) {
  State out;
  const std::vector<int> producers = f.producers();
  for (size_t k = 0; k < f.outputs.size(); ++k) {
    const Type& type = f.types[f.outputs[k]];
    for (size_t i = 0; i < request.inputs.size(); ++i) {
      const Type& given = f.types[f.inputs[i]];
      if (!request.inputs[i] || contains(out.inputs, i) || given.dtype != type.dtype ||
          given.shape != type.shape)
        continue;
      const bool pinned = k < request.outputs.size() && request.outputs[k];
      if (pinned && !request.outputs[k]->is_equivalent_to(*request.inputs[i], type.rank()))
        continue;
      out.inputs.push_back(i);
      out.values.push_back(f.inputs[i]);
      if (pinned && producers[f.outputs[k]] >= 0) out.values.push_back(f.outputs[k]);
      break;
    }
  }
  return out;
}

// Whether it and the rest of the inputs are cut over the same axes.
bool is_cut_as_the_rest(const State& state, const Function& f, const Mesh& mesh,
                        const ShardingRequest& request) {
  const AtomMesh atoms(mesh);
  AtomSet mine = 0, others = 0;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (!request.inputs[i]) continue;
    const DimAtoms dims =
        atoms.dims(translate("jit", *request.inputs[i], mesh), f.types[f.inputs[i]].rank());
    (contains(state.inputs, i) ? mine : others) |= used_atoms(dims);
  }
  return mine & others;
}

Plan plan_of(const Function& propagated, const Mesh& mesh) {
  Plan out{.cut = cut_sorts(cut_lines(propagated)), .partitioned = {}};
  out.partitioned = partition(out.cut, mesh);
  return out;
}

double cost_of(const Plan& plan) {
  return static_cast<double>(communication_cost(plan.partitioned)) +
         flops_of(plan.partitioned.function) / kFlopsPerByte;
}

}  // namespace

Propagated propagate_for_least(const Function& function, const Mesh& mesh,
                               const ShardingRequest& request) {
  Function together = propagate(function, mesh, request);
  const State state = state_of(function, request);
  if (!is_cut_as_the_rest(state, function, mesh, request)) return {std::move(together), {}};
  Function last = propagate(function, mesh, request, state.values);
  Plan of_together = plan_of(together, mesh), of_last = plan_of(last, mesh);
  if (cost_of(of_last) < cost_of(of_together)) return {std::move(last), std::move(of_last)};
  return {std::move(together), std::move(of_together)};
}

}  // namespace tessera::compile
