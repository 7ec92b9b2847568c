#include "tessera/compile/alternatives.h"

#include <algorithm>

#include "tessera/base/contains.h"
#include "tessera/compile/flops.h"
#include "tessera/ir/op_def.h"
#include "tessera/sharding/atoms.h"

namespace tessera::compile {
namespace {

// The state that a function takes and returns: inputs with the type and sharding of an output.
struct State {
  std::vector<size_t> inputs;  // positions of these inputs
  ValueIds values;             // these inputs, and the outputs that the request pins
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

// Returns whether a mesh axis shards both state and another input.
bool shares_axes_with_the_rest(const State& state, const Function& f, const Mesh& mesh,
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

double cost_of(const Alternative& a) {
  return static_cast<double>(communication_cost(a.partitioned)) +
         flops_of(a.function) / kFlopsPerByte;
}

}  // namespace

std::vector<ValueIds> propagation_orders(const Function& function, const Mesh& mesh,
                                         const ShardingRequest& request) {
  std::vector<ValueIds> orders(1);  // one order: all shardings spread together
  State state = state_of(function, request);
  if (shares_axes_with_the_rest(state, function, mesh, request))
    orders.push_back(std::move(state.values));
  return orders;
}

size_t cheapest(const std::vector<Alternative>& alternatives) {
  if (alternatives.size() == 1) return 0;
  std::vector<double> costs;
  for (const Alternative& a : alternatives) costs.push_back(cost_of(a));
  return static_cast<size_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
}

}  // namespace tessera::compile
