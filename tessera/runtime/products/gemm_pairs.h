// Matrix products of integers of 8 and 16 bits. An instruction multiplies pairs of neighbouring
// 16-bit integers and adds the two products, in 32 bits. Integers wrap, so a result of 8 bits is
// the low part of such a sum.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tessera/runtime/products/gemm.h"

namespace tessera::runtime {

// Whether gemm_pairs() has the types: elements In, and the unsigned type of the result.
template <class In, class Out>
constexpr bool gemm_has_pairs =
    (std::is_same_v<In, uint8_t> && (sizeof(Out) == 1 || sizeof(Out) == 4)) ||
    ((std::is_same_v<In, int8_t> || std::is_same_v<In, int16_t>)&&sizeof(Out) == 4);

// Computes c (+)= a b as gemm() does, for the types of gemm_has_pairs.
template <class In, class Out>
void gemm_pairs(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b, Out* c,
                int64_t ldc, bool accumulate);

}  // namespace tessera::runtime
