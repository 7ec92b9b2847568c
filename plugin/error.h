// Errors across the C interface: what a function of the plugin throws is returned as a PJRT_Error,
// which JAX raises again as its own exception.
#pragma once

#include <exception>
#include <string>

#include "plugin/pjrt.h"

namespace tessera::plugin {

// The content of an error; it has no payloads.
struct Failure {
  PJRT_Error_Code code = PJRT_Error_Code_OK;
  std::string message;
};

// INVALID_ARGUMENT is for mistakes of the caller, UNIMPLEMENTED for what Tessera does not support.
class ApiError : public std::exception {
 public:
  explicit ApiError(Failure failure) : failure_(std::move(failure)) {}
  const char* what() const noexcept override { return failure_.message.c_str(); }
  const Failure& failure() const { return failure_; }

 private:
  Failure failure_;
};

[[noreturn]] void unimplemented(const std::string& what);
[[noreturn]] void invalid(const std::string& message);

// Returns a PJRT_Error of this failure. The caller owns it; its function table can destroy it, too.
PJRT_Error* new_error(Failure failure);

// Returns the error that is being handled.
PJRT_Error* current_error();

// Runs f and returns null, or the error that it threw.
template <class F>
PJRT_Error* guarded(F&& f) {
  try {
    f();
    return nullptr;
  } catch (...) {
    return current_error();
  }
}

// Sets the functions of errors.
void add_errors(PJRT_Api& api);

}  // namespace tessera::plugin
