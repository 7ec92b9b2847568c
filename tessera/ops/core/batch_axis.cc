#include "tessera/ops/core/batch_axis.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/ir/op_def.h"

namespace tessera::ops {
namespace {

thread_local const BatchAxis* innermost = nullptr;

bool names_axis(const Function& function, const std::string& axis);

bool names_axis(const Op& op, const std::string& axis) {
  const bool region = !is_computed(op.def->lower);
  if (!region && !std::holds_alternative<CollectiveLowering>(op.def->lower)) return false;
  for (const Attribute& field : op.params.fields()) {
    if (const auto* axes = std::get_if<std::vector<std::string>>(&field)) {
      if (!region && std::find(axes->begin(), axes->end(), axis) != axes->end()) return true;
    } else if (const auto* body = std::get_if<FunctionRef>(&field)) {
      if (*body && names_axis(**body, axis)) return true;
    } else if (const auto* bodies = std::get_if<std::vector<FunctionRef>>(&field)) {
      for (const FunctionRef& each : *bodies)
        if (names_axis(*each, axis)) return true;
    }
  }
  return false;
}
bool names_axis(const Function& function, const std::string& axis) {
  return std::any_of(function.ops.begin(), function.ops.end(),
                     [&](const Op& op) { return names_axis(op, axis); });
}

}  // namespace

bool names_batch_axis(const Op& op) {
  const std::string& name = BatchAxis::current().name;
  return !name.empty() && names_axis(op, name);
}
bool names_batch_axis(const Function& function) {
  const std::string& name = BatchAxis::current().name;
  return !name.empty() && names_axis(function, name);
}

const BatchAxis& BatchAxis::current() {
  TESSERA_CHECK(innermost != nullptr, "a batching rule outside of vmap");
  return *innermost;
}

const BatchAxis* BatchAxis::current_if_any() { return innermost; }

BatchAxis::Scope::Scope(BatchAxis axis) : saved_(innermost), axis_(std::move(axis)) {
  innermost = &axis_;
}
BatchAxis::Scope::~Scope() { innermost = saved_; }

}  // namespace tessera::ops
