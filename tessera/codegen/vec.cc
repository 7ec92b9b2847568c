#include "tessera/codegen/vec.h"

#include <llvm/IR/MDBuilder.h>

#include "tessera/base/error.h"

namespace tessera::codegen {

using llvm::Intrinsic::ID;

llvm::AllocaInst* Ir::stack_slot(llvm::Type* type, unsigned align) {
  llvm::IRBuilder<> entry(alloca_point);
  llvm::AllocaInst* slot = entry.CreateAlloca(type);
  slot->setAlignment(llvm::Align(align));
  return slot;
}

llvm::CallInst* Ir::call_helper(const char* name, llvm::ArrayRef<llvm::Value*> args) {
  std::vector<llvm::Type*> types;
  for (llvm::Value* arg : args) types.push_back(arg->getType());
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), types, false);
  llvm::FunctionCallee callee = module.getOrInsertFunction(name, type);
  llvm::cast<llvm::Function>(callee.getCallee())->setDoesNotThrow();
  return builder.CreateCall(callee, args);
}

int Vec::width() const {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type());
  return vector ? static_cast<int>(vector->getNumElements()) : 1;
}

Vec Vec::like(double value) const {
  if (is_float()) return {*ir, llvm::ConstantFP::get(type(), value)};
  return {*ir,
          llvm::ConstantInt::get(type(), static_cast<uint64_t>(static_cast<int64_t>(value)), true)};
}
Vec Vec::like_int(uint64_t value) const {
  return {*ir, llvm::ConstantInt::get(type(), llvm::APInt(64, value).trunc(bits()))};
}
llvm::Type* Vec::with(llvm::Type* element) const {
  return is_vector() ? llvm::FixedVectorType::get(element, width()) : element;
}
llvm::Type* Vec::float_type() const {
  auto& b = ir->builder;
  return with(bits() == 64 ? b.getDoubleTy() : bits() == 16 ? b.getHalfTy() : b.getFloatTy());
}
llvm::Type* Vec::int_type() const { return with(ir->builder.getIntNTy(bits())); }

#define TESSERA_VEC_OPERATOR(op, Float, Int)                                              \
  Vec operator op(Vec a, Vec b) {                                                         \
    auto& ir = a.ir->builder;                                                             \
    return {*a.ir, a.is_float() ? ir.Create##Float(a.v, b.v) : ir.Create##Int(a.v, b.v)}; \
  }
TESSERA_VEC_OPERATOR(+, FAdd, Add)
TESSERA_VEC_OPERATOR(-, FSub, Sub)
TESSERA_VEC_OPERATOR(*, FMul, Mul)
TESSERA_VEC_OPERATOR(<, FCmpOLT, ICmpSLT)
TESSERA_VEC_OPERATOR(<=, FCmpOLE, ICmpSLE)
TESSERA_VEC_OPERATOR(>, FCmpOGT, ICmpSGT)
TESSERA_VEC_OPERATOR(>=, FCmpOGE, ICmpSGE)
TESSERA_VEC_OPERATOR(==, FCmpOEQ, ICmpEQ)
TESSERA_VEC_OPERATOR(!=, FCmpUNE, ICmpNE)
#undef TESSERA_VEC_OPERATOR

Vec operator/(Vec a, Vec b) { return {*a.ir, a.ir->builder.CreateFDiv(a.v, b.v)}; }
Vec operator-(Vec a) {
  auto& b = a.ir->builder;
  return {*a.ir, a.is_float() ? b.CreateFNeg(a.v) : b.CreateNeg(a.v)};
}
Vec operator&(Vec a, Vec b) { return {*a.ir, a.ir->builder.CreateAnd(a.v, b.v)}; }
Vec operator|(Vec a, Vec b) { return {*a.ir, a.ir->builder.CreateOr(a.v, b.v)}; }
Vec operator^(Vec a, Vec b) { return {*a.ir, a.ir->builder.CreateXor(a.v, b.v)}; }
Vec operator~(Vec a) { return {*a.ir, a.ir->builder.CreateNot(a.v)}; }
Vec operator<<(Vec a, unsigned n) { return {*a.ir, a.ir->builder.CreateShl(a.v, a.like_int(n).v)}; }
Vec shr(Vec a, unsigned n) { return {*a.ir, a.ir->builder.CreateLShr(a.v, a.like_int(n).v)}; }
Vec sar(Vec a, unsigned n) { return {*a.ir, a.ir->builder.CreateAShr(a.v, a.like_int(n).v)}; }
Vec ult(Vec a, Vec b) { return {*a.ir, a.ir->builder.CreateICmpULT(a.v, b.v)}; }
Vec is_nan(Vec a) { return {*a.ir, a.ir->builder.CreateFCmpUNO(a.v, a.v)}; }

Vec select(Vec mask, Vec a, Vec b) { return {*a.ir, a.ir->builder.CreateSelect(mask.v, a.v, b.v)}; }
Vec fma(Vec a, Vec b, Vec c) {
  return {*a.ir, a.ir->builder.CreateIntrinsic(llvm::Intrinsic::fma, {a.type()}, {a.v, b.v, c.v})};
}
Vec unary(ID id, Vec a) { return {*a.ir, a.ir->builder.CreateUnaryIntrinsic(id, a.v)}; }
Vec binary(ID id, Vec a, Vec b) {
  return {*a.ir, a.ir->builder.CreateBinaryIntrinsic(id, a.v, b.v)};
}
Vec fast_min(Vec a, Vec b) { return select(a < b, a, b); }
Vec fast_max(Vec a, Vec b) { return select(a > b, a, b); }
Vec ieee_min(Vec a, Vec b) {
  return float_of_bits(bits_of(fast_min(a, b)) | bits_of(fast_min(b, a)));
}
Vec bits_of(Vec a) { return {*a.ir, a.ir->builder.CreateBitCast(a.v, a.int_type())}; }
Vec float_of_bits(Vec a) { return {*a.ir, a.ir->builder.CreateBitCast(a.v, a.float_type())}; }
Vec to_int(Vec a) { return {*a.ir, a.ir->builder.CreateFPToSI(a.v, a.int_type())}; }
Vec to_float(Vec a) { return {*a.ir, a.ir->builder.CreateSIToFP(a.v, a.float_type())}; }
Vec widen(Vec a) {
  return {*a.ir, a.ir->builder.CreateFPExt(a.v, a.with(a.ir->builder.getDoubleTy()))};
}
Vec narrow(Vec a) {
  return {*a.ir, a.ir->builder.CreateFPTrunc(a.v, a.with(a.ir->builder.getFloatTy()))};
}
Vec broadcast(Vec scalar, int lanes) {
  if (scalar.is_vector()) return scalar;
  return {*scalar.ir, scalar.ir->builder.CreateVectorSplat(lanes, scalar.v)};
}

llvm::Value* any(Vec mask) {
  if (!mask.is_vector()) return mask.v;
  auto& b = mask.ir->builder;
  llvm::Value* packed = b.CreateBitCast(mask.v, b.getIntNTy(mask.width()));
  return b.CreateICmpNE(packed, llvm::ConstantInt::get(packed->getType(), 0));
}

Vec polynomial(Vec x, std::span<const double> coefficients) {
  Vec sum = x.like(coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) sum = fma(sum, x, coefficients[i]);
  return sum;
}

Vec polynomial(Vec x, Vec square, std::span<const double> coefficients) {
  std::vector<double> halves[2];
  for (size_t i = 0; i < coefficients.size(); ++i) halves[i % 2].push_back(coefficients[i]);
  return fma(polynomial(square, halves[1]), x, polynomial(square, halves[0]));
}

llvm::MDNode* unlikely_weights(llvm::LLVMContext& context) {
  return llvm::MDBuilder(context).createBranchWeights(1, 2000);
}

}  // namespace tessera::codegen
