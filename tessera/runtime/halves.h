// Conversions of many float16 or bfloat16 numbers: to float32 for computing and, rounded to the
// nearest (ties to even), back for storing.
#pragma once

#include <cstdint>

#include "tessera/base/dtype.h"
#include "tessera/base/namespaces.h"

namespace tessera::runtime {

void widen(const Float16* in, float* out, int64_t n);
void widen(const Bfloat16* in, float* out, int64_t n);
void narrow(const float* in, Float16* out, int64_t n);
void narrow(const float* in, Bfloat16* out, int64_t n);

}  // namespace tessera::runtime
