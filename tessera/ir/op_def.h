// OpDef: all there is to know about an op, in one place. ops/ defines one value of it an op (see
// ops/core/op.h); every stage of the compiler reads the slot it needs and never asks which op it is.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/factors.h"
#include "tessera/ir/function.h"
#include "tessera/ir/lowering.h"

namespace tessera::ir {

// A rule, or the stated reason why there is none.
template <class F>
struct Rule {
  Rule() = default;
  Rule(F f) : fn(std::move(f)) {}
  F fn = nullptr;
  const char* why_absent = nullptr;
  explicit operator bool() const { return static_cast<bool>(fn); }
};
struct Absent {
  const char* why;
  template <class F>
  operator Rule<F>() const {
    Rule<F> rule;
    rule.why_absent = why;
    return rule;
  }
};
inline Absent absent(const char* why) { return {why}; }

// Tangents and cotangents: an undefined Array is a symbolic zero.
struct JvpResult {
  std::vector<Array> primals, tangents;
};
// An op at given primals, with its tangents left open.
struct LinearizeResult {
  std::vector<Array> primals;
  // The tangents of the results (undefined: zero) from those of the operands, by ops that are
  // linear in them. Called once, where the linear program is recorded.
  std::function<std::vector<Array>(std::span<const Array> tangents)> tangents;
};
struct BatchResult {
  std::vector<Array> results;
  std::vector<int> dims;  // mapped dimension of each result, -1 if it has none
};
// An op instance for the property tests: operands' types (and ranges of their values) and params.
struct Sample {
  std::vector<Type> operands;
  OpParams params;
  double low = -2, high = 2;           // range of float operands
  std::vector<Literal> literals = {};  // where given, the operands themselves
};

// What localize() may ask while the partitioner rebuilds an op on shards.
class LocalContext {
 public:
  virtual ~LocalContext() = default;
  // Local type that result `r` must have (its shard).
  virtual const Type& local_result(int r) const = 0;
  virtual const Type& global_operand(int k) const = 0;
  virtual const Type& global_result(int r) const = 0;
  // Index of the first element of this device's shard of result `r` along `dim`: int32 scalar.
  virtual Array result_offset(int r, int dim) const = 0;
  // The same of operand `k`: a constant 0 where the dimension is not cut; shards of an empty
  // dimension count one element each.
  virtual Array operand_offset(int k, int dim) const = 0;
};

using InferFn = std::function<std::vector<Type>(std::span<const Type>, const OpParams&)>;
using EvaluateFn = std::function<std::vector<Literal>(std::span<const Literal>, const OpParams&)>;
// operands[k][device] for every device of the mesh, in mesh order; results likewise.
using EvaluateSpmdFn = std::function<std::vector<std::vector<Literal>>(
    const std::vector<std::vector<Literal>>& operands, const OpParams&, const Mesh&)>;
using FactorsFn = std::function<Factors(std::span<const Type> operands,
                                        std::span<const Type> results, const OpParams&)>;
using LocalizeFn = std::function<std::vector<Array>(std::span<const Array> local_operands,
                                                    const OpParams&, const LocalContext&)>;
using JvpFn = std::function<JvpResult(std::span<const Array> primals,
                                      std::span<const Array> tangents, const OpParams&)>;
// Only for ops with regions; that of other ops follows from their jvp, by recording what depends on
// a tangent apart from what does not.
using LinearizeFn = std::function<LinearizeResult(
    std::span<const Array> primals, const std::vector<bool>& has_tangent, const OpParams&)>;
// Cotangents of the operands marked `linear` (undefined for the others), given those of the
// results.
using TransposeFn = std::function<std::vector<Array>(
    std::span<const Array> cotangents, std::span<const Array> operands,
    const std::vector<bool>& linear, const OpParams&)>;
using BatchFn = std::function<BatchResult(std::span<const Array> operands,
                                          std::span<const int> dims, const OpParams&)>;
// The params with regions typed for operands that vary over other manual axes (ir/retype.h).
using RetypeFn = std::function<OpParams(std::span<const Type>, const OpParams&)>;
// What loop or branch the params say, and params like these of another one (ir/control_flow.h).
struct RegionRules {
  std::function<ControlFlow(const OpParams&)> read;
  std::function<OpParams(const OpParams& like, const ControlFlow&)> write;
  explicit operator bool() const { return static_cast<bool>(read); }
};
using CostFn = std::function<double(std::span<const Type> operands, std::span<const Type> results,
                                    const OpParams&)>;

// What an op is given for operands of narrow dtypes (base/narrow.h), which no op computes with:
// bind_op() and the readers of programs convert before and after it (ir/narrow_ops.h).
enum class NarrowOperands : uint8_t {
  kValues,     // as wide numbers
  kAsTheyAre,  // it only moves elements, or converts them
  kBits,       // integers as unsigned ones: the bits beyond theirs are 0
  kSigned,     // integers as signed ones: the bits beyond theirs are the sign
  kTopBits,    // integers in the upper bits of wide ones, below them ones
};

struct OpDef {
  std::string_view name;  // StableHLO's ("dot_general"); printed with `dialect` before it
  std::string_view dialect = "stablehlo";
  OpParams params;  // default-constructed, of the op's struct: what the parser fills
  std::vector<std::string_view> attributes;  // printed names of the params' fields, in order

  InferFn infer;                 // result types, or UserError with the violated constraint
  RetypeFn retype;               // ops with regions only
  RegionRules regions;           // loops and branches only, instead of evaluate and factors
  EvaluateFn evaluate;           // naive loops on host arrays: the oracle
  EvaluateSpmdFn evaluate_spmd;  // collectives only, instead of evaluate
  FactorsFn factors;
  LocalizeFn localize;  // rebuilds the op on shards; empty: bind it again with the same params
  Lowering lower;
  CostFn flops;  // empty: one a result element
  Rule<JvpFn> jvp;
  Rule<LinearizeFn> linearize;
  Rule<TransposeFn> transpose;
  Rule<BatchFn> batch;
  std::vector<Sample> (*samples)() = nullptr;
  bool effect = false;  // kept though its results are unused
  NarrowOperands narrow = NarrowOperands::kValues;
  bool has_dtypes = false;  // among its params' fields
};

// The result types of an op that is added to a function: infer's. Those of an ordinary op vary over
// the manual axes that any operand varies over; collectives and ops with regions say that
// themselves.
std::vector<Type> infer_types(const OpDef& def, std::span<const Type> operands,
                              const OpParams& params);

// The params of an op that is bound to these operands: its regions typed for what they vary over.
OpParams retyped_params(const OpDef& def, std::span<const Type> operands, const OpParams& params);

// Every op, by registration; the property tests walk it, the parser looks names up in it.
void register_op(const OpDef& def);
const std::vector<const OpDef*>& all_ops();

}  // namespace tessera::ir
