// Factors: the sharding rule of an op, as in einsum. Propagation decides by them, and by whether an
// op is elementwise. Partition also reads the op's lowering (ir/lowering.h), its localize slot and
// its halo rule (ops/core/halo_rule.h).
//
// Each dimension of each operand and result is a list of factors, major first. `dot_general` of
// (i, k) by (k, j):
//   operands {{i}, {k}}, {{k}, {j}}; results {{i}, {j}}; i, j pass through, k is a reduction.
// A reshape (6, 4) -> (2, 12) is operands {{a, b}, {c}}, results {{a}, {b, c}} with sizes 2, 3, 4.
#pragma once

#include <string>
#include <vector>

#include "tessera/ir/reduce_kind.h"
#include "tessera/ir/type.h"

namespace tessera::ir {

enum class FactorKind : uint8_t {
  kPass,             // each shard of the result needs the same shard of the operands
  kReduction,        // in operands only; if it is sharded, each device has a partial result
  kNeedReplication,  // the op is right only if the factor is not sharded
  // if it is sharded, the op needs data from neighbours: it is resharded unless the partitioner can
  // move just these rows (spmd/windows.h, spmd/halos.h)
  kPermutation,
};

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::kPass;
};

// The factors of one dimension, major first. The product of their sizes is the dimension's extent.
using DimFactors = boost::container::small_vector<int, 2>;
// The factors of each dimension of one tensor.
using TensorFactors = std::vector<DimFactors>;

struct Factors {
  std::vector<Factor> factors;
  std::vector<TensorFactors> operands;
  std::vector<TensorFactors> results;
  // How partial results of a sharded reduction factor are combined across devices.
  ReduceKind combiner = ReduceKind::kSum;

  int add(int64_t size, FactorKind kind = FactorKind::kPass) {
    factors.push_back({size, kind});
    return static_cast<int>(factors.size()) - 1;
  }
};

// Returns one pass-through factor for each dimension, shared by all tensors. Tensors of rank 0 have
// no factors.
Factors pointwise_factors(std::span<const Type> operands, std::span<const Type> results);
// Returns `([i, k],[k, j])->([i, j]) {i=4, k=8, j=16} reduction={k}`.
std::string to_string(const Factors& factors);

}  // namespace tessera::ir
