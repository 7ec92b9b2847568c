// Formatted text by fmt: error messages, checks, and the formatters of the values of base/. Only
// source files and the library's own headers include it; headers for users avoid fmt, which takes
// longer to compile than all of these headers. mesh/format.h and ir/format.h add the values of
// those folders; tessera/format.h is for users who print with fmt themselves.
#pragma once

#include <fmt/format.h>

#include <ostream>
#include <string_view>

#include "tessera/base/dtype.h"
#include "tessera/base/error.h"
#include "tessera/base/shape.h"

namespace tessera {
namespace internal {

// The templates below call these functions, so that each use compiles to a list of its arguments
// and one call.
[[noreturn, gnu::cold]] void vfail(ErrorKind kind, std::string_view op, fmt::string_view text,
                                   fmt::format_args args);
[[noreturn, gnu::cold]] void vcheck_failed(const char* condition, const char* file, int line,
                                           fmt::string_view text, fmt::format_args args);

template <class... Args>
[[noreturn]] void fail_check(const char* condition, const char* file, int line,
                             fmt::format_string<Args...> text, const Args&... args) {
  vcheck_failed(condition, file, line, text, fmt::make_format_args(args...));
}

}  // namespace internal

// Throws UserError("[op] message"). The compiler checks the format string against the arguments.
template <class... Args>
[[noreturn]] void fail(ErrorKind kind, std::string_view op, fmt::format_string<Args...> text,
                       const Args&... args) {
  internal::vfail(kind, op, text, fmt::make_format_args(args...));
}
template <class... Args>
[[noreturn]] void type_error(std::string_view op, fmt::format_string<Args...> text,
                             const Args&... args) {
  internal::vfail(ErrorKind::kType, op, text, fmt::make_format_args(args...));
}
template <class... Args>
[[noreturn]] void shape_error(std::string_view op, fmt::format_string<Args...> text,
                              const Args&... args) {
  internal::vfail(ErrorKind::kShape, op, text, fmt::make_format_args(args...));
}
template <class... Args>
[[noreturn]] void sharding_error(std::string_view op, fmt::format_string<Args...> text,
                                 const Args&... args) {
  internal::vfail(ErrorKind::kSharding, op, text, fmt::make_format_args(args...));
}
template <class... Args>
[[noreturn]] void value_error(std::string_view op, fmt::format_string<Args...> text,
                              const Args&... args) {
  internal::vfail(ErrorKind::kValue, op, text, fmt::make_format_args(args...));
}
template <class... Args>
[[noreturn]] void trace_error(std::string_view op, fmt::format_string<Args...> text,
                              const Args&... args) {
  internal::vfail(ErrorKind::kTrace, op, text, fmt::make_format_args(args...));
}
template <class... Args>
[[noreturn]] void io_error(std::string_view op, fmt::format_string<Args...> text,
                           const Args&... args) {
  internal::vfail(ErrorKind::kIo, op, text, fmt::make_format_args(args...));
}

}  // namespace tessera

// Checks an invariant of Tessera itself; it is always on. An fmt message may follow the condition.
#define TESSERA_CHECK(condition, ...) \
  (static_cast<bool>(condition)       \
       ? void()                       \
       : ::tessera::internal::fail_check(#condition, __FILE__, __LINE__, "" __VA_ARGS__))

namespace tessera::internal {

// Returns what `print` writes to a stream. One function serves all types, because a template would
// be compiled in every file that prints a value.
fmt::appender write_streamed(fmt::format_context& context, const void* value,
                             void (*print)(std::ostream& out, const void* value));

// A formatter of values that have operator<<. It accepts `{}` alone, without width or precision.
template <class T>
struct StreamedFormatter {
  constexpr const char* parse(fmt::format_parse_context& context) const { return context.begin(); }
  fmt::appender format(const T& value, fmt::format_context& context) const {
    return write_streamed(context, &value, [](std::ostream& out, const void* x) {
      out << *static_cast<const T*>(x);
    });
  }
};

}  // namespace tessera::internal

template <>
struct fmt::formatter<tessera::DType> : tessera::internal::StreamedFormatter<tessera::DType> {};
template <>
struct fmt::formatter<tessera::Dims> : tessera::internal::StreamedFormatter<tessera::Dims> {};
