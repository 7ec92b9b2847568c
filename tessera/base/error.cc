#include "tessera/base/error.h"

#include <algorithm>
#include <ios>
#include <sstream>

#include "tessera/base/error_calls.h"
#include "tessera/base/format.h"

namespace tessera {

void throw_user_error(ErrorKind kind, std::string_view op, std::string_view message) {
  // Errors in files and texts name what reads them, and a name with its module was chosen.
  const bool is_chosen = kind == ErrorKind::kIo || kind == ErrorKind::kParse ||
                         op.find_first_of(".:") != std::string_view::npos;
  const std::string called = is_chosen ? std::string() : internal::called_function();
  const std::string text = fmt::format("[{}] {}", called.empty() ? op : called, message);
  internal::ErrorCalls::note(text);
  throw UserError(kind, text);
}

namespace internal {

void vfail(ErrorKind kind, std::string_view op, fmt::string_view text, fmt::format_args args) {
  throw_user_error(kind, op, fmt::vformat(text, args));
}

void check_failed(const char* condition, const char* file, int line, const std::string& detail) {
  throw InternalError(fmt::format("{}:{}: a guarantee of Tessera does not hold: {} {}", file, line,
                                  condition, detail));
}

void vcheck_failed(const char* condition, const char* file, int line, fmt::string_view text,
                   fmt::format_args args) {
  check_failed(condition, file, line, fmt::vformat(text, args));
}

fmt::appender write_streamed(fmt::format_context& context, const void* value,
                             void (*print)(std::ostream& out, const void* value)) {
  std::ostringstream out;
  out.exceptions(std::ios::failbit | std::ios::badbit);
  print(out, value);
  const std::string_view text = out.view();
  return std::copy(text.begin(), text.end(), context.out());
}

}  // namespace internal
}  // namespace tessera
