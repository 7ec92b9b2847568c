// ErrorCalls: the calls that led to an error. An error is thrown deep inside the library, but the
// line that users want to see is the one in which they called the op, and the name that they want
// to see is that of the function they called.
//
// Calls are noted only when an error is thrown, by walking the stack, so programs without errors
// take no longer. codegen/call_place.h finds the file and line of a call.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::internal {

// While an ErrorCalls exists, each throw_user_error() of its thread notes the calls between the
// function that made the ErrorCalls and the throw.
class ErrorCalls {
 public:
  ErrorCalls();
  ~ErrorCalls();
  ErrorCalls(const ErrorCalls&) = delete;
  ErrorCalls& operator=(const ErrorCalls&) = delete;

  // Returns an address in the code of each of these calls, the innermost first. Returns none if the
  // last error had another message; text may have been added to the end of its message.
  std::span<const uintptr_t> of(std::string_view message) const;

  // Notes the calls for the innermost ErrorCalls of this thread, if there is one.
  static void note(const std::string& message);

 private:
  ErrorCalls* const around_;
  uintptr_t end_;  // the largest address of a frame that is noted
  std::string message_;
  std::vector<uintptr_t> calls_;
};

// Returns the name of the public function that the user's code called and that led to this call,
// such as `zeros`, although zeros() calls full(), which throws. Walks the stack up to the first
// function outside of this library. Returns an empty text if that function's callee is not public,
// is an operator or a member of a class, or is told the name for its errors as its first argument.
std::string called_function();

// Returns the name of a function in a form such as `tessera::lax::sin(tessera::Array const&)`, or
// an empty text as above. Only called_function() and its test use it.
std::string public_function(std::string_view signature);

}  // namespace tessera::internal
