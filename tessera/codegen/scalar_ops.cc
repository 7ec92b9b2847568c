#include "tessera/codegen/scalar_ops.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/codegen/complex_ops.h"
#include "tessera/codegen/emitter.h"
#include "tessera/codegen/helpers.h"
#include "tessera/codegen/integer_ops.h"
#include "tessera/codegen/math/elementary.h"
#include "tessera/codegen/quotient.h"
#include "tessera/ir/format.h"

namespace tessera::codegen {
namespace {

void no_float_code(ScalarOp op) {
  TESSERA_CHECK(false, "operation {} on floats", scalar_op_name(op));
}

// Emits an operation on floats. Each row of scalar_ops.def is a case with the code of the row.
Vec emit_float_op(ScalarOp op, Vec x, Vec y, Vec z) {
  // The C function of the row is for the lanes with large quotients.
  if (op == ScalarOp::kRem)
    return remainder(x, y, lanes_symbol(x.is_f64(), scalar_op_name(op)).c_str());
  switch (op) {
#define VECTOR(expression) expression
#define LANES(function) call_lanes(lanes_symbol(x.is_f64(), scalar_op_name(op)).c_str(), x, y)
#define SPECIAL (no_float_code(op), x)
#define SCALAR_OP(op_, name, signature, kinds, cost, halves, float32, float64) \
  case ScalarOp::op_:                                                          \
    return x.is_f64() ? (float64) : (float32);
#include "tessera/ir/scalar_ops.def"
#undef SCALAR_OP
#undef SPECIAL
#undef LANES
#undef VECTOR
  }
  __builtin_unreachable();
}

// Emits a call of the module's function for this operation, which is made at the first call.
Vec call_float_op(ScalarOp op, const std::string& name, Vec x, Vec y, Vec z) {
  Ir& ir = *x.ir;
  std::vector<llvm::Value*> args;
  std::vector<llvm::Type*> types;
  for (const Vec& arg : {x, y, z}) {
    if (!arg.v) continue;
    args.push_back(arg.v);
    types.push_back(arg.type());
  }
  llvm::Function* function = ir.module.getFunction(name);
  if (!function) {
    function = llvm::Function::Create(llvm::FunctionType::get(x.type(), types, false),
                                      llvm::Function::InternalLinkage, name, ir.module);
    set_function_attributes(*function, ir.target);
    function->addFnAttr(llvm::Attribute::NoInline);
    const llvm::IRBuilder<>::InsertPointGuard guard(ir.builder);
    auto* entry = llvm::BasicBlock::Create(ir.builder.getContext(), "entry", function);
    auto* body = llvm::BasicBlock::Create(ir.builder.getContext(), "body", function);
    ir.builder.SetInsertPoint(entry);
    llvm::Instruction* const outside = std::exchange(ir.alloca_point, ir.builder.CreateBr(body));
    ir.builder.SetInsertPoint(body);
    Vec own[3];
    for (unsigned k = 0; k < args.size(); ++k) own[k] = {ir, function->getArg(k)};
    ir.builder.CreateRet(emit_float_op(op, own[0], own[1], own[2]).v);
    ir.alloca_point = outside;
  }
  return {ir, ir.builder.CreateCall(function, args)};
}

// Emits the code of the operation here, or a call if the code is long and the function already
// contains much such code: the time of register allocation grows faster than a function's length.
Vec emit_or_call(Ir& ir, ScalarOp op, Vec x, Vec y, Vec z) {
  static constexpr int kMostInLine = 1500;  // instructions
  static constexpr int kLong = 24;          // instructions that cost much more than a call
  static constexpr int kElementary = 18;    // the weight of the shortest elementary function
  if (op == ScalarOp::kPow) {
    if (const std::optional<Vec> power = power_of_constant(x, y)) return *power;
    if (is_two(x)) return emit_float_op(op, x, y, z);
  }
  if (op == ScalarOp::kAtan2 && is_one(y)) return emit_or_call(ir, ScalarOp::kAtan, x, {}, {});
  if (!ir.long_functions || op_weight(op, x.is_f64() ? float64 : float32) < kElementary)
    return emit_float_op(op, x, y, z);
  auto& [lengths, in_line] = *ir.long_functions;
  const std::string name = fmt::format("{}.f{}.{}", scalar_op_name(op), x.bits(), x.width());
  const auto known = lengths.find(name);
  if (known == lengths.end()) {
    const auto length_of = [&] {
      return static_cast<int>(ir.builder.GetInsertBlock()->getParent()->getInstructionCount());
    };
    const int before = length_of();
    const Vec result = emit_float_op(op, x, y, z);
    const int length = length_of() - before;
    lengths.emplace(name, length);
    if (length >= kLong) in_line += length;
    return result;
  }
  const int length = known->second;
  if (length < kLong) return emit_float_op(op, x, y, z);
  if (in_line + length > kMostInLine) return call_float_op(op, name, x, y, z);
  in_line += length;
  return emit_float_op(op, x, y, z);
}

// Returns the float16 or bfloat16 next to args[0] in the direction of args[1].
Val next_after_half(Ir& ir, DType dtype, std::span<const Val> args) {
  Vec x{ir, half_bits(ir, dtype, args[0])}, y{ir, half_bits(ir, dtype, args[1])};
  Vec fx{ir, rounded_val(ir, dtype, args[0]).re}, fy{ir, rounded_val(ir, dtype, args[1]).re};
  Vec magnitude = x & x.like_int(0x7fff);
  Vec up = (fx < fy) == (fx > 0.0);
  Vec step = select(up, x + x.like_int(1), x - x.like_int(1));
  Vec from_zero = (y & y.like_int(0x8000)) | y.like_int(1);
  Vec r = select(magnitude == x.like_int(0), from_zero, step);
  r = select(fx == fy, y, r);
  Vec value{ir, from_half_bits(ir, dtype, r.v).re};
  return {select(is_nan(fx) | is_nan(fy), fx + fy, value).v};
}

Val emit_select(Ir& ir, std::span<const Val> args) {
  const Vec mask{ir, args[0].re};
  Val out{select(mask, {ir, args[1].re}, {ir, args[2].re}).v, nullptr,
          args[1].rounded && args[2].rounded};
  if (args[1].im) out.im = select(mask, {ir, args[1].im}, {ir, args[2].im}).v;
  return out;
}

using Operands = boost::container::small_vector<Val, 3>;

// Computes on floats; float16 and bfloat16 are held as float32.
Val emit_on_floats(Ir& ir, ScalarOp op, DType result, DType operand, Operands args) {
  const ScalarHalves halves = scalar_op_info(op).halves;
  if (is_half(operand) && halves == ScalarHalves::kJump)
    for (Val& arg : args) arg = rounded_val(ir, operand, arg);
  bool rounded = !is_half(result);
  if (!rounded && halves != ScalarHalves::kExcess) {
    rounded = true;
    for (const Val& arg : args) rounded = rounded && arg.rounded;
  }
  auto vec = [&](size_t k) { return k < args.size() ? Vec(ir, args[k].re) : Vec(); };
  return {emit_or_call(ir, op, {ir, args[0].re}, vec(1), vec(2)).v, nullptr, rounded};
}

// Returns the operands with as many lanes as the widest one. That may be less than a whole vector,
// because reductions combine halves of vectors.
Operands of_one_width(Ir& ir, std::span<const Val> given) {
  Operands args(given.begin(), given.end());
  int lanes = 1;
  for (const Val& arg : args) lanes = std::max(lanes, Vec(ir, arg.re).width());
  if (lanes > 1)
    for (Val& arg : args) arg = broadcast_val(ir, arg, lanes);
  return args;
}

}  // namespace

Val emit_scalar_op(Ir& ir, ScalarOp op, DType result, DType operand, std::span<const Val> given) {
  Operands args = of_one_width(ir, given);
  switch (op) {
    case ScalarOp::kSelect:
      return emit_select(ir, args);
    case ScalarOp::kConvert:
      return convert_val(ir, operand, result, args[0]);
    case ScalarOp::kBitcast:
      return bitcast_val(ir, operand, result, args[0]);
    case ScalarOp::kComplex:
      return {args[0].re, args[1].re};
    default:
      break;
  }
  if (is_complex(operand)) return emit_complex_op(ir, op, args);
  const Vec x{ir, args[0].re}, y = args.size() > 1 ? Vec(ir, args[1].re) : Vec();
  if (operand == bool_) return {emit_bool_op(op, x, y).v};
  if (is_integer(operand)) return {emit_int_op(op, operand, x, y).v};
  if (is_half(operand) && op == ScalarOp::kNextAfter) return next_after_half(ir, operand, args);
  return emit_on_floats(ir, op, result, operand, std::move(args));
}

int op_weight(ScalarOp op, DType dtype) {
  const ScalarCost& cost = scalar_op_info(op).cost;
  if (!is_inexact(dtype)) return cost.of_integers;
  return dtype == float64 ? cost.of_float64 : cost.of_float32;
}

}  // namespace tessera::codegen
