#include "plugin/struct_size.h"

#include <fmt/format.h>

#include "plugin/error.h"

namespace tessera::plugin {

PJRT_Error* struct_too_small(const char* name, size_t needed, size_t got) {
  return guarded([&] {
    invalid(
        fmt::format("[tessera] expected {}_Args of at least {} bytes, got {}; use jaxlib 0.8 or "
                    "later",
                    name, needed, got));
  });
}

}  // namespace tessera::plugin
