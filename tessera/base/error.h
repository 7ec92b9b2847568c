// Errors. Three different things:
//   UserError      the caller's mistake: `[op]` expected, got, remedy. Nothing has changed when it
//                  is thrown.
//   RuntimeError   the world's: a file, memory, a broken cache.
//   InternalError  what cannot happen, stated by TESSERA_CHECK: a bug in Tessera.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace tessera {

enum class ErrorKind : uint8_t { kType, kShape, kSharding, kValue, kTrace, kParse, kIo };

// The caller's mistake. what() reads "[op] expected ..., got ...; remedy".
class UserError : public std::runtime_error {
 public:
  UserError(ErrorKind kind, const std::string& message)
      : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// A failure of the surroundings (files, memory, other processes).
class RuntimeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A broken invariant of Tessera itself.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Throws UserError("[op] message").
template <class... Args>
[[noreturn]] void fail(ErrorKind kind, std::string_view op, fmt::format_string<Args...> text,
                       Args&&... args) {
  throw UserError(kind, fmt::format("[{}] {}", op, fmt::format(text, std::forward<Args>(args)...)));
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

namespace internal {
[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               const std::string& detail);
}

}  // namespace tessera

// Always on: states what Tessera itself guarantees. An optional fmt message follows the condition.
#define TESSERA_CHECK(condition, ...)                                      \
  (static_cast<bool>(condition)                                            \
       ? void()                                                            \
       : ::tessera::internal::check_failed(#condition, __FILE__, __LINE__, \
                                           ::fmt::format("" __VA_ARGS__)))
