#include "tessera/codegen/val.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/PatternMatch.h>

#include <cmath>
#include <cstring>
#include <optional>

#include "tessera/base/visit_dtype.h"

namespace tessera::codegen {
namespace {

using llvm::Value;

// Returns an f64 as f32, rounded to odd. Rounding that again to a narrower format has the same
// result as rounding once.
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

// Returns f32 rounded to bfloat16, as the upper half of its bits, by integer operations.
Vec round_by_integers(Vec x) {
  Vec bits = bits_of(x);
  Vec even = shr(bits, 16) & bits.like_int(1);
  Vec up = (bits + bits.like_int(0x7fff)) + even;
  return select(is_nan(x), bits | bits.like_int(0x400000), up);
}

// Returns f32 rounded to bfloat16, as i16, by the instruction of AVX-512; nothing if the target or
// this number of lanes has none. The instruction takes denormal numbers for zeros, so vectors that
// have one are rounded by integer operations, in a branch. In kernels that store bfloat16 this is
// half of the work: layer normalisation of rows of 128 takes 0.57 of the time.
std::optional<Vec> bfloat16_bits_by_instruction(Vec x) {
  if (!x.ir->target.avx512_bf16 || !x.is_vector() || (x.width() != 16 && x.width() != 8)) return {};
  constexpr int kDenormal = 0x20;
  auto& b = x.ir->builder;
  const bool whole = x.width() == 16;
  Value* near = b.CreateIntrinsic(whole ? llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_512
                                        : llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_256,
                                  {}, {x.v});
  Value* denormal = b.CreateIntrinsic(whole ? llvm::Intrinsic::x86_avx512_fpclass_ps_512
                                            : llvm::Intrinsic::x86_avx512_fpclass_ps_256,
                                      {}, {x.v, b.getInt32(kDenormal)});
  llvm::Type* type = x.with(b.getInt16Ty());
  return unlikely(any({*x.ir, denormal}), {*x.ir, b.CreateBitCast(near, type)},
                  [&] { return Vec(*x.ir, b.CreateTrunc(shr(round_by_integers(x), 16).v, type)); });
}

// Returns the i16 that from_half_bits made this bfloat16 of; null if it was not made so. LLVM sees
// this only within a block.
Value* widened_bits(Value* bfloat16) {
  using namespace llvm::PatternMatch;
  Value* bits = nullptr;
  const bool found = match(bfloat16, m_BitCast(m_Shl(m_ZExt(m_Value(bits)), m_SpecificInt(16))));
  return found && bits->getType()->getScalarSizeInBits() == 16 ? bits : nullptr;
}

Vec round_half(DType dtype, Vec x) {
  auto& b = x.ir->builder;
  if (dtype == float16) {
    Value* half = b.CreateFPTrunc(x.v, x.with(b.getHalfTy()));
    return {*x.ir, b.CreateFPExt(half, x.type())};
  }
  if (const std::optional<Vec> bits = bfloat16_bits_by_instruction(x))
    return {*x.ir, from_half_bits(*x.ir, dtype, bits->v).re};
  Vec r = round_by_integers(x);
  return float_of_bits(r & r.like_int(0xffff0000));
}

// Returns an integer as f32 or f64. float16 and bfloat16 are held as f32, without double rounding.
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
  // Above 2^53 (of 32 bits: 2^24) only whether the low bits are zero matters.
  const bool wide = itemsize(from) == 8;
  const uint64_t below = wide ? 0xffff : 0x1ff, middle = wide ? 0x8000 : 0x100;
  Vec low = x & x.like_int(below);
  Vec coarse = (x & x.like_int(~below)) | x.like_int(middle);
  Vec magnitude =
      is_signed ? Vec(*x.ir, b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x.v, b.getFalse())) : x;
  Vec large = ult(x.like_int(uint64_t{1} << (wide ? 53 : 24)), magnitude);
  x = select(large & (low != x.like_int(0)), coarse, x);
  if (!wide) return cast(x, b.getFloatTy());
  return narrow_to_odd(cast(x, b.getDoubleTy()));
}

Vec float_to_int(DType to, Vec x) {
  auto& b = x.ir->builder;
  const bool is_signed = kind(to) == DTypeKind::kSigned;
  llvm::Type* type = x.with(register_type(b.getContext(), to));
  const auto bits = static_cast<int>(itemsize(to) * 8);
  if (!x.is_vector())
    return {*x.ir,
            b.CreateIntrinsic(is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                              {type, x.type()}, {x.v})};
  // Clamps to floats whose integers fit and converts those, in 32 bits if they have fewer: LLVM's
  // own saturating conversion converts lane by lane.
  const int digits = x.is_f64() ? 53 : 24, binary = is_signed ? bits - 1 : bits;
  const bool exact = binary <= digits;
  const double low = is_signed ? -std::ldexp(1.0, bits - 1) : 0, limit = std::ldexp(1.0, binary);
  const double high = limit - (exact ? 1 : std::ldexp(1.0, binary - digits));  // below the limit
  Vec clamped = select(x > low, x, low);                                       // NaN becomes `low`
  clamped = select(clamped < high, clamped, high);
  llvm::Type* wide = bits < 32 ? x.with(b.getInt32Ty()) : type;
  Vec integer{*x.ir, is_signed || bits < 32 ? b.CreateFPToSI(clamped.v, wide)
                                            : b.CreateFPToUI(clamped.v, wide)};
  if (!exact)
    integer = select(x >= limit, integer.like_int(~uint64_t{0} >> (64 - binary)), integer);
  // An unsigned `low` is 0 already.
  if (is_signed) integer = select(is_nan(x), integer.like_int(0), integer);
  return {*x.ir, b.CreateTrunc(integer.v, type)};
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
  if (is_narrow(dtype)) return constant_val(ir, uint8, bytes);  // returns its bits
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
  Value* rounded = rounded_val(ir, dtype, value).re;
  if (Value* known = widened_bits(rounded)) return known;
  Vec bits = bits_of(Vec(ir, rounded));
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
  // float16 and bfloat16 fit into f32, but not into each other.
  return rounded_val(ir, to, {result.v, nullptr, !is_half(to)});
}

Val bitcast_val(Ir& ir, DType from, DType to, Val value) {
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

}  // namespace tessera::codegen
