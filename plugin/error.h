// Errors across the C border: what a function of the plugin throws is returned as a PJRT_Error, which
// JAX raises again as its own exception.
#pragma once

#include <exception>
#include <string>

#include "plugin/pjrt.h"

namespace tessera::plugin {

// What an error says; it has no payloads.
struct Failure {
  PJRT_Error_Code code = PJRT_Error_Code_OK;
  std::string message;
};

// What the caller is to blame for is INVALID_ARGUMENT, what Tessera cannot do UNIMPLEMENTED.
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

// A PJRT_Error that says this. The caller owns it; its function table destroys it too.
PJRT_Error* new_error(Failure failure);

// The error that is being handled.
PJRT_Error* current_error();

// Runs f; null, or the error it threw.
template <class F>
PJRT_Error* guarded(F&& f) {
  try {
    f();
    return nullptr;
  } catch (...) {
    return current_error();
  }
}

// Fills in the functions of errors.
void add_errors(PJRT_Api& api);

}  // namespace tessera::plugin
