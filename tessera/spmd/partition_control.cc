#include "tessera/spmd/partition_control.h"

#include <optional>

#include "tessera/ops/control_flow.h"
#include "tessera/ops/source_scope.h"

namespace tessera {
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
  return tessera::bind(*op.def, std::move(params), operands);
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

void partition_scan(const Op& op, ControlPartition& partition) {
  ScanParams p = op.params.as<ScanParams>();
  const auto consts = static_cast<size_t>(p.num_consts), carries = static_cast<size_t>(p.num_carry);
  const Function& body = *p.body;
  const std::vector<DimAtoms> inputs = declared(partition, body, body.inputs);
  std::vector<DimAtoms> outputs = declared(partition, body, body.outputs);
  for (size_t c = 0; c < carries; ++c) outputs[c] = inputs[consts + c];
  std::vector<Array> operands;
  std::vector<Type> types;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const bool scanned = k >= consts + carries;
    operands.push_back(partition.operand(k, scanned ? with_rows(inputs[k]) : inputs[k]));
    types.push_back(local_type(operands.back()));
    if (scanned) types.back().shape.erase(types.back().shape.begin());
  }
  p.body = share(settled_region(body, partition, types, consts, carries, inputs, outputs));
  const std::vector<Array> results = bind_at(op, p, operands);
  for (size_t r = 0; r < results.size(); ++r)
    partition.settle(r, results[r], r < carries ? outputs[r] : with_rows(outputs[r]));
}

void partition_while(const Op& op, ControlPartition& partition) {
  const auto& p = op.params.as<WhileParams>();
  const std::vector<DimAtoms> carry = declared(partition, *p.body, p.body->inputs);
  std::vector<Array> operands;
  std::vector<Type> types;
  for (size_t k = 0; k < carry.size(); ++k) {
    operands.push_back(partition.operand(k, carry[k]));
    types.push_back(local_type(operands.back()));
  }
  Function body = settled_region(*p.body, partition, types, 0, carry.size(), carry, carry);
  Function cond = partition.region(*p.cond, types, carry, {DimAtoms{}});
  const std::vector<Array> results =
      bind_at(op, WhileParams{share(std::move(cond)), share(std::move(body))}, operands);
  for (size_t r = 0; r < results.size(); ++r) partition.settle(r, results[r], carry[r]);
}

void partition_case(const Op& op, const Function& f, ControlPartition& partition) {
  const auto& p = op.params.as<CaseParams>();
  const std::vector<DimAtoms> inputs = declared(partition, *p.branches[0], p.branches[0]->inputs),
                              outputs = declared(partition, f, op.results);
  std::vector<Array> operands = {partition.operand(0, {})};
  std::vector<Type> types;
  for (size_t k = 0; k < inputs.size(); ++k) {
    operands.push_back(partition.operand(k + 1, inputs[k]));
    types.push_back(local_type(operands.back()));
  }
  CaseParams local;
  for (const FunctionRef& branch : p.branches)
    local.branches.push_back(share(partition.region(*branch, types, inputs, outputs)));
  const std::vector<Array> results = bind_at(op, local, operands);
  for (size_t r = 0; r < results.size(); ++r) partition.settle(r, results[r], outputs[r]);
}

}  // namespace

void partition_control(const Op& op, const Function& f, ControlPartition& partition) {
  if (op.def == &scan_op) return partition_scan(op, partition);
  if (op.def == &while_op) return partition_while(op, partition);
  TESSERA_CHECK(op.def == &case_op, "{} is no control flow", op.def->name);
  partition_case(op, f, partition);
}

}  // namespace tessera
