// Errors across the C interface: an exception of a function of the plugin is returned as a
// PJRT_Error, which JAX raises again as an exception of its own.
#pragma once

#include <exception>
#include <string>

#include "plugin/pjrt.h"

namespace tessera::plugin {

// The content of an error. It has no payloads.
struct Failure {
  PJRT_Error_Code code = PJRT_Error_Code_OK;
  std::string message;
};

// An error of the API: INVALID_ARGUMENT for mistakes of the caller, UNIMPLEMENTED for what Tessera
// does not support.
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

// Returns a PJRT_Error of this failure. The caller owns it, and may destroy it by its function
// table.
PJRT_Error* new_error(Failure failure);

// Returns the exception that is being handled as an error.
PJRT_Error* current_error();

// Runs f. Returns null, or the error that f threw.
template <class F>
PJRT_Error* guarded(F&& f) {
  try {
    f();
    return nullptr;
  } catch (...) {
    return current_error();
  }
}

// Sets the functions for errors.
void add_errors(PJRT_Api& api);

}  // namespace tessera::plugin
