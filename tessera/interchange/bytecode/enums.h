// The enumerations of StableHLO's attributes, with their codes in VHLO and in StableHLO. Both
// number the names in the same order.
#pragma once

#include <array>
#include <string_view>

#include "tessera/base/namespaces.h"

namespace tessera::interchange::bytecode {

struct EnumKind {
  std::string_view name;  // #stablehlo<name NAME>
  uint64_t vhlo, stablehlo;
  std::array<std::string_view, 6> values;  // empty: none
};

inline constexpr EnumKind kEnums[] = {
    {"comparison_direction", 3, 2, {"EQ", "NE", "GE", "GT", "LE", "LT"}},
    {"comparison_type", 4, 3, {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}},
    {"fft_type", 7, 6, {"FFT", "IFFT", "RFFT", "IRFFT"}},
    {"precision", 11, 8, {"DEFAULT", "HIGH", "HIGHEST"}},
    {"rng_algorithm", 12, 9, {"DEFAULT", "THREE_FRY", "PHILOX"}},
    {"rng_distribution", 13, 10, {"", "UNIFORM", "NORMAL"}},
    {"transpose", 16, 12, {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}},
};

}  // namespace tessera::interchange::bytecode
