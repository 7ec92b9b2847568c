// How an op becomes code, or what replaces it before. Fusion switches over the kinds exhaustively.
#pragma once

#include <functional>
#include <variant>
#include <vector>

#include "tessera/ir/factors.h"
#include "tessera/ir/params.h"
#include "tessera/ir/scalar_expr.h"

namespace tessera::ir {

// One element of the result is computed from the same element of every operand (the only element of
// rank-0 operands).
struct Pointwise {
  Expr (*emit)(ExprBuilder& b, std::span<const Expr> args, const OpParams& params,
               std::span<const Type> operands, const Type& result) = nullptr;
};

// One operand dimension's index as a function of the result's index:
//   offset + dynamic_stride * dynamic start + stride * (result_index[result_dim] / divisor)
// The last term is absent if result_dim < 0, the one before it if dynamic < 0.
struct IndexTerm {
  int result_dim = -1;
  int64_t stride = 1;
  int64_t offset = 0;
  // The divisor of interior padding: only results at multiples of it, counted from the start of the
  // piece, have an element.
  int64_t divisor = 1;
  int dynamic = -1;  // the operand with the scalar start, which is clamped to [0, dynamic_max]
  int64_t dynamic_max = 0;
  int64_t dynamic_stride = 1;  // -1 if the result has the start (dynamic_update_slice)
};
// The part of the result that is copied from one operand.
struct IndexPiece {
  int operand = 0;
  std::vector<IndexTerm> terms;  // one for each dimension of the operand
  // The elements of the result that the piece covers: start <= result index < stop in every
  // dimension (empty: all). start may be negative, and the divisor counts from it. With
  // start_dynamic[d] >= 0 both bounds are shifted by the scalar in that operand, clamped to [0,
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
  bool reshape = false;  // the one operand in the same linear order (pieces is empty)
  // Operand 0 except for a box, which is operand 1 and begins at the operands from 2 on.
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
  kGather,  // elements of the first operand at indices in the second: fuses as a load
  kCall,    // `call` makes the code
};
struct Library {
  LibraryKind kind;
  HostCall (*call)(const OpParams& params, std::span<const Type> operands,
                   std::span<const Type> results) = nullptr;
  // Each result r is operand r except for some elements; if both have the same memory, `call` writes
  // these alone.
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

// An op that a function replaces before anything is compiled.
struct Inlined {
  FunctionRef (*callee)(const OpParams& params) = nullptr;
};
// A manual computation. The params are ManualComputationParams (control/control.h); flatten_regions
// replaces it by two border ops, whose params are ManualBoundaryParams (control/manual_boundary.h).
struct ManualRegion {};
struct ManualBorder {
  bool entering;
};
// The operand, sharded as the params say (ShardingConstraintParams, control/control.h).
struct Constraint {};
// The operand. The op means something to transforms alone, which are done before fusion.
struct Identity {};

using Lowering =
    std::variant<std::monostate, Pointwise, IndexMap, Reduce, Library, CollectiveLowering,
                 ControlFlowLowering, Inlined, ManualRegion, ManualBorder, Constraint, Identity>;

// Returns whether the op itself computes or communicates. All other ops have regions, or state
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
