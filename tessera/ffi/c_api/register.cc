// Implements register_handlers() of ffi.h, which makes a handler a target that programs call by
// name.
#include <map>
#include <mutex>

#include "tessera/base/fork.h"
#include "tessera/base/format.h"
#include "tessera/ffi/c_api/handler_target.h"
#include "tessera/ffi/ffi.h"

namespace tessera::ffi {
namespace {

struct Handlers {
  ForkSafeMutex mutex;
  std::map<std::pair<std::string, Platform>, HandlerBundle> all;
};

Handlers& handlers_by_name() {
  static Handlers& all = *new Handlers;
  return all;
}

}  // namespace

void register_handlers(const std::string& name, const HandlerBundle& handlers, Platform platform) {
  if (name.empty())
    value_error("register_handlers", "expected the name of a target, got an empty one");
  if (!handlers.execute)
    value_error("register_handlers",
                "expected a handler of '{}' for the stage execute, got none; register it with "
                "those of the other stages",
                name);
  for (Handler* handler :
       {handlers.instantiate, handlers.prepare, handlers.initialize, handlers.execute})
    if (handler) expect_known_version(name, handler);
  Handlers& known = handlers_by_name();
  const std::lock_guard lock(known.mutex);
  const auto [at, added] = known.all.emplace(std::pair(name, platform), handlers);
  if (!added && at->second != handlers)
    value_error("register_handlers",
                "expected a target that is not registered yet, or the same handlers, got other "
                "ones for '{}'; give one of the two another name",
                name);
  if (platform == Platform::kTessera || known.all.count({name, Platform::kTessera}) == 0)
    ops::set_ffi_target(name, make_handler_target(name, handlers));
}

}  // namespace tessera::ffi
