// Replaces c_api/ if the header of PJRT's C API was not found at build time.
#include "tessera/engine/client.h"
#include "tessera/ir/format.h"

namespace tessera::engine {

ClientRef open_client(const std::string& path, const std::map<std::string, std::string>&) {
  value_error("initialize",
              "expected a Tessera that was built where the header of PJRT's C API is, got one that "
              "was not, and the devices of '{}'; run plugin/setup, and build again",
              path);
}

}  // namespace tessera::engine
