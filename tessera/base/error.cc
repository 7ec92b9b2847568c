#include "tessera/base/error.h"

namespace tessera::internal {

void check_failed(const char* condition, const char* file, int line, const std::string& detail) {
  throw InternalError(fmt::format("{}:{}: a guarantee of Tessera does not hold: {} {}", file, line,
                                  condition, detail));
}

}  // namespace tessera::internal
