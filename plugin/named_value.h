// Named values of the C API: attributes of the plugin, of devices and of executables. The caller
// owns their names and lists.
#pragma once

#include <cstring>
#include <span>

#include "plugin/pjrt.h"

namespace tessera::plugin {

inline PJRT_NamedValue named_value(const char* name, PJRT_NamedValue_Type type, size_t size) {
  PJRT_NamedValue out{};
  out.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  out.name = name;
  out.name_size = std::strlen(name);
  out.type = type;
  out.value_size = size;
  return out;
}

inline PJRT_NamedValue named_integer(const char* name, int64_t value) {
  PJRT_NamedValue out = named_value(name, PJRT_NamedValue_kInt64, 1);
  out.int64_value = value;
  return out;
}

inline PJRT_NamedValue named_integers(const char* name, std::span<const int64_t> values) {
  PJRT_NamedValue out = named_value(name, PJRT_NamedValue_kInt64List, values.size());
  out.int64_array_value = values.data();
  return out;
}

inline PJRT_NamedValue named_float(const char* name, float value) {
  PJRT_NamedValue out = named_value(name, PJRT_NamedValue_kFloat, 1);
  out.float_value = value;
  return out;
}

}  // namespace tessera::plugin
