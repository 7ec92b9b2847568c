// Native functions of users (docs/ffi.md): handlers of XLA's FFI by the C API's extension, and, for
// what that lacks, by ctypes from Python (jax_plugins.tessera.ffi).
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugin/pjrt.h"
#include "xla/pjrt/c/pjrt_c_api_ffi_extension.h"

namespace tessera::plugin {

PJRT_FFI_Extension make_ffi_extension(PJRT_Extension_Base* next);

}  // namespace tessera::plugin

extern "C" {

// Registers the handlers of a target by stage, of which all but `execute` may be null; `for_cpu`
// says that they were registered for JAX's platform cpu. A result other than 0 means that it failed,
// and `error` contains text that ends with 0 within `capacity` bytes.
__attribute__((visibility("default"))) int tessera_register_ffi_handlers(
    const char* name, void* instantiate, void* prepare, void* initialize, void* execute,
    int for_cpu, char* error, size_t capacity);
// Registers the type of a state. `type_id` and `type_info` are of XLA's FFI: the number, which is set
// if it is 0, and the deleter; the latter may be null.
__attribute__((visibility("default"))) int tessera_register_ffi_type(const char* name,
                                                                     void* type_id, void* type_info,
                                                                     char* error, size_t capacity);

}  // extern "C"
