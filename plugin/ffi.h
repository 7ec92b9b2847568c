// Users' native functions (docs/ffi.md): handlers of XLA's FFI, registered by an extension of the C
// API or, if that does not suffice, by ctypes from Python (jax_plugins.tessera.ffi).
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugin/pjrt.h"
#include "xla/pjrt/c/pjrt_c_api_ffi_extension.h"

namespace tessera::plugin {

PJRT_FFI_Extension make_ffi_extension(PJRT_Extension_Base* next);

}  // namespace tessera::plugin

extern "C" {

// Registers the handlers of a target, one for each stage; all except `execute` may be null.
// `for_cpu` is nonzero if they were registered for JAX's platform cpu. Returns 0, or another number
// if it failed; then `error` contains a text of at most `capacity` bytes, including the 0 at its
// end.
__attribute__((visibility("default"))) int tessera_register_ffi_handlers(
    const char* name, void* instantiate, void* prepare, void* initialize, void* execute,
    int for_cpu, char* error, size_t capacity);
// Registers the type of a state. `type_id` and `type_info` have the types of XLA's FFI: the number,
// which is set if it is 0, and the deleter. `type_info` may be null.
__attribute__((visibility("default"))) int tessera_register_ffi_type(const char* name,
                                                                     void* type_id, void* type_info,
                                                                     char* error, size_t capacity);

}  // extern "C"
