// Functions of Python that programs call (jax_plugins.tessera.callbacks). Python registers host
// functions (tessera/ops/control/host_callback.h) by ctypes; this is not part of the C API of PJRT.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// `key` is the one that the function was added with; `in` and `out` are dense arrays in row-major
// order. A result other than 0 means that it failed, and `error` contains text that ends with 0
// within `capacity` bytes.
using TesseraCallback = int (*)(int64_t key, const void* const* in, void* const* out, char* error,
                                size_t capacity);

__attribute__((visibility("default"))) int64_t tessera_add_callback(TesseraCallback function,
                                                                    int64_t key);
__attribute__((visibility("default"))) void tessera_remove_callback(int64_t number);

}  // extern "C"
