// How an op becomes code, or what takes its place before. Fusion switches over the kinds
// exhaustively.
#pragma once

#include <functional>
#include <variant>
#include <vector>

#include "tessera/ir/factors.h"
#include "tessera/ir/params.h"
#include "tessera/ir/scalar_expr.h"

namespace tessera::ir {

// One element of the result from the same element of every operand (rank-0 operands are read at
// their only element).
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
  // Interior padding: only multiples of it (relative to the piece's start) exist.
  int64_t divisor = 1;
  int dynamic = -1;  // operand that holds a scalar start, clamped to [0, dynamic_max]
  int64_t dynamic_max = 0;
  int64_t dynamic_stride = 1;  // -1 where the start is the result's (dynamic_update_slice)
};
// The part of the result that copies from one operand.
struct IndexPiece {
  int operand = 0;
  std::vector<IndexTerm> terms;  // one a dimension of the operand
  // Where the piece applies (start may be negative: the divisor counts from it): start <= result
  // index < stop in every result dimension (empty: everywhere). With start_dynamic[d] >= 0 both
  // bounds are shifted by that operand's scalar, clamped to [0, start_dynamic_max[d]].
  Dims start, stop;
  std::vector<int> start_dynamic;
  Dims start_dynamic_max;
};
// The result's element i is that of the first piece that applies, else the scalar operand `fill`.
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

// A fold over some dimensions of the operands, all of one shape. n operands, n initial scalars, n
// results.
struct Reduction {
  Dims dims;
  ReduceKind kind = ReduceKind::kSum;
  FunctionRef body;  // (acc..., x...) -> acc..., pointwise on scalars; always set
};
struct Reduce {
  Reduction (*describe)(const OpParams& params, std::span<const Type> operands) = nullptr;
  // The params of the same fold over other dimensions.
  OpParams (*over)(const OpParams& params, const Dims& dims) = nullptr;
};

// An op that runs as a step of its own, because no kernel computes its elements one by one.
enum class LibraryKind : uint8_t {
  kDot,
  kConvolution,
  kGather,  // an element of the first operand at indices that the second holds: fuses as a load
  kCall,    // `call` makes it
};
struct Library {
  LibraryKind kind;
  HostCall (*call)(const OpParams& params, std::span<const Type> operands,
                   std::span<const Type> results) = nullptr;
  // The only result is operand 0 except for some elements; if both have the same memory, `call`
  // writes these alone.
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
  kAxisIndex,  // no communication: the device's coordinate along the axes
  kCast,       // no communication: only the typing of variance changes
};
struct CollectiveLowering {
  CollectiveKind kind;
};

// A loop or a branch, which OpDef::regions describes; define() fills it in.
struct ControlFlowLowering {};

// What stands for a function, which takes its place before anything is compiled.
struct Inlined {
  FunctionRef (*callee)(const OpParams& params) = nullptr;
};
// The params are ManualComputationParams (control/control.h); flatten_regions makes two borders of it,
// whose params are ManualBoundaryParams (control/manual_boundary.h).
struct ManualRegion {};
struct ManualBorder {
  bool entering;
};
// The operand, laid out as the params (ShardingConstraintParams, control/control.h) say.
struct Constraint {};
// The operand; what it means to transforms, fusion no longer needs.
struct Identity {};

using Lowering =
    std::variant<std::monostate, Pointwise, IndexMap, Reduce, Library, CollectiveLowering,
                 ControlFlowLowering, Inlined, ManualRegion, ManualBorder, Constraint, Identity>;

// Whether the op computes something by itself, or exchanges it; all others stand for regions, or
// say something of their operand.
inline bool is_computed(const Lowering& lowering) {
  return !std::holds_alternative<ControlFlowLowering>(lowering) &&
         !std::holds_alternative<Inlined>(lowering) &&
         !std::holds_alternative<ManualRegion>(lowering) &&
         !std::holds_alternative<ManualBorder>(lowering) &&
         !std::holds_alternative<Constraint>(lowering) &&
         !std::holds_alternative<Identity>(lowering);
}

}  // namespace tessera::ir
