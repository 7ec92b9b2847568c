// Elementwise folds of several arrays, block by block: what all_reduce and reduce_scatter compute.
#pragma once

#include <bit>
#include <cstddef>
#include <functional>
#include <span>

#include "tessera/base/dtype.h"
#include "tessera/base/namespaces.h"
#include "tessera/ir/factors.h"

namespace tessera::runtime {

// The number of elements in one block, which is the most in a call of a BlockReducer.
inline constexpr int64_t kReduceBlock = 4096;
// Computes out[i] = the fold of sources[0][i], sources[1][i], ... for i < n. The order is that of a
// tree that depends only on the number of sources, count: the first fold_split(count) sources and
// the others are folded by the same rule, then combined. float16 and bfloat16 are folded in float32
// and rounded once.
using BlockReducer = void (*)(std::byte* out, std::span<const std::byte* const> sources, int64_t n);
// Returns the largest power of two below n >= 2.
constexpr size_t fold_split(size_t n) { return std::bit_ceil(n) / 2; }
// Returns the reducer. Throws InternalError for argmin, argmax, custom reductions, and for a
// minimum or maximum of complex numbers.
BlockReducer block_reducer(DType dtype, ReduceKind kind);

// Computes one node of that tree: out[i] = the fold of a[i] and b[i], in the dtype of folds
// (float32 for float16 and bfloat16). `out` may be `a` or `b`.
using PairReducer = void (*)(std::byte* out, const std::byte* a, const std::byte* b, int64_t n);
PairReducer pair_reducer(DType dtype, ReduceKind kind);

}  // namespace tessera::runtime
