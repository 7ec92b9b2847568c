// C++ functions that machine code calls in cases that are not worth emitting code for. Machine code
// finds them by absolute symbols.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/namespaces.h"

namespace tessera::codegen {

// Its arguments are (void* to, const void* from, int64 bytes).
inline constexpr const char* kCopyBytes = "tessera_copy_bytes";
// Functions of n lanes: (T* out, const T* x, const T* y, int32 n). Functions of one argument ignore
// y. The vectorized functions (elementary.h) fall back to these:
inline constexpr const char* kSinLanes = "tessera_f32_sin";
inline constexpr const char* kCosLanes = "tessera_f32_cos";
inline constexpr const char* kTanLanes = "tessera_f32_tan";
inline constexpr const char* kSinLanesF64 = "tessera_f64_sin";
inline constexpr const char* kCosLanesF64 = "tessera_f64_cos";
inline constexpr const char* kTanLanesF64 = "tessera_f64_tan";
inline constexpr const char* kLgammaLanesF64 = "tessera_f64_lgamma";
// Returns the name of the helper for a row of ir/scalar_ops.def, such as "tessera_f64_log1p".
std::string lanes_symbol(bool is_f64, std::string_view name);

// Returns every helper's name and address.
const std::vector<std::pair<std::string, void*>>& helper_symbols();

}  // namespace tessera::codegen
