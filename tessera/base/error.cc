#include "tessera/base/error.h"

#include "tessera/base/format.h"

namespace tessera {

void throw_user_error(ErrorKind kind, std::string_view op, std::string_view message) {
  throw UserError(kind, fmt::format("[{}] {}", op, message));
}

namespace internal {

void check_failed(const char* condition, const char* file, int line, const std::string& detail) {
  throw InternalError(fmt::format("{}:{}: a guarantee of Tessera does not hold: {} {}", file, line,
                                  condition, detail));
}

}  // namespace internal
}  // namespace tessera
