#include "plugin/device_parts.h"

#include <algorithm>
#include <optional>

#include "tessera/control/control.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/control/host_callback.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::plugin {
namespace {

using ir::AxisNames;
using ir::Function;
using ir::FunctionRef;
using ir::Op;
using ir::ValueId;

struct Returned {
  std::optional<size_t> op;  // of main; nullopt if no manual computation returns it
  size_t result = 0;         // the number of the op's result
};

// Returns the manual computation that computes result r of main, and the number of its result.
Returned find_manual(const Function& main, size_t r) {
  const ValueId value = main.outputs[r];
  for (size_t k = 0; k < main.ops.size(); ++k)
    for (size_t q = 0; q < main.ops[k].results.size(); ++q)
      if (main.ops[k].results[q] == value && main.ops[k].def == &ops::manual_computation_op)
        return {k, q};
  return {};
}

bool has_callback(const Function& f);

bool has_callback(const Op& op) {
  if (op.def == &ops::pure_callback_op || op.def == &ops::io_callback_op) return true;
  for (const FunctionRef& region : ir::control_regions(op))
    if (has_callback(*region)) return true;
  const FunctionRef callee = ir::callee_of(op);
  return callee && has_callback(*callee);
}

bool has_callback(const Function& f) {
  return std::any_of(f.ops.begin(), f.ops.end(), [](const Op& op) { return has_callback(op); });
}

bool depends_on_callback(const Function& f, ValueId value) {
  std::vector<bool> needed(f.types.size());
  needed[static_cast<size_t>(value)] = true;
  for (auto op = f.ops.rbegin(); op != f.ops.rend(); ++op) {
    if (std::none_of(op->results.begin(), op->results.end(),
                     [&](ValueId v) { return needed[static_cast<size_t>(v)]; }))
      continue;
    if (has_callback(*op)) return true;
    for (ValueId v : op->operands) needed[static_cast<size_t>(v)] = true;
  }
  return false;
}

bool read_once(const Function& f, ValueId value) {
  for (const Op& op : f.ops)
    if (std::find(op.operands.begin(), op.operands.end(), value) != op.operands.end()) return false;
  return std::count(f.outputs.begin(), f.outputs.end(), value) == 1;
}

bool same_axes(AxisNames a, AxisNames b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

// Returns the value that a body sums over exactly these axes to return `value`; nullopt if it does
// not.
std::optional<ValueId> summand(const Function& body, ValueId value, const AxisNames& axes) {
  for (const Op& op : body.ops) {
    if (op.results.empty() || op.results[0] != value) continue;
    if (op.def != &ops::all_reduce_op) return std::nullopt;
    const auto& p = op.params.as<ops::AllReduceParams>();
    if (p.kind != ReduceKind::kSum || !p.groups.empty() || !same_axes(p.axes, axes))
      return std::nullopt;
    return op.operands[0];
  }
  return std::nullopt;
}

// Returns the ops of `f` that read `value`, each as often as it reads it.
std::vector<size_t> readers(const Function& f, ValueId value) {
  std::vector<size_t> out;
  for (size_t k = 0; k < f.ops.size(); ++k)
    out.insert(
        out.end(),
        static_cast<size_t>(std::count(f.ops[k].operands.begin(), f.ops[k].operands.end(), value)),
        k);
  return out;
}

const Op* producer(const Function& f, ValueId value) {
  for (const Op& op : f.ops)
    if (std::find(op.results.begin(), op.results.end(), value) != op.results.end()) return &op;
  return nullptr;
}

// Returns whether `value` is true exactly on the first device along these axes.
bool is_first_device(const Function& f, ValueId value, const AxisNames& axes) {
  const Op* op = producer(f, value);
  if (op && op->def == &ops::broadcast_in_dim_op) op = producer(f, op->operands[0]);
  if (!op || op->def != &ops::compare_op) return false;
  const Op* index = producer(f, op->operands[0]);
  return index && index->def == &ops::axis_index_op &&
         same_axes(index->params.as<ops::AxisIndexParams>().axes, axes);
}

PartitionSpec with_leading(const PartitionSpec& spec, const AxisNames& axes, int64_t rank) {
  std::vector<AxisRef> refs;
  for (const std::string& axis : axes) refs.push_back({.name = axis});
  std::vector<DimSpec> dims{DimSpec(std::move(refs))};
  for (int64_t d = 0; d < rank; ++d)
    dims.push_back(d < spec.rank() ? spec.dim(d) : DimSpec(std::vector<AxisRef>{}));
  return PartitionSpec(std::move(dims));
}

}  // namespace

int64_t size_of(const Mesh& mesh, const AxisNames& axes) {
  int64_t size = 1;
  for (const std::string& axis : axes) size *= mesh.axis_size(axis);
  return size;
}

NamedSharding with_leading(const NamedSharding& sharding, const AxisNames& axes) {
  return NamedSharding(sharding.mesh(),
                       with_leading(sharding.spec(), axes, sharding.spec().rank()));
}

bool take_summands(Function& main, size_t i, const AxisNames& axes) {
  const ValueId argument = main.inputs[i];
  const std::vector<size_t> users = readers(main, argument);
  if (users.size() != 1 || std::count(main.outputs.begin(), main.outputs.end(), argument) > 0)
    return false;
  Op& op = main.ops[users[0]];
  if (op.def != &ops::manual_computation_op) return false;
  const auto k = static_cast<size_t>(std::find(op.operands.begin(), op.operands.end(), argument) -
                                     op.operands.begin());
  auto p = op.params.as<ops::ManualComputationParams>();
  Function body = *p.body;
  const ValueId input = body.inputs[k];
  const std::vector<size_t> masks = readers(body, input);
  if (masks.size() != 1 || body.ops[masks[0]].def != &ops::select_op ||
      body.ops[masks[0]].operands[1] != input ||
      !is_first_device(body, body.ops[masks[0]].operands[0], axes))
    return false;
  // Replaces the mask by a reshape of what the device holds.
  ir::Type& own = body.types[static_cast<size_t>(input)];
  Op& mask = body.ops[masks[0]];
  mask = Op{.def = &ops::reshape_op,
            .params = ops::ReshapeParams{own.shape},
            .operands = {input},
            .results = mask.results,
            .source = mask.source};
  own.shape.insert(own.shape.begin(), 1);
  own.varying = ir::axis_union(own.varying, body.type(mask.results[0]).varying);
  ir::Type& type = main.types[static_cast<size_t>(argument)];
  p.in_specs[k] = with_leading(p.in_specs[k], axes, type.shape.rank());
  type.shape.insert(type.shape.begin(), size_of(p.mesh, axes));
  p.body = std::make_shared<const Function>(std::move(body));
  op.params = p;
  return true;
}

AxisNames unnamed_axes_of_callbacks(const Function& main, size_t r) {
  const Returned found = find_manual(main, r);
  if (!found.op) return {};
  const auto& p = main.ops[*found.op].params.as<ops::ManualComputationParams>();
  if (!depends_on_callback(*p.body, p.body->outputs[found.result])) return {};
  const AxisNames named = ops::axes_of(p.out_specs[found.result]);
  AxisNames out;
  for (const std::string& axis : p.mesh.axis_names())
    if (std::find(p.manual_axes.begin(), p.manual_axes.end(), axis) != p.manual_axes.end() &&
        std::find(named.begin(), named.end(), axis) == named.end() && p.mesh.axis_size(axis) > 1)
      out.push_back(axis);
  return out;
}

bool return_summands(Function& main, size_t r, const AxisNames& axes) {
  const Returned found = find_manual(main, r);
  if (!found.op || !read_once(main, main.outputs[r])) return false;
  Op& op = main.ops[*found.op];
  auto p = op.params.as<ops::ManualComputationParams>();
  const std::optional<ValueId> part = summand(*p.body, p.body->outputs[found.result], axes);
  if (!part) return false;
  Function body = *p.body;
  ir::Type own = body.type(*part);
  own.shape.insert(own.shape.begin(), 1);
  own.sharding = nullptr;
  body.outputs[found.result] =
      body.add_op(ops::reshape_op, ops::ReshapeParams{own.shape}, {*part}, {&own, 1})[0];
  ir::Type& type = main.types[static_cast<size_t>(main.outputs[r])];
  p.out_specs[found.result] = with_leading(p.out_specs[found.result], axes, type.shape.rank());
  type.shape.insert(type.shape.begin(), size_of(p.mesh, axes));
  type.sharding = nullptr;
  p.body = std::make_shared<const Function>(std::move(body));
  op.params = p;
  return true;
}

}  // namespace tessera::plugin
