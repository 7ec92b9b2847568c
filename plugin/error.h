// Errors across the C border: what a function of the plugin throws is returned as a PJRT_Error, which
// JAX raises again as its own exception.
#pragma once

#include <exception>
#include <string>

#include "plugin/pjrt.h"

struct PJRT_Error {
  PJRT_Error_Code code;
  std::string message;
};

namespace tessera::plugin {

// What the caller is to blame for is INVALID_ARGUMENT, what Tessera cannot do UNIMPLEMENTED.
class ApiError : public std::exception {
 public:
  ApiError(PJRT_Error_Code code, std::string message) : code_(code), message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  PJRT_Error_Code code() const { return code_; }

 private:
  PJRT_Error_Code code_;
  std::string message_;
};

[[noreturn]] void unimplemented(const std::string& what);
[[noreturn]] void invalid(const std::string& message);

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

}  // namespace tessera::plugin
