// How an op becomes code, or by what it is replaced before that. Fusion switches over all kinds.
#pragma once

#include <functional>
#include <variant>
#include <vector>

#include "tessera/ir/factors.h"
#include "tessera/ir/params.h"
#include "tessera/ir/scalar_expr.h"

namespace tessera::ir {

// Each element of the result is computed from the same element of every operand (for rank-0
// operands, from their only element).
struct Pointwise {
  Expr (*emit)(ExprBuilder& b, std::span<const Expr> args, const OpParams& params,
               std::span<const Type> operands, const Type& result) = nullptr;
};

// The index in one dimension of an operand, as a function of the result's index:
//   offset + dynamic_stride * dynamic start + stride * (result_index[result_dim] / divisor)
// The last term is absent if result_dim < 0, the one before it if dynamic < 0.
struct IndexTerm {
  int result_dim = -1;
  int64_t stride = 1;
  int64_t offset = 0;
  // For interior padding: only results at multiples of the divisor, counted from the start of the
  // piece, have an element of the operand.
  int64_t divisor = 1;
  int dynamic = -1;  // the operand that is the scalar start, clamped to [0, dynamic_max]
  int64_t dynamic_max = 0;
  int64_t dynamic_stride = 1;  // -1 if the result is shifted by it (dynamic_update_slice)
};
// A part of the result that is copied from one operand.
struct IndexPiece {
  int operand = 0;
  std::vector<IndexTerm> terms;  // one for each dimension of the operand
  // The elements of the result that the piece covers: start <= result index < stop in every
  // dimension (empty: all). start may be negative, and the divisor counts from it. If
  // start_dynamic[d] >= 0, both bounds are shifted by that scalar operand, clamped to [0,
  // start_dynamic_max[d]].
  Dims start, stop;
  std::vector<int> start_dynamic;
  Dims start_dynamic_max;
};
// Element i of the result comes from the first piece that covers it, otherwise from the scalar
// operand `fill`.
struct IndexMapping {
  std::vector<IndexPiece> pieces;
  int fill = -1;
  bool reshape = false;  // all elements of the one operand in row-major order (pieces is empty)
  // The result is operand 0 except for a box, which is operand 1 and whose starts are the operands
  // from 2 on.
  bool updates = false;
};
struct IndexMap {
  IndexMapping (*map)(const OpParams& params, std::span<const Type> operands,
                      std::span<const Type> results) = nullptr;
};

// A fold over some dimensions of operands of one shape. There are n operands, n initial scalars and
// n results.
struct Reduction {
  Dims dims;
  ReduceKind kind = ReduceKind::kSum;
  FunctionRef body;  // (acc..., x...) -> acc..., pointwise on scalars; always set
};
struct Reduce {
  Reduction (*describe)(const OpParams& params, std::span<const Type> operands) = nullptr;
  // Returns the params of the same fold over other dimensions.
  OpParams (*over)(const OpParams& params, const Dims& dims) = nullptr;
};

// An op that runs as a step of its own, because no kernel computes its elements one by one.
enum class LibraryKind : uint8_t {
  kDot,
  kConvolution,
  kGather,  // reads elements of operand 0 at indices in operand 1; fuses as a load
  kCall,    // `call` makes the code
};
struct Library {
  LibraryKind kind;
  HostCall (*call)(const OpParams& params, std::span<const Type> operands,
                   std::span<const Type> results) = nullptr;
  // Each result r is operand r except for some elements. If both have the same memory, `call`
  // writes only those elements.
  bool updates = false;
};

enum class CollectiveKind : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kPermute,
  kBroadcast,
  kRaggedAllToAll,
  kAxisIndex,  // no communication: the coordinate of the device along the axes
  kCast,       // no communication: only the axes that the type varies over change
};
struct CollectiveLowering {
  CollectiveKind kind;
};

// A loop or a branch, which OpDef::regions describes. define() sets it.
struct ControlFlowLowering {};

// An op that is replaced by a function before anything is compiled.
struct Inlined {
  FunctionRef (*callee)(const OpParams& params) = nullptr;
};
// A manual computation. The params are ManualComputationParams (control/control.h); flatten_regions
// replaces it by two border ops, whose params are ManualBoundaryParams (control/manual_boundary.h).
struct ManualRegion {};
struct ManualBorder {
  bool entering;
};
// The result is the operand, sharded as the params say (ShardingConstraintParams,
// control/control.h).
struct Constraint {};
// The result is the operand. Only transforms, which come before fusion, give the op a meaning.
struct Identity {};

using Lowering =
    std::variant<std::monostate, Pointwise, IndexMap, Reduce, Library, CollectiveLowering,
                 ControlFlowLowering, Inlined, ManualRegion, ManualBorder, Constraint, Identity>;

// Returns whether the op itself computes or communicates. All other ops have regions, or only state
// something about their operand.
inline bool is_computed(const Lowering& lowering) {
  return !std::holds_alternative<ControlFlowLowering>(lowering) &&
         !std::holds_alternative<Inlined>(lowering) &&
         !std::holds_alternative<ManualRegion>(lowering) &&
         !std::holds_alternative<ManualBorder>(lowering) &&
         !std::holds_alternative<Constraint>(lowering) &&
         !std::holds_alternative<Identity>(lowering);
}

}  // namespace tessera::ir
