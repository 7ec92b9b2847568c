// The three kinds of errors:
//   UserError      the caller made a mistake; the text is `[op]` expected, got, remedy. Nothing has
//                  changed when it is thrown.
//   RuntimeError   something outside of the program failed: a file, memory, another process.
//   InternalError  something happened that cannot happen, as TESSERA_CHECK (base/format.h) says:
//                  a bug in Tessera.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tessera {

enum class ErrorKind : uint8_t { kType, kShape, kSharding, kValue, kTrace, kParse, kIo };

// A mistake of the caller. what() reads "[op] expected ..., got ...; remedy".
class UserError : public std::runtime_error {
 public:
  UserError(ErrorKind kind, const std::string& message)
      : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// A failure outside of the program: of files, memory or other processes.
class RuntimeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A broken invariant of Tessera itself.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Throws UserError("[op] message"). Source files use the overload with a format string in
// base/format.h.
[[noreturn]] void throw_user_error(ErrorKind kind, std::string_view op, std::string_view message);

namespace internal {
[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               const std::string& detail);
}

}  // namespace tessera
