// Functions of Python that programs call (jax_plugins.tessera.callbacks): numbers of host functions
// (tessera/ops/control/host_callback.h) by ctypes, beside the C API of PJRT, which has no place for them.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// `key` is what the function was added with; `in` and `out` are dense arrays in row-major order. Not 0:
// it failed, and `error` holds a text that ends with 0 within `capacity` bytes.
using TesseraCallback = int (*)(int64_t key, const void* const* in, void* const* out, char* error,
                                size_t capacity);

__attribute__((visibility("default"))) int64_t tessera_add_callback(TesseraCallback function,
                                                                    int64_t key);
__attribute__((visibility("default"))) void tessera_remove_callback(int64_t number);

}  // extern "C"
