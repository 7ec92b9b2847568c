// ErrorCalls: which calls led to an error, for a caller that says so. An error is thrown deep inside
// the library; the line that a user wants to see is that of their own call of the op.
//
// Calls are noted only when an error is thrown, by walking the stack, so nothing else takes longer.
// codegen/call_place.h finds the file and line of one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::internal {

// While one lives, each throw_user_error() of its thread notes the calls between the throw and it.
class ErrorCalls {
 public:
  ErrorCalls();
  ~ErrorCalls();
  ErrorCalls(const ErrorCalls&) = delete;
  ErrorCalls& operator=(const ErrorCalls&) = delete;

  // Returns an address in the code of each of these calls, the innermost first, if the error with
  // this message was the last one; others may have added to the end of its message.
  std::span<const uintptr_t> of(std::string_view message) const;

  // Notes the calls for the innermost ErrorCalls of this thread, if there is one.
  static void note(const std::string& message);

 private:
  ErrorCalls* const around_;
  uintptr_t end_;  // of the stack that is walked
  std::string message_;
  std::vector<uintptr_t> calls_;
};

}  // namespace tessera::internal
