#include "tessera/codegen/integer_ops.h"

#include <llvm/IR/Constants.h>

#include <bit>

#include "tessera/base/error.h"
#include "tessera/ir/format.h"

namespace tessera::codegen {
namespace {

const llvm::ConstantInt* splat_integer(llvm::Value* v) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(v);
  if (constant && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  return llvm::dyn_cast_or_null<llvm::ConstantInt>(constant);
}

// Returns the quotient or the remainder of integers of any size, with the CPU's division: one lane
// after the other.
Vec divide_lanes(DType dtype, Vec a, Vec d, bool remainder) {
  auto& b = a.ir->builder;
  const bool is_signed = kind(dtype) == DTypeKind::kSigned;
  Vec zero = a.like_int(0), unsafe = d == zero;
  if (is_signed) {
    Vec least = a.like_int(1ULL << (a.bits() - 1));
    unsafe = unsafe | ((a == least) & (d == a.like_int(~0ULL)));
  }
  Vec safe = select(unsafe, a.like_int(1), d);
  Vec quotient = {*a.ir, is_signed ? b.CreateSDiv(a.v, safe.v) : b.CreateUDiv(a.v, safe.v)};
  if (remainder) return select(d == zero, a, a - quotient * safe);
  return select(d == zero, a.like_int(~0ULL), quotient);
}

// Integers of 64 bits of at most this magnitude are added to kShift as floats: the sum's last bits
// are the integer's.
constexpr uint64_t kExact = uint64_t{1} << 51;
constexpr double kShift = 3.0 * static_cast<double>(kExact);
constexpr uint64_t kShiftBits = std::bit_cast<uint64_t>(kShift);

// Returns the quotient or the remainder of vectors of 64 bits. If all of the vectors' elements are
// small, floats compute it: the quotient a / d differs from every integer by at least 1 / d, which
// is more than half a unit in its last place, so truncating the rounded quotient is exact.
Vec divide_wide(DType dtype, Vec a, Vec d, bool remainder) {
  Ir& ir = *a.ir;
  auto& b = ir.builder;
  const bool is_signed = kind(dtype) == DTypeKind::kSigned;
  const auto is_small = [&](Vec x) {
    return is_signed ? ult(x + a.like_int(kExact), a.like_int(2 * kExact))
                     : ult(x, a.like_int(kExact));
  };
  llvm::Function* fn = b.GetInsertBlock()->getParent();
  auto* small = llvm::BasicBlock::Create(b.getContext(), "divide.small", fn);
  auto* large = llvm::BasicBlock::Create(b.getContext(), "divide.large", fn);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "divide.done", fn);
  Vec fits = is_small(a) & is_small(d) & (d != a.like_int(0));
  b.CreateCondBr(any(~fits), large, small);

  b.SetInsertPoint(small);
  llvm::Type* real = a.with(b.getDoubleTy());
  const auto to_real = [&](Vec x) {
    Vec shifted{ir, b.CreateBitCast((x + a.like_int(kShiftBits)).v, real)};
    return shifted - shifted.like(kShift);
  };
  Vec dividend = to_real(a), divisor = to_real(d), whole = truncate(dividend / divisor);
  if (remainder) whole = dividend - whole * divisor;
  Vec shifted{ir, b.CreateBitCast((whole + whole.like(kShift)).v, a.type())};
  Vec near = shifted - a.like_int(kShiftBits);
  b.CreateBr(done);

  b.SetInsertPoint(large);
  Vec far = divide_lanes(dtype, a, d, remainder);
  llvm::BasicBlock* far_end = b.GetInsertBlock();
  b.CreateBr(done);

  b.SetInsertPoint(done);
  llvm::PHINode* out = b.CreatePHI(a.type(), 2);
  out->addIncoming(near.v, small);
  out->addIncoming(far.v, far_end);
  return {ir, out};
}

// Returns the quotient or the remainder as XLA defines them: x / 0 = -1, x rem 0 = x, and the
// smallest integer divided by -1 wraps.
Vec divide_ints(DType dtype, Vec a, Vec d, bool remainder) {
  auto& b = a.ir->builder;
  const bool is_signed = kind(dtype) == DTypeKind::kSigned;
  if (const llvm::ConstantInt* divisor = splat_integer(d.v)) {
    if (divisor->isZero()) return remainder ? a : a.like_int(~0ULL);
    if (is_signed && divisor->isMinusOne()) return remainder ? a.like_int(0) : -a;
    const bool shifts = divisor->getValue().isPowerOf2();
    if (shifts || itemsize(dtype) < 8 || !a.is_vector()) {
      if (remainder) return {*a.ir, is_signed ? b.CreateSRem(a.v, d.v) : b.CreateURem(a.v, d.v)};
      return {*a.ir, is_signed ? b.CreateSDiv(a.v, d.v) : b.CreateUDiv(a.v, d.v)};
    }
  }
  if (!a.is_vector()) return divide_lanes(dtype, a, d, remainder);
  if (itemsize(dtype) == 8) return divide_wide(dtype, a, d, remainder);
  // Vectors have no integer division. A float with more than twice the bits rounds the quotient to
  // the right side of every integer, so truncating it is exact. (-2^31 / -1 converts to the
  // "indefinite" value, which is -2^31.)
  llvm::Type* real = itemsize(dtype) == 4 ? b.getDoubleTy() : b.getFloatTy();
  llvm::Type* whole = itemsize(dtype) == 4 ? a.type() : a.with(b.getInt32Ty());
  auto to_real = [&](Vec x) {
    return Vec(*x.ir,
               is_signed ? b.CreateSIToFP(x.v, x.with(real)) : b.CreateUIToFP(x.v, x.with(real)));
  };
  Vec zero = a.like_int(0), safe = select(d == zero, a.like_int(1), d);
  Vec q = to_real(a) / to_real(safe);
  Vec quotient = {
      *a.ir,
      b.CreateTrunc(is_signed ? b.CreateFPToSI(q.v, whole) : b.CreateFPToUI(q.v, whole), a.type())};
  if (remainder) return select(d == zero, a, a - quotient * safe);
  return select(d == zero, a.like_int(~0ULL), quotient);
}

// Computes the power by squaring. A negative exponent returns the truncated reciprocal.
Vec pow_ints(DType dtype, Vec base, Vec exponent) {
  Ir& ir = *base.ir;
  auto& b = ir.builder;
  llvm::Function* fn = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* from = b.GetInsertBlock();
  auto* header = llvm::BasicBlock::Create(b.getContext(), "pow", fn);
  auto* body = llvm::BasicBlock::Create(b.getContext(), "pow.body", fn);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "pow.done", fn);
  Vec zero = base.like_int(0), one = base.like_int(1);
  Vec start = exponent;
  if (kind(dtype) == DTypeKind::kSigned) start = select(exponent < zero, zero, exponent);
  b.CreateBr(header);
  b.SetInsertPoint(header);
  auto phi = [&](Vec init) {
    llvm::PHINode* p = b.CreatePHI(init.type(), 2);
    p->addIncoming(init.v, from);
    return p;
  };
  llvm::PHINode *result = phi(one), *square = phi(base), *left = phi(start);
  b.CreateCondBr(any(Vec(ir, left) != zero), body, done);
  b.SetInsertPoint(body);
  Vec odd = (Vec(ir, left) & one) != zero;
  Vec product = Vec(ir, result) * Vec(ir, square);
  result->addIncoming(select(odd, product, Vec(ir, result)).v, body);
  square->addIncoming((Vec(ir, square) * Vec(ir, square)).v, body);
  left->addIncoming(shr(Vec(ir, left), 1).v, body);
  b.CreateBr(header);
  b.SetInsertPoint(done);
  Vec out{ir, result};
  if (kind(dtype) != DTypeKind::kSigned) return out;
  Vec minus_one = base.like_int(~0ULL);
  Vec sign = select((exponent & one) != zero, minus_one, one);
  Vec reciprocal = select(base == one, one, select(base == minus_one, sign, zero));
  return select(exponent < zero, reciprocal, out);
}

Vec shift(ScalarOp op, Vec a, Vec n) {
  auto& b = a.ir->builder;
  Vec width = a.like_int(a.bits());
  Vec inside = ult(n, width);
  if (op == ScalarOp::kShrArithmetic) {
    Vec amount = select(inside, n, width - a.like_int(1));
    return {*a.ir, b.CreateAShr(a.v, amount.v)};
  }
  Vec shifted{*a.ir, op == ScalarOp::kShl ? b.CreateShl(a.v, n.v) : b.CreateLShr(a.v, n.v)};
  return select(inside, shifted, a.like_int(0));
}

}  // namespace

Vec emit_bool_op(ScalarOp op, Vec a, Vec c) {
  switch (op) {
    case ScalarOp::kAdd:
    case ScalarOp::kOr:
    case ScalarOp::kMax:
      return a | c;
    case ScalarOp::kMul:
    case ScalarOp::kAnd:
    case ScalarOp::kMin:
      return a & c;
    case ScalarOp::kXor:
    case ScalarOp::kNe:
      return a ^ c;
    case ScalarOp::kEq:
      return ~(a ^ c);
    case ScalarOp::kNot:
      return ~a;
    case ScalarOp::kLt:
      return ~a & c;
    case ScalarOp::kLe:
      return ~a | c;
    case ScalarOp::kGt:
      return a & ~c;
    case ScalarOp::kGe:
      return a | ~c;
    default:
      TESSERA_CHECK(false, "operation {} on bool", static_cast<int>(op));
      return a;
  }
}

Vec emit_int_op(ScalarOp op, DType dtype, Vec a, Vec c) {
  auto& b = a.ir->builder;
  Ir& ir = *a.ir;
  const bool is_signed = kind(dtype) == DTypeKind::kSigned;
  auto compare = [&](llvm::CmpInst::Predicate s, llvm::CmpInst::Predicate u) {
    return Vec(ir, b.CreateICmp(is_signed ? s : u, a.v, c.v));
  };
  using P = llvm::CmpInst;
  switch (op) {
    case ScalarOp::kAdd:
      return a + c;
    case ScalarOp::kSub:
      return a - c;
    case ScalarOp::kMul:
      return a * c;
    case ScalarOp::kDiv:
      return divide_ints(dtype, a, c, false);
    case ScalarOp::kRem:
      return divide_ints(dtype, a, c, true);
    case ScalarOp::kMin:
    case ScalarOp::kMax:
      return int_extremum(op == ScalarOp::kMax, dtype, a, c);
    case ScalarOp::kPow:
      return pow_ints(dtype, a, c);
    case ScalarOp::kAnd:
      return a & c;
    case ScalarOp::kOr:
      return a | c;
    case ScalarOp::kXor:
      return a ^ c;
    case ScalarOp::kShl:
    case ScalarOp::kShrLogical:
    case ScalarOp::kShrArithmetic:
      return shift(op, a, c);
    case ScalarOp::kNeg:
      return -a;
    case ScalarOp::kNot:
      return ~a;
    case ScalarOp::kAbs:
      if (!is_signed) return a;
      return {ir, b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a.v, b.getFalse())};
    case ScalarOp::kSign: {
      Vec positive = select(a == a.like_int(0), a.like_int(0), a.like_int(1));
      return is_signed ? select(a < a.like_int(0), a.like_int(~0ULL), positive) : positive;
    }
    case ScalarOp::kPopcnt:
      return unary(llvm::Intrinsic::ctpop, a);
    case ScalarOp::kClz:
      return {ir, b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, a.v, b.getFalse())};
    case ScalarOp::kEq:
      return a == c;
    case ScalarOp::kNe:
      return a != c;
    case ScalarOp::kLt:
      return compare(P::ICMP_SLT, P::ICMP_ULT);
    case ScalarOp::kLe:
      return compare(P::ICMP_SLE, P::ICMP_ULE);
    case ScalarOp::kGt:
      return compare(P::ICMP_SGT, P::ICMP_UGT);
    case ScalarOp::kGe:
      return compare(P::ICMP_SGE, P::ICMP_UGE);
    default:
      TESSERA_CHECK(false, "operation {} on {}", static_cast<int>(op), dtype);
      return a;
  }
}

Vec int_extremum(bool is_max, DType dtype, Vec x, Vec y) {
  using namespace llvm;
  if (is_signed(dtype)) return binary(is_max ? Intrinsic::smax : Intrinsic::smin, x, y);
  return binary(is_max ? Intrinsic::umax : Intrinsic::umin, x, y);
}

}  // namespace tessera::codegen
