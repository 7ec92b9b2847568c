#include "plugin/inspect_sharding.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "plugin/error.h"
#include "plugin/op_sharding.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/control/custom_partitioning.h"
#include "tessera/ops/core/inspect_sharding.h"

namespace tessera::plugin {
namespace {

// The argument of jaxlib's function: the C struct of XLA's inspect_sharding.h.
struct Call {
  const char* sharding = nullptr;
  size_t sharding_size = 0;
  const char* error = nullptr;  // set by the function
  void* scratch = nullptr;
  void (*free_error)(Call*) = nullptr;
};
using Inspector = void (*)(void* data, Call* call);

void inspect(const ops::InspectShardingParams& params, const ir::Type& type) {
  const std::string sharding =
      type.sharding ? to_op_sharding(*type.sharding, type.rank()) : std::string();
  Call call{.sharding = sharding.data(), .sharding_size = sharding.size()};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): jaxlib writes pointers into the program.
  reinterpret_cast<Inspector>(params.function)(reinterpret_cast<void*>(params.data), &call);
  if (!call.error) return;
  const std::string error = call.error;
  if (call.free_error) call.free_error(&call);
  invalid(fmt::format(
      "[inspect_array_sharding] expected the callback to return, got its error: {}; correct the "
      "callback",
      error));
}

}  // namespace

void inspect_shardings(const ir::Function& f) {
  for (const ir::Op& op : f.ops) {
    if (const ops::InspectShardingParams* params = ops::inspect_sharding_of(op))
      inspect(*params, f.type(op.operands[0]));
    for (const ir::FunctionRef& region : control_regions(op)) inspect_shardings(*region);
  }
}

bool asks_this_process(const ir::Function& f) {
  return std::ranges::any_of(f.ops, [](const ir::Op& op) {
    if (ops::inspect_sharding_of(op) || ops::custom_partitioning_of(op)) return true;
    for (const ir::Attribute& field : op.params.fields()) {
      if (const auto* one = std::get_if<ir::FunctionRef>(&field); one && *one)
        if (asks_this_process(**one)) return true;
      if (const auto* many = std::get_if<std::vector<ir::FunctionRef>>(&field))
        for (const ir::FunctionRef& inner : *many)
          if (inner && asks_this_process(*inner)) return true;
    }
    return false;
  });
}

}  // namespace tessera::plugin
