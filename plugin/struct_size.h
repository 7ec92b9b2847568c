// Supports callers with another version of the C API. The field struct_size of every struct of
// arguments is the size that its caller knows. Structs of an older caller end earlier: fields that
// they lack are zero for the function, and nothing after their end is written. Structs of a newer
// caller have more fields at their end, which are ignored. PJRT_ExecuteOptions, to which arguments
// point, is read only up to non_donatable_input_indices, which all versions have.
#pragma once

#include <cstddef>
#include <cstring>

#include "plugin/pjrt.h"

namespace tessera::plugin {

// Returns the error for a struct of arguments that ends before fields that the function needs.
PJRT_Error* struct_too_small(const char* name, size_t needed, size_t got);

// Calls f with a complete struct of arguments. `known` is the size of Args here, `needed` the least
// size that is accepted; a smaller struct is an error.
template <class Args>
PJRT_Error* call_with_whole_struct(PJRT_Error* (*f)(Args*), Args* given, size_t known,
                                   size_t needed, const char* name) {
  const size_t size = given->struct_size;
  if (size >= known) return f(given);
  if (size < needed) return struct_too_small(name, needed, size);
  Args whole{};
  std::memcpy(&whole, given, size);
  whole.struct_size = known;
  PJRT_Error* error = f(&whole);
  whole.struct_size = size;
  std::memcpy(given, &whole, size);
  return error;
}

}  // namespace tessera::plugin
