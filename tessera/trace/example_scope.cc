#include "tessera/trace/example_scope.h"

namespace tessera::tracing {

thread_local bool ExampleScope::active_ = false;

}  // namespace tessera::tracing
