// OpDef: all there is to know about an op, in one place. ops/ defines one value of it an op (see
// ops/core/op.h); every stage of the compiler reads the slot it needs and never asks which op it is.
#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/factors.h"
#include "tessera/ir/function.h"
#include "tessera/ir/lowering.h"
#include "tessera/ir/rule.h"

namespace tessera::ir {

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

// What loop or branch the params say, and params like these of another one (ir/control_flow.h).
template <class P>
struct RegionRules {
  Rule<ControlFlow(const P&), P> read;
  Rule<P(const P& like, const ControlFlow&), P> write;
  explicit operator bool() const { return static_cast<bool>(read); }
};

// What an op is given for operands of narrow dtypes (base/narrow.h), which no op computes with:
// bind_op() and the readers of programs convert before and after it (ir/narrow_ops.h).
enum class NarrowOperands : uint8_t {
  kValues,     // as wide numbers
  kAsTheyAre,  // it only moves elements, or converts them
  kBits,       // integers as unsigned ones: the bits beyond theirs are 0
  kSigned,     // integers as signed ones: the bits beyond theirs are the sign
  kTopBits,    // integers in the upper bits of wide ones, below them ones
};

// The names of an op's attributes: at most kMost, so that an OpSpec is plain memory.
class AttributeNames {
 public:
  AttributeNames() = default;
  AttributeNames(std::initializer_list<std::string_view> names);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::string_view operator[](size_t i) const { return names_[i]; }
  const std::string_view* begin() const { return names_.data(); }
  const std::string_view* end() const { return names_.data() + size_; }

 private:
  static constexpr size_t kMost = 16;
  std::array<std::string_view, kMost> names_;
  size_t size_ = 0;
};

// What the author of an op says of it, over the op's own params struct P. The rules have the same
// form for every P, so that define() keeps them as they are.
template <class P>
struct OpSpec {
  using Types = std::span<const Type>;
  using Arrays = std::span<const Array>;

  std::string_view name = {};  // StableHLO's ("dot_general"); printed with `dialect` before it
  std::string_view dialect = "stablehlo";
  AttributeNames attributes = {};  // printed names of the params' fields, in order
  // The result types, or UserError with the violated constraint.
  Rule<std::vector<Type>(Types operands, const P&), P> infer = {};
  // The params with regions typed for operands that vary over other manual axes (ir/retype.h): ops
  // with regions only.
  Rule<P(Types operands, const P&), P> retype = {};
  // Loops and branches only, instead of evaluate and factors. Their lowering follows from it.
  RegionRules<P> regions = {};
  // Naive loops on host arrays: the oracle.
  Rule<std::vector<Literal>(std::span<const Literal> operands, const P&), P> evaluate = {};
  // Collectives only, instead of evaluate. operands[k][device] for every device of the mesh, in
  // mesh order; results likewise.
  Rule<std::vector<std::vector<Literal>>(const std::vector<std::vector<Literal>>& operands,
                                         const P&, const Mesh&),
       P>
      evaluate_spmd = {};
  Rule<Factors(Types operands, Types results, const P&), P> factors = {};
  // The op on shards; absent: it is bound again with the same params.
  Rule<std::vector<Array>(Arrays local_operands, const P&, const LocalContext&), P> localize = {};
  Lowering lower = {};
  // Absent: one a result element.
  Rule<double(Types operands, Types results, const P&), P> flops = {};
  Rule<JvpResult(Arrays primals, Arrays tangents, const P&), P> jvp = {};
  // Only for ops with regions; that of other ops follows from their jvp, by recording what depends
  // on a tangent apart from what does not.
  Rule<LinearizeResult(Arrays primals, const std::vector<bool>& has_tangent, const P&), P>
      linearize = {};
  // Cotangents of the operands marked `linear` (undefined for the others), given those of the
  // results.
  Rule<std::vector<Array>(Arrays cotangents, Arrays operands, const std::vector<bool>& linear,
                          const P&),
       P>
      transpose = {};
  Rule<BatchResult(Arrays operands, std::span<const int> dims, const P&), P> batch = {};
  std::vector<Sample> (*samples)() = nullptr;
  bool effect = false;  // kept though its results are unused
  NarrowOperands narrow = NarrowOperands::kValues;
};

// The definition that the compiler reads: rules are called with OpParams.
struct OpDef : OpSpec<OpParams> {
  OpParams params;          // default-constructed, of the op's struct: what the parser fills
  bool has_dtypes = false;  // among its params' fields
};

// The result types of an op that is added to a function: infer's. Those of an ordinary op vary over
// the manual axes that any operand varies over; collectives and ops with regions say that
// themselves.
std::vector<Type> infer_types(const OpDef& def, std::span<const Type> operands,
                              const OpParams& params);

// The params of an op that is bound to these operands: its regions typed for what they vary over.
OpParams retyped_params(const OpDef& def, std::span<const Type> operands, const OpParams& params);

// Registers an op whose params have these default values; the returned definition lives as long as
// the process.
const OpDef& register_op(const OpSpec<OpParams>& spec, const OpParams& params);

// Every op, by registration; the property tests walk it, the parser looks names up in it.
const std::vector<const OpDef*>& all_ops();

}  // namespace tessera::ir
