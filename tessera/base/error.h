// Errors. Three different things:
//   UserError      the caller's mistake: `[op]` expected, got, remedy. Nothing has changed when it
//                  is thrown.
//   RuntimeError   the world's: a file, memory, a broken cache.
//   InternalError  what cannot happen, stated by TESSERA_CHECK (base/format.h): a bug in Tessera.
#pragma once

#include <cstdint>
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

// Throws UserError("[op] message"). Source files say it with a format string: base/format.h.
[[noreturn]] void throw_user_error(ErrorKind kind, std::string_view op, std::string_view message);

namespace internal {
[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               const std::string& detail);
}

}  // namespace tessera
