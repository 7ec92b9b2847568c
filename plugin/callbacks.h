// Python functions that programs call (jax_plugins.tessera.callbacks). Python registers them as
// host functions (tessera/ops/control/host_callback.h) by ctypes. This is not part of PJRT's C API.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// `key` is that with which the function was added; `in` and `out` are dense arrays in row-major
// order. The function returns 0, or another number if it failed; then `error` contains a text of at
// most `capacity` bytes, including the 0 at its end.
using TesseraCallback = int (*)(int64_t key, const void* const* in, void* const* out, char* error,
                                size_t capacity);

__attribute__((visibility("default"))) int64_t tessera_add_callback(TesseraCallback function,
                                                                    int64_t key);
__attribute__((visibility("default"))) void tessera_remove_callback(int64_t number);

}  // extern "C"
