// How ops are defined. A file of ops/ makes an OpDef for each op with define<Params>({...}): rules
// are plain functions over the op's own Params struct; define() erases the struct and registers the
// op.
//
//   struct TransposeParams { Dims permutation; };
//   const OpDef& transpose_op = define<TransposeParams>({
//       .name = "transpose", .attributes = {"permutation"},
//       .infer = infer_transpose, .evaluate = evaluate_transpose, .factors = transpose_factors,
//       .lower = IndexMap{map_transpose}, .samples = transpose_samples});
//   Array transpose(const Array& x, Dims permutation) {
//     return bind_op1(transpose_op, TransposeParams{permutation}, {x});
//   }
#pragma once

#include <bit>

#include "tessera/ir/op_def.h"
#include "tessera/ir/params_fields.h"

namespace tessera::ops {

// Registers the op; the returned definition lives as long as the process.
template <class P>
const OpDef& define(const OpSpec<P>& spec) {
  define_params<P>();
  return register_op(std::bit_cast<OpSpec<OpParams>>(spec), P{});
}

// The type rule of an op with regions: retypes the regions for these operands, and infers the
// results from them.
template <auto retype, auto infer, class P>
std::vector<Type> infer_retyped(std::span<const Type> operands, const P& params) {
  return infer(operands, retype(operands, params));
}

// Checks that infer rules share. They throw UserError, whose message begins with `op`.
void expect_operands(std::string_view op, std::span<const Type> operands, size_t count);
void expect_same_dtype(std::string_view op, std::span<const Type> operands);
void expect_same_shape(std::string_view op, std::span<const Type> operands);
// Returns the manual axes that the result of an ordinary op varies over: the union of its
// operands'.
AxisNames varying_union(std::span<const Type> operands);
// Returns the function's results, evaluated op by op. The inputs of a pointwise function of scalars
// (a reduce body) may also be arrays of one shape; it is then evaluated element by element.
std::vector<Literal> evaluate_function(const Function& function, std::span<const Literal> inputs);

}  // namespace tessera::ops
