// Copies interleaved lines one after the other: the transpose of a matrix of a few columns.
#pragma once

#include <cstdint>

#include "tessera/base/namespaces.h"

namespace tessera::runtime {

// Returns whether deinterleave() is for this number of lines: 2, 3, 4 or 8.
constexpr bool can_deinterleave(int64_t lines) {
  return lines == 2 || lines == 3 || lines == 4 || lines == 8;
}

// Copies element i of line l, which is from[i * lines + l], to to[l * n + i], for i < n. T is
// uint8_t, uint16_t, uint32_t or uint64_t.
template <class T>
void deinterleave(const T* from, T* to, int64_t lines, int64_t n);

}  // namespace tessera::runtime
