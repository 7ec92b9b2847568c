// Handlers of XLA's FFI as targets of lax::ffi_call (ops/control/ffi_call.h): functions with a
// stable C interface that users write with the headers of jaxlib (jax.ffi.include_dir()).
//
// Handlers are compiled separately, and their library may be loaded at any time. This file needs no
// header of XLA. A build without these headers, which plugin/setup fetches, throws an error when a
// handler is registered. docs/ffi.md lists what a handler can ask for.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/base/error.h"
#include "tessera/ops/control/ffi_call.h"

struct XLA_FFI_CallFrame;
struct XLA_FFI_Error;

namespace tessera::ffi {

// XLA_FFI_Handler of xla/ffi/api/c_api.h.
using Handler = ::XLA_FFI_Error*(::XLA_FFI_CallFrame*);

// The handlers of a target by stage. `instantiate` is called once for each call in a program, when
// it is compiled, the others in this order each time the call runs. All but `execute` may be null.
struct HandlerBundle {
  Handler* instantiate = nullptr;
  Handler* prepare = nullptr;
  Handler* initialize = nullptr;
  Handler* execute = nullptr;
  friend bool operator==(const HandlerBundle&, const HandlerBundle&) = default;
};

// kCpu is for handlers that were registered for XLA's CPU backend. A kTessera handler of the same
// name takes precedence, in whatever order both are registered.
enum class Platform : uint8_t { kTessera, kCpu };

// Makes the handlers the target of that name, for programs that are compiled from now on. The same
// handlers may be registered again. Throws UserError for different ones, for handlers of a version
// of the interface that this host does not have, and if `execute` is null.
void register_handlers(const std::string& name, const HandlerBundle& handlers,
                       Platform platform = Platform::kTessera);
inline void register_handler(const std::string& name, Handler* handler) {
  register_handlers(name, {.execute = handler});
}

// Registers the type of a handlers' state, and returns its number: `id` if that is not 0, otherwise
// one that no other type has. The deleter, which may be null, destroys a state of this type. Throws
// UserError if the name has another number, or the number another name.
int64_t register_type(const std::string& name, int64_t id, void (*deleter)(void*));

// Thrown from a run in which a handler returned an error. It ends the run.
class HandlerError : public RuntimeError {
 public:
  HandlerError(int code, const std::string& text) : RuntimeError(text), code_(code) {}
  // Returns the XLA_FFI_Error_Code, whose numbers are those of absl::StatusCode.
  int code() const { return code_; }

 private:
  int code_;
};

}  // namespace tessera::ffi
