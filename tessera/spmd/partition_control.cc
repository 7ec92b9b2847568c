#include "tessera/spmd/partition_control.h"

#include <optional>

#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/source_scope.h"

namespace tessera::spmd {
namespace {

DimAtoms with_rows(DimAtoms dims) {
  dims.insert(dims.begin(), AtomList{});
  return dims;
}

std::vector<DimAtoms> declared(ControlPartition& partition, const Function& f,
                               std::span<const ValueId> values) {
  std::vector<DimAtoms> out;
  for (ValueId v : values) out.push_back(partition.declared(f.type(v)));
  return out;
}

Type local_type(const Array& x) {
  Type type = x.type();
  type.sharding = nullptr;
  return type;
}

FunctionRef share(Function f) { return std::make_shared<const Function>(std::move(f)); }

std::vector<Array> bind_at(const Op& op, OpParams params, std::span<const Array> operands) {
  std::optional<SourceScope> scope;
  if (!op.source.empty()) scope.emplace(op.source);
  return bind_op(*op.def, std::move(params), operands);
}

// The region whose carries, `carries` inputs from `first` on, vary over what a trip makes them vary
// over; `types` are adapted.
Function settled_region(const Function& region, ControlPartition& partition,
                        std::vector<Type>& types, size_t first, size_t carries,
                        const std::vector<DimAtoms>& inputs, const std::vector<DimAtoms>& outputs) {
  while (true) {
    Function out = partition.region(region, types, inputs, outputs);
    bool grown = false;
    for (size_t c = 0; c < carries; ++c) {
      AxisNames& varying = types[first + c].varying;
      const AxisNames wider = axis_union(varying, out.type(out.outputs[c]).varying);
      grown = grown || wider != varying;
      varying = wider;
    }
    if (!grown) return out;
  }
}

// What an operand of the regions is cut like, and its type on a shard.
struct Entering {
  std::vector<DimAtoms> dims;
  std::vector<Type> types;
};

// The body first: its carries may vary over more than what they start with.
void partition_loop(ControlFlow& flow, ControlPartition& partition, Entering& entering,
                    const std::vector<DimAtoms>& outputs) {
  flow.regions.back() =
      share(settled_region(flow.body(), partition, entering.types, flow.num_consts, flow.num_carry,
                           entering.dims, outputs));
  if (!flow.has_condition()) return;
  const size_t inputs = flow.regions[0]->inputs.size();
  flow.regions[0] = share(partition.region(
      *flow.regions[0], std::span(entering.types).first(inputs),
      {entering.dims.begin(), entering.dims.begin() + static_cast<int64_t>(inputs)}, {DimAtoms{}}));
}

}  // namespace

void partition_control(const Op& op, const Function& f, ControlPartition& partition) {
  ControlFlow flow = control_flow_of(op);
  const Function& body = flow.body();
  Entering entering{.dims = declared(partition, body, body.inputs)};
  std::vector<Array> operands;
  for (size_t k = 0; k < flow.first_entering(); ++k)  // a branch's index
    operands.push_back(partition.operand(k, {}));
  for (size_t k = 0; k < entering.dims.size(); ++k) {
    const DimAtoms& dims = entering.dims[k];
    operands.push_back(
        partition.operand(flow.first_entering() + k, flow.is_scanned(k) ? with_rows(dims) : dims));
    Type& type = entering.types.emplace_back(local_type(operands.back()));
    if (flow.is_scanned(k)) type.shape.erase(type.shape.begin());
  }
  // The ways of a branch come to the sharding of its results; a loop's results to that of its body.
  std::vector<DimAtoms> outputs =
      flow.is_loop() ? declared(partition, body, body.outputs) : declared(partition, f, op.results);
  for (size_t c = 0; c < flow.num_carry; ++c) outputs[c] = entering.dims[flow.num_consts + c];
  if (flow.is_loop()) {
    partition_loop(flow, partition, entering, outputs);
  } else {
    for (FunctionRef& way : flow.regions)
      way = share(partition.region(*way, entering.types, entering.dims, outputs));
  }
  const std::vector<Array> results = bind_at(op, with_control_flow(op, flow), operands);
  for (size_t r = 0; r < results.size(); ++r)
    partition.settle(r, results[r], flow.is_stacked(r) ? with_rows(outputs[r]) : outputs[r]);
}

}  // namespace tessera::spmd
