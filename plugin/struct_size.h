// Callers with another version of the C API. Every struct of arguments says in struct_size how far its
// caller knows it. A caller with an older header has structs that end earlier: what such a struct lacks
// is zero for the function, and nothing behind its end is written. A newer one's structs go on behind
// what is known here, and these fields are left alone. PJRT_ExecuteOptions, which arguments point to, is
// read no further than to non_donatable_input_indices, which all versions have.
#pragma once

#include <cstddef>
#include <cstring>

#include "plugin/pjrt.h"

namespace tessera::plugin {

// The error for arguments that end before what the function needs.
PJRT_Error* struct_too_small(const char* name, size_t needed, size_t got);

// Calls f with the caller's arguments, whole. `known` is the size of Args here, `needed` the least that a
// caller may have; an error for less.
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
