// Text by fmt's format strings: what errors say, checks, and how the values of base/ stand in them.
// For source files and the library's own headers: what users include does without fmt, which takes
// longer to compile than all they see of Tessera. mesh/format.h and ir/format.h add the values of
// those folders; tessera/format.h is for users who print with fmt themselves.
#pragma once

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <string_view>
#include <utility>

#include "tessera/base/dtype.h"
#include "tessera/base/error.h"
#include "tessera/base/shape.h"

namespace tessera {

// Throws UserError("[op] message").
template <class... Args>
[[noreturn]] void fail(ErrorKind kind, std::string_view op, fmt::format_string<Args...> text,
                       Args&&... args) {
  throw_user_error(kind, op, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
[[noreturn]] void type_error(std::string_view op, fmt::format_string<Args...> text,
                             Args&&... args) {
  fail(ErrorKind::kType, op, text, std::forward<Args>(args)...);
}
template <class... Args>
[[noreturn]] void shape_error(std::string_view op, fmt::format_string<Args...> text,
                              Args&&... args) {
  fail(ErrorKind::kShape, op, text, std::forward<Args>(args)...);
}
template <class... Args>
[[noreturn]] void sharding_error(std::string_view op, fmt::format_string<Args...> text,
                                 Args&&... args) {
  fail(ErrorKind::kSharding, op, text, std::forward<Args>(args)...);
}
template <class... Args>
[[noreturn]] void value_error(std::string_view op, fmt::format_string<Args...> text,
                              Args&&... args) {
  fail(ErrorKind::kValue, op, text, std::forward<Args>(args)...);
}
template <class... Args>
[[noreturn]] void trace_error(std::string_view op, fmt::format_string<Args...> text,
                              Args&&... args) {
  fail(ErrorKind::kTrace, op, text, std::forward<Args>(args)...);
}
template <class... Args>
[[noreturn]] void io_error(std::string_view op, fmt::format_string<Args...> text, Args&&... args) {
  fail(ErrorKind::kIo, op, text, std::forward<Args>(args)...);
}

}  // namespace tessera

// Always on: states what Tessera itself guarantees. An optional fmt message follows the condition.
#define TESSERA_CHECK(condition, ...)                                      \
  (static_cast<bool>(condition)                                            \
       ? void()                                                            \
       : ::tessera::internal::check_failed(#condition, __FILE__, __LINE__, \
                                           ::fmt::format("" __VA_ARGS__)))

template <>
struct fmt::formatter<tessera::DType> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<tessera::Dims> : fmt::ostream_formatter {};
