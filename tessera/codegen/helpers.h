// What machine code calls: rare cases that are not worth emitting, reached through absolute
// symbols.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace tessera::codegen {

// (void* to, const void* from, int64 bytes)
inline constexpr const char* kCopyBytes = "tessera_copy_bytes";
// Functions of n lanes, (T* out, const T* x, const T* y, int32 n); y is unused by functions of one
// argument. In f32:
inline constexpr const char* kSinLanes = "tessera_f32_sin";
inline constexpr const char* kCosLanes = "tessera_f32_cos";
inline constexpr const char* kTanLanes = "tessera_f32_tan";
inline constexpr const char* kRemLanes = "tessera_f32_rem";
// In f64: "tessera_f64_" and the scalar operation's name, for instance "tessera_f64_log1p".

// Every helper's name and address.
const std::vector<std::pair<const char*, void*>>& helper_symbols();

}  // namespace tessera::codegen
