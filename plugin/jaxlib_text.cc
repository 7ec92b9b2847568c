#include "plugin/jaxlib_text.h"

#include <fmt/format.h>

#include <unordered_map>
#include <utility>

#include "tessera/control/control.h"
#include "tessera/interchange/programs/map_regions.h"
#include "tessera/ir/append_ops.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/control/ffi_target.h"
#include "tessera/ops/core/inspect_sharding.h"

namespace tessera::plugin {
namespace {

ir::OpParams call_by_name(const ir::Op& op, const ir::Function& f) {
  ops::FfiCallParams params{.target = fmt::format("{}.{}", op.def->dialect, op.def->name)};
  for (ir::ValueId result : op.results) {
    const ir::Type& type = f.type(result);
    params.dtypes.push_back(fmt::format("{}", type.dtype));
    params.shapes.emplace_back(type.shape.begin(), type.shape.end());
  }
  return params;
}

// Returns whether JAX asked for the call to be inlined early, by jit(..., inline=Inline.XLA_EARLY).
bool is_inlined_early(const ir::Op& op) {
  if (op.def != &ops::call_op) return false;
  const auto& attributes = op.params.as<ops::CallParams>().frontend_attributes;
  for (size_t i = 0; i + 1 < attributes.size(); i += 2)
    if (attributes[i] == "inlineable" && attributes[i + 1] == "xla_early") return true;
  return false;
}

// Adds the ops of the function that is called, and returns the values of the results.
ir::ValueIds inlined(const ir::Op& call, ir::Function& out) {
  const ir::Function callee = without_foreign_ops(*call.params.as<ops::CallParams>().callee);
  return ir::append_ops(callee, call.operands, [&](const ir::Op& op, const ir::ValueIds& operands) {
    ir::Op copy = ir::copy_of(op, op.params, operands);
    for (ir::ValueId result : op.results)
      copy.results.push_back(out.add_value(callee.type(result)));
    out.ops.push_back(copy);
    return copy.results;
  });
}

}  // namespace

ir::Function without_foreign_ops(const ir::Function& function) {
  ir::Function out = function;
  out.ops.clear();
  std::unordered_map<ir::ValueId, ir::ValueId> same;  // results of ops that are left out
  const auto rename = [&](ir::ValueId& value) {
    if (const auto found = same.find(value); found != same.end()) value = found->second;
  };
  for (ir::Op op : function.ops) {
    for (ir::ValueId& operand : op.operands) rename(operand);
    if (op.def == &ops::sharding_constraint_op || ops::is_about_sharding(op)) {
      same[op.results[0]] = op.operands[0];
      continue;
    }
    if (is_inlined_early(op)) {
      const ir::ValueIds results = inlined(op, out);
      for (size_t r = 0; r < results.size(); ++r) same[op.results[r]] = results[r];
      continue;
    }
    op.params = interchange::map_regions(op, without_foreign_ops);
    if (op.def == &ops::all_to_all_op && op.operands.size() > 1) {
      for (size_t i = 0; i < op.operands.size(); ++i) {
        ir::Op one = op;
        one.operands = {op.operands[i]};
        one.results = {op.results[i]};
        out.ops.push_back(std::move(one));
      }
      continue;
    }
    if (op.def->dialect == "chlo") {
      op.params = call_by_name(op, function);
      op.def = &ops::ffi_call_op;
    }
    out.ops.push_back(std::move(op));
  }
  for (ir::ValueId& output : out.outputs) rename(output);
  return out;
}

}  // namespace tessera::plugin
