// The location of a call in the user's source: std::source_location for compilers that do not have
// it yet (clang 14).
#pragma once

#include <cstdint>

namespace tessera {

// As a default argument, `SourceLocation where = SourceLocation::current()` is the location of the
// call.
class SourceLocation {
 public:
  constexpr SourceLocation() = default;
  static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                          uint32_t line = __builtin_LINE()) {
    SourceLocation out;
    out.file_ = file;
    out.line_ = line;
    return out;
  }
  constexpr const char* file_name() const { return file_; }
  // 0 means unknown
  constexpr uint32_t line() const { return line_; }

 private:
  const char* file_ = "";
  uint32_t line_ = 0;
};

}  // namespace tessera
