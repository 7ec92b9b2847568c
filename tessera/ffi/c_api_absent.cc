// Replaces c_api/ in a build without the headers of XLA's FFI.
#include "tessera/base/format.h"
#include "tessera/ffi/ffi.h"

namespace tessera::ffi {
namespace {

[[noreturn]] void no_headers(const std::string& name) {
  value_error("ffi",
              "expected a build with the headers of XLA's FFI, got '{}' in one without; run "
              "plugin/setup, then cmake again",
              name);
}

}  // namespace

void register_handlers(const std::string& name, const HandlerBundle&, Platform) {
  no_headers(name);
}

int64_t register_type(const std::string& name, int64_t, void (*)(void*)) { no_headers(name); }

}  // namespace tessera::ffi
