// Handlers of XLA's FFI as targets of lax::ffi_call (ops/control/ffi_call.h): functions of a stable C
// interface, that users write with the headers that jaxlib brings (jax.ffi.include_dir()).
//
// Handlers are built apart, and their library may be loaded at any time. This file needs no header
// of XLA; a build without these headers, which plugin/setup fetches, says so when a handler is
// registered. What a handler can ask for is in docs/ffi.md.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/base/error.h"

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

// kCpu is for handlers that were registered for XLA's CPU backend: one for kTessera of the same name
// comes before it, in any order of registration.
enum class Platform : uint8_t { kTessera, kCpu };

// Makes the handlers the target of that name, for programs that are compiled from now on. The same
// ones may be registered again. Throws UserError for other ones, for handlers of a version of the
// interface that is not known here, and where `execute` is null.
void register_handlers(const std::string& name, const HandlerBundle& handlers,
                       Platform platform = Platform::kTessera);
inline void register_handler(const std::string& name, Handler* handler) {
  register_handlers(name, {.execute = handler});
}

// Registers the type of the state of handlers, and returns its number: `id` if that is not 0,
// otherwise one that no other type has. The deleter, which may be null, destroys such a state.
// Throws UserError if the name has another number, or the number another name.
int64_t register_type(const std::string& name, int64_t id, void (*deleter)(void*));

// What a handler that returns an error becomes: the run ends with it.
class HandlerError : public RuntimeError {
 public:
  HandlerError(int code, const std::string& text) : RuntimeError(text), code_(code) {}
  // Returns the XLA_FFI_Error_Code, whose numbers are those of absl::StatusCode.
  int code() const { return code_; }

 private:
  int code_;
};

}  // namespace tessera::ffi
