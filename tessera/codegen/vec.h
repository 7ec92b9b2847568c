// Vec: an LLVM value (scalar or fixed-width vector) with operators, so that code which emits
// arithmetic reads like arithmetic.
//
// Operators follow the element type: + emits fadd or add. LLVM contracts nothing: fma() is the only
// fused operation, so that error-free transformations stay correct. Only codegen/ includes this
// header; besides emit*.h, it is the only one that exposes LLVM.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <initializer_list>
#include <span>
#include <string>
#include <unordered_map>

#include "tessera/codegen/machine_code/target.h"

namespace tessera::codegen {

// The elementary functions whose code was emitted into one function of machine code.
struct LongFunctions {
  std::unordered_map<std::string, int> lengths;  // in instructions, by the function's name
  int in_line = 0;                               // the number of instructions of all their copies
};

// The state that all code emission needs.
struct Ir {
  Ir(llvm::Module& m, const Target& t, int lane_count)
      : module(m), builder(m.getContext()), target(t), lanes(lane_count) {}
  llvm::Module& module;
  llvm::IRBuilder<> builder;
  const Target& target;
  int lanes;  // the lanes of every vector of the kernel
  // Elementary functions in the function that is being emitted. Null: all code is emitted in line.
  LongFunctions* long_functions = nullptr;
  // The allocas of stack slots are in the entry block, before this instruction.
  llvm::Instruction* alloca_point = nullptr;

  llvm::AllocaInst* stack_slot(llvm::Type* type, unsigned align = 64);
  // Emits a call of one of the helpers of helpers.h.
  llvm::CallInst* call_helper(const char* name, llvm::ArrayRef<llvm::Value*> args);
};

struct Vec {
  Ir* ir = nullptr;
  llvm::Value* v = nullptr;

  Vec() = default;
  Vec(Ir& i, llvm::Value* value) : ir(&i), v(value) {}
  llvm::Type* type() const { return v->getType(); }
  llvm::Type* element() const { return v->getType()->getScalarType(); }
  bool is_vector() const { return v->getType()->isVectorTy(); }
  bool is_float() const { return element()->isFloatingPointTy(); }
  bool is_f64() const { return element()->isDoubleTy(); }
  unsigned bits() const { return element()->getScalarSizeInBits(); }
  int width() const;
  // Returns the constant `value` in this value's type.
  Vec like(double value) const;
  Vec like_int(uint64_t value) const;
  // Returns a type with this value's number of lanes.
  llvm::Type* with(llvm::Type* element) const;
  llvm::Type* float_type() const;  // with this value's number of bits and of lanes
  llvm::Type* int_type() const;
};

Vec operator+(Vec a, Vec b);
Vec operator-(Vec a, Vec b);
Vec operator*(Vec a, Vec b);
Vec operator/(Vec a, Vec b);  // floats only
Vec operator-(Vec a);
Vec operator&(Vec a, Vec b);
Vec operator|(Vec a, Vec b);
Vec operator^(Vec a, Vec b);
Vec operator~(Vec a);
Vec operator<<(Vec a, unsigned n);
Vec shr(Vec a, unsigned n);  // logical
Vec sar(Vec a, unsigned n);  // arithmetic
// A literal gets the other operand's type. It must be exact in that type, unless rounding it is
// intended.
inline Vec operator+(Vec a, double b) { return a + a.like(b); }
inline Vec operator-(Vec a, double b) { return a - a.like(b); }
inline Vec operator*(Vec a, double b) { return a * a.like(b); }
inline Vec operator+(double a, Vec b) { return b.like(a) + b; }
inline Vec operator-(double a, Vec b) { return b.like(a) - b; }
inline Vec operator*(double a, Vec b) { return b.like(a) * b; }
inline Vec operator/(double a, Vec b) { return b.like(a) / b; }
inline Vec operator/(Vec a, double b) { return a / a.like(b); }

// Comparisons return i1 lanes. Comparisons of floats are ordered, except !=, which is true for NaN.
// Comparisons of integers are signed, except ult.
Vec operator<(Vec a, Vec b);
Vec operator<=(Vec a, Vec b);
Vec operator>(Vec a, Vec b);
Vec operator>=(Vec a, Vec b);
Vec operator==(Vec a, Vec b);
Vec operator!=(Vec a, Vec b);
inline Vec operator<(Vec a, double b) { return a < a.like(b); }
inline Vec operator<=(Vec a, double b) { return a <= a.like(b); }
inline Vec operator>(Vec a, double b) { return a > a.like(b); }
inline Vec operator>=(Vec a, double b) { return a >= a.like(b); }
inline Vec operator==(Vec a, double b) { return a == a.like(b); }
inline Vec operator!=(Vec a, double b) { return a != a.like(b); }
Vec ult(Vec a, Vec b);
Vec is_nan(Vec a);

Vec select(Vec mask, Vec a, Vec b);
inline Vec select(Vec mask, Vec a, double b) { return select(mask, a, a.like(b)); }
inline Vec select(Vec mask, double a, Vec b) { return select(mask, b.like(a), b); }
Vec fma(Vec a, Vec b, Vec c);
inline Vec fma(Vec a, Vec b, double c) { return fma(a, b, a.like(c)); }
inline Vec fma(Vec a, double b, Vec c) { return fma(a, a.like(b), c); }
inline Vec fma(Vec a, double b, double c) { return fma(a, a.like(b), a.like(c)); }
Vec unary(llvm::Intrinsic::ID id, Vec a);
Vec binary(llvm::Intrinsic::ID id, Vec a, Vec b);
inline Vec abs(Vec a) { return unary(llvm::Intrinsic::fabs, a); }
inline Vec sqrt(Vec a) { return unary(llvm::Intrinsic::sqrt, a); }
inline Vec floor(Vec a) { return unary(llvm::Intrinsic::floor, a); }
inline Vec ceil(Vec a) { return unary(llvm::Intrinsic::ceil, a); }
inline Vec round_away(Vec a) { return unary(llvm::Intrinsic::round, a); }
inline Vec round_even(Vec a) { return unary(llvm::Intrinsic::roundeven, a); }
inline Vec truncate(Vec a) { return unary(llvm::Intrinsic::trunc, a); }
inline Vec copy_sign(Vec magnitude, Vec sign) {
  return binary(llvm::Intrinsic::copysign, magnitude, sign);
}
// Return b if either operand is NaN; this takes one instruction.
Vec fast_min(Vec a, Vec b);
Vec fast_max(Vec a, Vec b);
// Return IEEE 754-2019's minimum (base/extremum.h) in three instructions. The maximum is the
// negated minimum of the negated operands.
Vec ieee_min(Vec a, Vec b);
Vec bits_of(Vec a);        // the integer of the same width
Vec float_of_bits(Vec a);  // the float of the same width
Vec to_int(Vec a);         // float to the signed integer of the same width, in range
Vec to_float(Vec a);       // signed integer to the float of the same width
Vec widen(Vec a);          // f32 -> f64
Vec narrow(Vec a);         // f64 -> f32
Vec broadcast(Vec scalar, int lanes);
// Returns whether any lane of a mask is set, as an i1.
llvm::Value* any(Vec mask);
// Returns c[0] + x * (c[1] + x * (...)), computed by fused multiply-adds. The constant term comes
// first.
Vec polynomial(Vec x, std::span<const double> coefficients);
inline Vec polynomial(Vec x, std::initializer_list<double> coefficients) {
  return polynomial(x, std::span<const double>(coefficients.begin(), coefficients.size()));
}
// The same for x whose square is known: the even and the odd coefficients are two polynomials of
// the square, which do not wait for each other, with as many operations.
Vec polynomial(Vec x, Vec square, std::span<const double> coefficients);
inline Vec polynomial(Vec x, Vec square, std::initializer_list<double> coefficients) {
  return polynomial(x, square, std::span<const double>(coefficients.begin(), coefficients.size()));
}
llvm::MDNode* unlikely_weights(llvm::LLVMContext& context);
// Returns the value of `then` if `condition` (an i1) is true, otherwise `otherwise`; `then` is
// emitted into a block of its own.
template <class F>
Vec unlikely(llvm::Value* condition, Vec otherwise, F&& then) {
  Ir& ir = *otherwise.ir;
  auto& b = ir.builder;
  llvm::Function* fn = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* from = b.GetInsertBlock();
  auto* slow = llvm::BasicBlock::Create(b.getContext(), "slow", fn);
  auto* join = llvm::BasicBlock::Create(b.getContext(), "join", fn);
  b.CreateCondBr(condition, slow, join, unlikely_weights(b.getContext()));
  b.SetInsertPoint(slow);
  Vec other = then();
  llvm::BasicBlock* end = b.GetInsertBlock();
  b.CreateBr(join);
  b.SetInsertPoint(join);
  llvm::PHINode* phi = b.CreatePHI(otherwise.type(), 2);
  phi->addIncoming(otherwise.v, from);
  phi->addIncoming(other.v, end);
  return {ir, phi};
}

}  // namespace tessera::codegen
