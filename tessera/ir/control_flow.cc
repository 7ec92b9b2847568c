#include "tessera/ir/control_flow.h"

#include <algorithm>

#include "tessera/ir/op_def.h"

namespace tessera::ir {

bool is_control_flow(const Op& op) { return static_cast<bool>(op.def->regions); }

ControlFlow control_flow_of(const Op& op) {
  TESSERA_CHECK(is_control_flow(op), "{} is no loop and no branch", op.def->name);
  return op.def->regions.read(op.params);
}

OpParams with_control_flow(const Op& op, const ControlFlow& flow) {
  TESSERA_CHECK(is_control_flow(op), "{} is no loop and no branch", op.def->name);
  return op.def->regions.write(op.params, flow);
}

std::vector<FunctionRef> control_regions(const Op& op) {
  if (!is_control_flow(op)) return {};
  return control_flow_of(op).regions;
}

OpParams with_control_regions(const Op& op, std::vector<FunctionRef> regions) {
  ControlFlow flow = control_flow_of(op);
  TESSERA_CHECK(flow.regions.size() == regions.size(), "{}: {} regions for {}", op.def->name,
                regions.size(), flow.regions.size());
  flow.regions = std::move(regions);
  return with_control_flow(op, flow);
}

OpParams map_control_regions(const Op& op,
                             const std::function<Function(const Function&)>& rewrite) {
  if (!is_control_flow(op)) return op.params;
  ControlFlow flow = control_flow_of(op);
  for (FunctionRef& region : flow.regions)
    region = std::make_shared<const Function>(rewrite(*region));
  return with_control_flow(op, flow);
}

FunctionRef callee_of(const Op& op) {
  const auto* inlined = std::get_if<Inlined>(&op.def->lower);
  return inlined ? inlined->callee(op.params) : nullptr;
}

bool holds_within(const Op& op, const std::function<bool(const Op&)>& predicate) {
  if (predicate(op)) return true;
  const auto inside = [&](const Function& f) {
    return std::any_of(f.ops.begin(), f.ops.end(),
                       [&](const Op& inner) { return holds_within(inner, predicate); });
  };
  // An op that can be transposed is not a call yet, so its callee must not be requested.
  if (std::holds_alternative<Inlined>(op.def->lower) && !op.def->transpose) {
    const FunctionRef callee = callee_of(op);
    return callee && inside(*callee);
  }
  if (is_control_flow(op)) {
    const std::vector<FunctionRef> regions = control_regions(op);
    return std::any_of(regions.begin(), regions.end(), [&](const auto& f) { return inside(*f); });
  }
  if (std::holds_alternative<ManualRegion>(op.def->lower))
    for (const Attribute& field : op.params.fields())
      if (const auto* body = std::get_if<FunctionRef>(&field)) return inside(**body);
  return false;
}

bool has_effect(const Op& op) {
  return holds_within(op, [](const Op& inner) { return inner.def->effect; });
}

}  // namespace tessera::ir
