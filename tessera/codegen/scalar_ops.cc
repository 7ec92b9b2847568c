#include "tessera/codegen/scalar_ops.h"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "tessera/base/error.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/codegen/math.h"
#include "tessera/ir/format.h"

namespace tessera::codegen {
namespace {

using llvm::Value;

bool is_half(DType d) { return d == float16 || d == bfloat16; }

// f64 -> f32 rounded to odd: rounding the result once more to a narrower format gives what rounding
// once would.
Vec narrow_to_odd(Vec wide) {
  Vec near = narrow(wide);
  Vec back = widen(near);
  Vec bits = bits_of(near);
  auto& b = wide.ir->builder;
  Vec inexact{*wide.ir, b.CreateFCmpONE(back.v, wide.v)};
  Vec away = abs(back) > abs(wide);
  bits = select(away, bits - bits.like_int(1), bits);
  return float_of_bits(select(inexact, bits | bits.like_int(1), bits));
}

Vec round_half(DType dtype, Vec x) {
  auto& b = x.ir->builder;
  if (dtype == float16) {
    Value* half = b.CreateFPTrunc(x.v, x.with(b.getHalfTy()));
    return {*x.ir, b.CreateFPExt(half, x.type())};
  }
  Vec bits = bits_of(x);
  Vec even = shr(bits, 16) & bits.like_int(1);
  Vec up = (bits + bits.like_int(0x7fff)) + even;
  Vec r = select(is_nan(x), bits | bits.like_int(0x400000), up);
  return float_of_bits(r & r.like_int(0xffff0000));
}

// Integer to f32 or f64; to f32 for a half type without double rounding.
Vec int_to_float(DType from, DType to, Vec x) {
  auto& b = x.ir->builder;
  const bool is_signed = kind(from) == DTypeKind::kSigned;
  auto cast = [&](Vec value, llvm::Type* type) {
    Value* v = is_signed ? b.CreateSIToFP(value.v, value.with(type))
                         : b.CreateUIToFP(value.v, value.with(type));
    return Vec(*x.ir, v);
  };
  if (to == float64) return cast(x, b.getDoubleTy());
  if (!is_half(to) || itemsize(from) <= 2) return cast(x, b.getFloatTy());
  if (itemsize(from) == 8) {
    // Beyond 2^53 the low bits only matter as "not zero".
    Vec low = x & x.like_int(0xffff);
    Vec coarse = (x & x.like_int(~0xffffULL)) | x.like_int(0x8000);
    Vec magnitude =
        is_signed ? Vec(*x.ir, b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x.v, b.getFalse()))
                  : x;
    Vec large = ult(x.like_int(1ULL << 53), magnitude);
    x = select(large & (low != x.like_int(0)), coarse, x);
  }
  return narrow_to_odd(cast(x, b.getDoubleTy()));
}

Vec float_to_int(DType to, Vec x) {
  auto& b = x.ir->builder;
  const bool is_signed = kind(to) == DTypeKind::kSigned;
  llvm::Type* type = x.with(register_type(b.getContext(), to));
  return {*x.ir,
          b.CreateIntrinsic(is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                            {type, x.type()}, {x.v})};
}

const llvm::ConstantInt* splat_integer(llvm::Value* v) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(v);
  if (constant && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  return llvm::dyn_cast_or_null<llvm::ConstantInt>(constant);
}

const llvm::ConstantFP* splat_float(llvm::Value* v) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(v);
  if (constant && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  return llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
}

// Quotient and remainder as XLA defines them: x / 0 = -1, x rem 0 = x, and the smallest integer by
// -1 wraps.
Vec divide_ints(DType dtype, Vec a, Vec d, bool remainder) {
  auto& b = a.ir->builder;
  const bool is_signed = kind(dtype) == DTypeKind::kSigned;
  Vec zero = a.like_int(0);
  Vec quotient, rest;
  if (const llvm::ConstantInt* divisor = splat_integer(d.v)) {
    if (divisor->isZero()) return remainder ? a : a.like_int(~0ULL);
    if (is_signed && divisor->isMinusOne()) return remainder ? zero : -a;
    if (remainder) return {*a.ir, is_signed ? b.CreateSRem(a.v, d.v) : b.CreateURem(a.v, d.v)};
    return {*a.ir, is_signed ? b.CreateSDiv(a.v, d.v) : b.CreateUDiv(a.v, d.v)};
  }
  if (itemsize(dtype) == 8 || !a.is_vector()) {
    Vec unsafe = d == zero;
    if (is_signed) {
      Vec least = a.like_int(1ULL << (a.bits() - 1));
      unsafe = unsafe | ((a == least) & (d == a.like_int(~0ULL)));
    }
    Vec safe = select(unsafe, a.like_int(1), d);
    quotient = {*a.ir, is_signed ? b.CreateSDiv(a.v, safe.v) : b.CreateUDiv(a.v, safe.v)};
    rest = a - quotient * safe;
  } else {
    // Vectors have no integer division; a float of more than twice the bits rounds the quotient to
    // the right side of every integer, so truncation is exact. (-2^31 / -1 converts to the
    // "indefinite" value, which is -2^31.)
    llvm::Type* real = itemsize(dtype) == 4 ? b.getDoubleTy() : b.getFloatTy();
    llvm::Type* whole = itemsize(dtype) == 4 ? a.type() : a.with(b.getInt32Ty());
    auto to_real = [&](Vec x) {
      return Vec(*x.ir,
                 is_signed ? b.CreateSIToFP(x.v, x.with(real)) : b.CreateUIToFP(x.v, x.with(real)));
    };
    Vec safe = select(d == zero, a.like_int(1), d);
    Vec q = to_real(a) / to_real(safe);
    quotient = {*a.ir,
                b.CreateTrunc(is_signed ? b.CreateFPToSI(q.v, whole) : b.CreateFPToUI(q.v, whole),
                              a.type())};
    rest = a - quotient * safe;
  }
  if (remainder) return select(d == zero, a, rest);
  return select(d == zero, a.like_int(~0ULL), quotient);
}

// By squaring; a negative exponent gives the truncated reciprocal.
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
      return min_max(op == ScalarOp::kMax, dtype, a, c);
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

Vec emit_float_op(ScalarOp op, DType dtype, Vec a, Vec c, Vec d) {
  switch (op) {
    case ScalarOp::kAdd:
      return a + c;
    case ScalarOp::kSub:
      return a - c;
    case ScalarOp::kMul:
      return a * c;
    case ScalarOp::kDiv:
      return a / c;
    case ScalarOp::kFma:
      return fma(a, c, d);
    case ScalarOp::kMin:
    case ScalarOp::kMax:
      return min_max(op == ScalarOp::kMax, dtype, a, c);
    case ScalarOp::kNeg:
      return -a;
    case ScalarOp::kAbs:
      return abs(a);
    case ScalarOp::kSign:
      return select(is_nan(a) | (a == 0.0), a, copy_sign(a.like(1), a));
    case ScalarOp::kSqrt:
      return sqrt(a);
    case ScalarOp::kFloor:
      return unary(llvm::Intrinsic::floor, a);
    case ScalarOp::kCeil:
      return unary(llvm::Intrinsic::ceil, a);
    case ScalarOp::kRoundEven:
      return round_even(a);
    case ScalarOp::kRoundAway:
      return unary(llvm::Intrinsic::round, a);
    case ScalarOp::kEq:
      return a == c;
    case ScalarOp::kNe:
      return a != c;
    case ScalarOp::kLt:
      return a < c;
    case ScalarOp::kLe:
      return a <= c;
    case ScalarOp::kGt:
      return a > c;
    case ScalarOp::kGe:
      return a >= c;
    case ScalarOp::kIsFinite:
      return abs(a) < std::numeric_limits<double>::infinity();
    default:
      return emit_math(op, a, c);
  }
}

struct Pair {
  Vec re, im;
};

// Smith's division, with the special values of C's Annex G.
Pair divide_complex(Pair a, Pair d) {
  const double inf = std::numeric_limits<double>::infinity();
  Vec by_re = abs(d.re) >= abs(d.im);
  Vec big = select(by_re, d.re, d.im), small = select(by_re, d.im, d.re);
  Vec r = small / big;
  Vec q = fma(small, r, big);
  Vec x = select(by_re, a.re, a.im), y = select(by_re, a.im, a.re);
  Vec re = fma(y, r, x) / q;
  Vec im = select(by_re, fma(-a.re, r, a.im), fma(a.im, r, -a.re)) / q;
  auto finite = [&](Pair p) { return (abs(p.re) < inf) & (abs(p.im) < inf); };
  auto infinite = [&](Pair p) { return (abs(p.re) == inf) | (abs(p.im) == inf); };
  auto boxed = [&](Vec v) { return copy_sign(select(abs(v) == inf, v.like(1), v.like(0)), v); };

  Vec zero = (d.re == 0.0) & (d.im == 0.0);
  Vec signed_inf = copy_sign(d.re.like(inf), d.re);
  Vec infinite_result = infinite(a) & finite(d);
  Vec bre = boxed(a.re), bim = boxed(a.im);
  Vec zero_result = finite(a) & infinite(d);
  Vec dre = boxed(d.re), dim = boxed(d.im);
  Vec lost = is_nan(re) & is_nan(im);
  auto fix = [&](Vec value, Vec by_zero, Vec by_inf, Vec to_zero) {
    value = select(lost & zero_result, to_zero, value);
    value = select(lost & infinite_result, by_inf, value);
    return select(zero, by_zero, value);
  };
  return {fix(re, signed_inf * a.re, inf * fma(bre, d.re, bim * d.im),
              0.0 * fma(a.re, dre, a.im * dim)),
          fix(im, signed_inf * a.im, inf * fma(bim, d.re, -(bre * d.im)),
              0.0 * fma(a.im, dre, -(a.re * dim)))};
}

Val emit_complex_op(Ir& ir, ScalarOp op, std::span<const Val> args) {
  auto pair = [&](const Val& v) { return Pair{{ir, v.re}, {ir, v.im}}; };
  const Pair a = pair(args[0]);
  const Pair c = args.size() > 1 ? pair(args[1]) : a;
  auto val = [](Pair p) { return Val{p.re.v, p.im.v}; };
  switch (op) {
    case ScalarOp::kAdd:
      return val({a.re + c.re, a.im + c.im});
    case ScalarOp::kSub:
      return val({a.re - c.re, a.im - c.im});
    case ScalarOp::kMul:
      return val({fma(a.re, c.re, -(a.im * c.im)), fma(a.re, c.im, a.im * c.re)});
    case ScalarOp::kDiv:
      return val(divide_complex(a, c));
    case ScalarOp::kNeg:
      return val({-a.re, -a.im});
    case ScalarOp::kEq:
      return {((a.re == c.re) & (a.im == c.im)).v};
    case ScalarOp::kNe:
      return {((a.re != c.re) | (a.im != c.im)).v};
    case ScalarOp::kReal:
      return {a.re.v};
    case ScalarOp::kImag:
      return {a.im.v};
    default:
      TESSERA_CHECK(false, "operation {} on complex", static_cast<int>(op));
      return {};
  }
}

Val bitcast(Ir& ir, DType from, DType to, Val value) {
  if (is_complex(from)) return value;
  if (from == bool_) value = convert_val(ir, bool_, uint8, value);
  auto& b = ir.builder;
  Vec bits{ir, is_half(from) ? half_bits(ir, from, value) : value.re};
  if (is_half(to)) {
    return from_half_bits(ir, to, b.CreateBitCast(bits.v, bits.with(b.getInt16Ty())));
  }
  if (to == bool_) return {(bits != bits.like_int(0)).v};
  return {b.CreateBitCast(bits.v, bits.with(register_type(b.getContext(), to)))};
}

// Whether elements that are nearly the same may give results that are not.
bool jumps(ScalarOp op) {
  switch (op) {
    case ScalarOp::kRem:
    case ScalarOp::kSign:
    case ScalarOp::kFloor:
    case ScalarOp::kCeil:
    case ScalarOp::kRoundEven:
    case ScalarOp::kRoundAway:
    case ScalarOp::kIsFinite:
      return true;
    default:
      return op >= ScalarOp::kEq && op <= ScalarOp::kGe;
  }
}

}  // namespace

llvm::Type* register_type(llvm::LLVMContext& context, DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return llvm::Type::getInt1Ty(context);
    case DType::kFloat16:
    case DType::kBfloat16:
    case DType::kFloat32:
    case DType::kComplex64:
      return llvm::Type::getFloatTy(context);
    case DType::kFloat64:
    case DType::kComplex128:
      return llvm::Type::getDoubleTy(context);
    default:
      return llvm::Type::getIntNTy(context, static_cast<unsigned>(itemsize(dtype) * 8));
  }
}

int64_t register_bytes(DType dtype) {
  if (dtype == bool_) return 0;
  if (is_half(dtype)) return 4;
  return itemsize(real_dtype(dtype));
}

Val constant_val(Ir& ir, DType dtype, const void* bytes) {
  auto& b = ir.builder;
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) -> Val {
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    if constexpr (std::is_same_v<T, bool>) {
      return {b.getInt1(value)};
    } else if constexpr (std::is_integral_v<T>) {
      return {llvm::ConstantInt::get(register_type(b.getContext(), dtype),
                                     static_cast<uint64_t>(value))};
    } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                         std::is_same_v<T, std::complex<double>>) {
      llvm::Type* type = register_type(b.getContext(), dtype);
      return {llvm::ConstantFP::get(type, llvm::APFloat(value.real())),
              llvm::ConstantFP::get(type, llvm::APFloat(value.imag()))};
    } else if constexpr (std::is_same_v<T, double>) {
      return {llvm::ConstantFP::get(b.getDoubleTy(), llvm::APFloat(value))};
    } else {
      return {llvm::ConstantFP::get(b.getFloatTy(), llvm::APFloat(static_cast<float>(value)))};
    }
  });
}

Val number_val(Ir& ir, DType dtype, double value) {
  auto& b = ir.builder;
  llvm::Type* type = register_type(b.getContext(), dtype);
  if (type->isFloatingPointTy()) {
    llvm::Value* re = llvm::ConstantFP::get(type, value);
    return {re, is_complex(dtype) ? llvm::ConstantFP::get(type, 0.0) : nullptr};
  }
  return {llvm::ConstantInt::get(type, static_cast<uint64_t>(static_cast<int64_t>(value)), true)};
}

Val broadcast_val(Ir& ir, Val value, int lanes) {
  auto splat = [&](Value* v) -> Value* {
    if (!v || v->getType()->isVectorTy()) return v;
    if (auto* constant = llvm::dyn_cast<llvm::Constant>(v)) {
      const auto count = llvm::ElementCount::getFixed(static_cast<unsigned>(lanes));
      return llvm::ConstantVector::getSplat(count, constant);
    }
    return ir.builder.CreateVectorSplat(static_cast<unsigned>(lanes), v);
  };
  return {splat(value.re), splat(value.im), value.rounded};
}

Val broadcast_val(Ir& ir, Val value) { return broadcast_val(ir, value, ir.lanes); }

Val rounded_val(Ir& ir, DType dtype, Val value) {
  if (!is_half(dtype) || value.rounded) return value;
  return {round_half(dtype, {ir, value.re}).v};
}

Value* half_bits(Ir& ir, DType dtype, Val value) {
  auto& b = ir.builder;
  Vec x{ir, value.re};
  if (dtype == float16) {
    Value* half = b.CreateFPTrunc(x.v, x.with(b.getHalfTy()));
    return b.CreateBitCast(half, x.with(b.getInt16Ty()));
  }
  Vec bits = bits_of(Vec(ir, rounded_val(ir, dtype, value).re));
  return b.CreateTrunc(shr(bits, 16).v, x.with(b.getInt16Ty()));
}

Val from_half_bits(Ir& ir, DType dtype, Value* bits) {
  auto& b = ir.builder;
  Vec x{ir, bits};
  if (dtype == float16) {
    Value* half = b.CreateBitCast(bits, x.with(b.getHalfTy()));
    return {b.CreateFPExt(half, x.with(b.getFloatTy()))};
  }
  Vec wide{ir, b.CreateZExt(bits, x.with(b.getInt32Ty()))};
  return {float_of_bits(wide << 16).v};
}

Val convert_val(Ir& ir, DType from, DType to, Val value) {
  if (from == to) return rounded_val(ir, to, value);
  value = rounded_val(ir, from, value);
  auto& b = ir.builder;
  Vec x{ir, value.re};
  if (is_complex(to)) {
    const DType part = real_dtype(to);
    Val re = convert_val(ir, real_dtype(from), part, {value.re});
    Val im = is_complex(from) ? convert_val(ir, real_dtype(from), part, {value.im})
                              : Val{llvm::Constant::getNullValue(re.re->getType())};
    return {re.re, im.re};
  }
  if (is_complex(from)) {
    if (to == bool_) return {((x != 0.0) | (Vec(ir, value.im) != 0.0)).v};
    return convert_val(ir, real_dtype(from), to, {value.re});
  }
  llvm::Type* type = x.with(register_type(b.getContext(), to));
  if (to == bool_) return {is_floating(from) ? (x != 0.0).v : (x != x.like_int(0)).v};
  if (from == bool_) {
    return {is_floating(to) ? b.CreateUIToFP(x.v, type) : b.CreateZExt(x.v, type)};
  }
  if (is_integer(from) && is_integer(to)) return {b.CreateIntCast(x.v, type, is_signed(from))};
  if (is_integer(to)) return {float_to_int(to, x).v};
  Vec result = x;
  if (is_integer(from)) {
    result = int_to_float(from, to, x);
  } else if (from == float64) {
    result = is_half(to) ? narrow_to_odd(x) : narrow(x);
  } else if (to == float64) {
    result = widen(x);
  }
  // float16 and bfloat16 fit into f32, into each other not.
  return rounded_val(ir, to, {result.v, nullptr, !is_half(to)});
}

Val emit_scalar_op(Ir& ir, ScalarOp op, DType result, DType operand, std::span<const Val> given) {
  boost::container::small_vector<Val, 3> args(given.begin(), given.end());
  // A vector may be a part of one: reductions fold halves onto each other.
  int lanes = 1;
  for (const Val& arg : args) lanes = std::max(lanes, Vec(ir, arg.re).width());
  if (lanes > 1) {
    for (Val& arg : args) arg = broadcast_val(ir, arg, lanes);
  }
  auto vec = [&](size_t k) { return k < args.size() ? Vec(ir, args[k].re) : Vec(); };
  switch (op) {
    case ScalarOp::kSelect: {
      Val out{select(vec(0), vec(1), vec(2)).v, nullptr, args[1].rounded && args[2].rounded};
      if (args[1].im) out.im = select(vec(0), {ir, args[1].im}, {ir, args[2].im}).v;
      return out;
    }
    case ScalarOp::kConvert:
      return convert_val(ir, operand, result, args[0]);
    case ScalarOp::kBitcast:
      return bitcast(ir, operand, result, args[0]);
    case ScalarOp::kComplex:
      return {args[0].re, args[1].re};
    default:
      break;
  }
  if (is_complex(operand)) return emit_complex_op(ir, op, args);
  if (operand == bool_) return {emit_bool_op(op, vec(0), vec(1)).v};
  if (is_integer(operand)) return {emit_int_op(op, operand, vec(0), vec(1)).v};
  if (is_half(operand) && op == ScalarOp::kNextAfter) {
    // A step in the narrow format: on its bits.
    Vec x{ir, half_bits(ir, operand, args[0])}, y{ir, half_bits(ir, operand, args[1])};
    Vec fx{ir, rounded_val(ir, operand, args[0]).re}, fy{ir, rounded_val(ir, operand, args[1]).re};
    Vec magnitude = x & x.like_int(0x7fff);
    Vec up = (fx < fy) == (fx > 0.0);
    Vec step = select(up, x + x.like_int(1), x - x.like_int(1));
    Vec from_zero = (y & y.like_int(0x8000)) | y.like_int(1);
    Vec r = select(magnitude == x.like_int(0), from_zero, step);
    r = select(fx == fy, y, r);
    Vec value{ir, from_half_bits(ir, operand, r.v).re};
    return {select(is_nan(fx) | is_nan(fy), fx + fy, value).v};
  }
  // Results that jump are those of the elements as they would be stored.
  if (is_half(operand) && jumps(op))
    for (Val& arg : args) arg = rounded_val(ir, operand, arg);
  const bool rounds = is_half(operand) && is_half(result);
  const bool exact = op == ScalarOp::kNeg || op == ScalarOp::kAbs || op == ScalarOp::kMin ||
                     op == ScalarOp::kMax || op == ScalarOp::kSign || op == ScalarOp::kFloor ||
                     op == ScalarOp::kCeil || op == ScalarOp::kRoundEven;
  bool rounded = !rounds;
  if (rounds && exact) {
    rounded = true;
    for (const Val& arg : args) rounded = rounded && arg.rounded;
  }
  return {emit_float_op(op, operand, vec(0), vec(1), vec(2)).v, nullptr, rounded};
}

Vec min_max(bool is_max, DType dtype, Vec a, Vec b) {
  using namespace llvm;
  if (dtype == bool_) return is_max ? a | b : a & b;
  if (is_signed(dtype)) return binary(is_max ? Intrinsic::smax : Intrinsic::smin, a, b);
  if (is_unsigned(dtype)) return binary(is_max ? Intrinsic::umax : Intrinsic::umin, a, b);
  if (splat_float(a.v)) std::swap(a, b);
  const ConstantFP* bound = splat_float(b.v);
  if (bound && !bound->isNaN()) {
    // Gives `a` where it is NaN or equal, which only the wrong one of two zeros makes a difference
    // to.
    Vec m = is_max ? fast_max(b, a) : fast_min(b, a);
    if (!bound->isZero() || bound->isNegative() == is_max) return m;
    if (is_max) return m + 0.0;
  }
  return is_max ? -ieee_min(-a, -b) : ieee_min(a, b);
}

int op_weight(ScalarOp op, DType dtype) {
  const int wide = dtype == float64 ? 2 : 1;
  switch (op) {
    case ScalarOp::kDiv:
    case ScalarOp::kSqrt:
      return (is_integer(dtype) ? 12 : 4) * wide;
    case ScalarOp::kRsqrt:
      return 6 * wide;
    case ScalarOp::kRem:
    case ScalarOp::kPow:
      return 60;
    case ScalarOp::kMin:
    case ScalarOp::kMax:
      return is_inexact(dtype) ? 2 : 1;
    case ScalarOp::kExp:
    case ScalarOp::kExpm1:
    case ScalarOp::kLogistic:
      return 18 * wide;
    case ScalarOp::kLog:
    case ScalarOp::kLog1p:
    case ScalarOp::kSin:
    case ScalarOp::kCos:
    case ScalarOp::kTanh:
    case ScalarOp::kErf:
    case ScalarOp::kErfInv:
      return 25 * wide;
    default:
      break;
  }
  if (op >= ScalarOp::kCbrt && op <= ScalarOp::kDigamma && op != ScalarOp::kFloor &&
      op != ScalarOp::kCeil && op != ScalarOp::kRoundEven && op != ScalarOp::kRoundAway &&
      op != ScalarOp::kPopcnt && op != ScalarOp::kClz) {
    return 50 * wide;
  }
  return 1;
}

}  // namespace tessera::codegen
