// OpDef: the definition of an op, in one place. ops/ defines one OpDef for each op (ops/core/op.h);
// every stage of the compiler reads the slots that it needs, and never distinguishes ops by name.
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

// In tangents and cotangents an undefined Array is a symbolic zero.
struct JvpResult {
  std::vector<Array> primals, tangents;
};
// An op at given primals, as a linear function of its tangents.
struct LinearizeResult {
  std::vector<Array> primals;
  // Returns the tangents of the results, computed from those of the operands by ops that are linear
  // in them. Undefined tangents are zero. It is called once, while the linear program is recorded.
  std::function<std::vector<Array>(std::span<const Array> tangents)> tangents;
};
struct BatchResult {
  std::vector<Array> results;
  std::vector<int> dims;  // the mapped dimension of each result, -1 if it has none
};
// An instance of an op for the property tests: its params, and the types and the range of values of
// its operands.
struct Sample {
  std::vector<Type> operands;
  OpParams params;
  double low = -2, high = 2;           // range of float operands
  std::vector<Literal> literals = {};  // if given, the operands themselves
};

// What localize() may ask for while the partitioner binds an op again on shards.
class LocalContext {
 public:
  virtual ~LocalContext() = default;
  // Returns the type of the shard of result `r`, which localize() must return.
  virtual const Type& local_result(int r) const = 0;
  virtual const Type& global_operand(int k) const = 0;
  virtual const Type& global_result(int r) const = 0;
  // Returns the index of the first element of this device's shard of result `r` along `dim`, as an
  // int32 scalar.
  virtual Array result_offset(int r, int dim) const = 0;
  // Returns the same for operand `k`. It is a constant 0 if the dimension is not sharded. A shard
  // of an empty dimension counts as one element.
  virtual Array operand_offset(int k, int dim) const = 0;
};

// Maps params to the loop or branch that they describe, and back for another one of the same kind
// (ir/control_flow.h).
template <class P>
struct RegionRules {
  Rule<ControlFlow(const P&), P> read;
  Rule<P(const P& like, const ControlFlow&), P> write;
  explicit operator bool() const { return static_cast<bool>(read); }
};

// How an op gets operands of narrow dtypes (base/narrow.h), in which no op computes. bind_op() and
// the readers of programs convert its operands and results (ir/narrow_ops.h).
enum class NarrowOperands : uint8_t {
  kValues,     // numbers of the wide dtype
  kAsTheyAre,  // unchanged: it only moves elements, or converts them
  kBits,       // integers as unsigned ones: the upper bits are 0
  kSigned,     // integers as signed ones: the upper bits are the sign
  kTopBits,    // integers in the upper bits of wide ones, whose lower bits are ones
};

// The names of an op's attributes. There are at most kMost, so that an OpSpec is trivially
// copyable.
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

// The definition of an op as its author writes it, over the op's own params struct P. Rules have
// the same layout for every P, so that define() need not convert them.
template <class P>
struct OpSpec {
  using Types = std::span<const Type>;
  using Arrays = std::span<const Array>;

  std::string_view name = {};  // StableHLO's ("dot_general"); printed with `dialect` before it
  std::string_view dialect = "stablehlo";
  AttributeNames attributes = {};  // the printed names of the params' fields, in order
  // Returns the result types. Throws a UserError that names the violated constraint.
  Rule<std::vector<Type>(Types operands, const P&), P> infer = {};
  // Returns the params with their regions retyped for operands that vary over other manual axes
  // (ir/retype.h). Only ops with regions have it.
  Rule<P(Types operands, const P&), P> retype = {};
  // Only loops and branches have these, instead of evaluate and factors. Their lowering follows
  // from them.
  RegionRules<P> regions = {};
  // Returns the results, computed by naive loops on host arrays. Tests use it as the oracle.
  Rule<std::vector<Literal>(std::span<const Literal> operands, const P&), P> evaluate = {};
  // Only collectives have it, instead of evaluate. operands[k][device] is operand k of every device
  // of the mesh, in mesh order; the results are likewise.
  Rule<std::vector<std::vector<Literal>>(const std::vector<std::vector<Literal>>& operands,
                                         const P&, const Mesh&),
       P>
      evaluate_spmd = {};
  Rule<Factors(Types operands, Types results, const P&), P> factors = {};
  // Returns the results of the op on shards. If it is absent, the op is bound again with the same
  // params.
  Rule<std::vector<Array>(Arrays local_operands, const P&, const LocalContext&), P> localize = {};
  Lowering lower = {};
  // Returns the number of floating-point operations. If it is absent, each element of the results
  // counts as one.
  Rule<double(Types operands, Types results, const P&), P> flops = {};
  Rule<JvpResult(Arrays primals, Arrays tangents, const P&), P> jvp = {};
  // Returns the linearization at given primals. Only ops with regions have it. For other ops it
  // follows from jvp: the ops that depend on a tangent are recorded separately.
  Rule<LinearizeResult(Arrays primals, const std::vector<bool>& has_tangent, const P&), P>
      linearize = {};
  // Returns the cotangents of the operands marked `linear`, given those of the results; undefined
  // ones for all other operands.
  Rule<std::vector<Array>(Arrays cotangents, Arrays operands, const std::vector<bool>& linear,
                          const P&),
       P>
      transpose = {};
  Rule<BatchResult(Arrays operands, std::span<const int> dims, const P&), P> batch = {};
  std::vector<Sample> (*samples)() = nullptr;
  bool effect = false;  // the op stays even if its results are unused
  NarrowOperands narrow = NarrowOperands::kValues;
};

// The definition as the compiler reads it: its rules are called with OpParams.
struct OpDef : OpSpec<OpParams> {
  OpParams params;          // the op's default-constructed struct, which the parser fills
  bool has_dtypes = false;  // whether the params have a dtype among their fields
};

// Returns the result types of an op that is added to a function, as infer returns them. The results
// of an ordinary op vary over the manual axes over which any operand varies; collectives and ops
// with regions set these axes themselves.
std::vector<Type> infer_types(const OpDef& def, std::span<const Type> operands,
                              const OpParams& params);

// Returns the params of an op that is bound to these operands: its regions are retyped for the axes
// over which the operands vary.
OpParams retyped_params(const OpDef& def, std::span<const Type> operands, const OpParams& params);

// Registers an op whose params have these default values. The returned definition lives as long as
// the process.
const OpDef& register_op(const OpSpec<OpParams>& spec, const OpParams& params);

// Returns all ops in the order of registration. The property tests go through them, and the parser
// finds names among them.
const std::vector<const OpDef*>& all_ops();

}  // namespace tessera::ir
