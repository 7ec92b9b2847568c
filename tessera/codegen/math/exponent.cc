#include "tessera/codegen/math/exponent.h"

#include <llvm/Analysis/VectorUtils.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace tessera::codegen {
namespace {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

constexpr double kEndless = std::numeric_limits<double>::infinity();
constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();
constexpr unsigned kRegisterBits = 512;

// The instructions exist for whole registers.
bool fills_registers(Vec x) {
  const unsigned bits = x.is_vector() ? x.bits() * static_cast<unsigned>(x.width()) : 0;
  return x.ir->target.avx512 && (bits == kRegisterBits / 2 || bits % kRegisterBits == 0) && bits;
}

// Calls f for each register of the vectors, which have the same type, and joins its results.
Vec by_registers(Vec x, Vec y, const std::function<Value*(Value*, Value*)>& f) {
  const int each = std::min(x.width(), static_cast<int>(kRegisterBits / x.bits()));
  if (each == x.width()) return {*x.ir, f(x.v, y.v)};
  auto& b = x.ir->builder;
  std::vector<Value*> parts;
  std::vector<int> lanes(static_cast<size_t>(each));
  for (int from = 0; from < x.width(); from += each) {
    std::iota(lanes.begin(), lanes.end(), from);
    parts.push_back(f(b.CreateShuffleVector(x.v, lanes), b.CreateShuffleVector(y.v, lanes)));
  }
  return {*x.ir, llvm::concatenateVectors(b, parts)};
}

// Calls an instruction's intrinsic for all lanes of a register. The operands that select lanes come
// after `args`, and after them, for 512 bits, the current rounding mode.
Value* call(Ir& ir, Intrinsic::ID of_256, Intrinsic::ID of_512, std::vector<Value*> args) {
  auto& b = ir.builder;
  const auto* type = llvm::cast<llvm::FixedVectorType>(args[0]->getType());
  const unsigned lanes = type->getNumElements();
  const bool whole = lanes * type->getScalarSizeInBits() == kRegisterBits;
  args.push_back(args[0]);
  args.push_back(llvm::ConstantInt::getAllOnesValue(b.getIntNTy(std::max(8U, lanes))));
  if (whole) args.push_back(b.getInt32(4));
  return b.CreateIntrinsic(whole ? of_512 : of_256, {}, args);
}

Scaled scaled_by_instructions(Vec x) {
  const bool wide = x.is_f64();
  Ir& ir = *x.ir;
  // 3: the mantissa is in [3/4, 3/2). 8: that of a negative number is NaN.
  Vec mantissa = by_registers(x, x, [&](Value* v, Value*) {
    return call(ir,
                wide ? Intrinsic::x86_avx512_mask_getmant_pd_256
                     : Intrinsic::x86_avx512_mask_getmant_ps_256,
                wide ? Intrinsic::x86_avx512_mask_getmant_pd_512
                     : Intrinsic::x86_avx512_mask_getmant_ps_512,
                {v, ir.builder.getInt32(3 | 8)});
  });
  Vec floor = by_registers(x, x, [&](Value* v, Value*) {
    return call(
        ir,
        wide ? Intrinsic::x86_avx512_mask_getexp_pd_256 : Intrinsic::x86_avx512_mask_getexp_ps_256,
        wide ? Intrinsic::x86_avx512_mask_getexp_pd_512 : Intrinsic::x86_avx512_mask_getexp_ps_512,
        {v});
  });
  return {select(mantissa < 1.0, floor + 1.0, floor), mantissa};
}

}  // namespace

Scaled scaled_of(Vec x, Denormals denormals) {
  if (fills_registers(x)) return scaled_by_instructions(x);
  const bool wide = x.is_f64();
  const unsigned digits = wide ? 52 : 23;
  const uint64_t one = wide ? 0x3ff0000000000000 : 0x3f800000,
                 least = wide ? 0x3fe8000000000000 : 0x3f400000;  // 3/4
  const bool all_normal = denormals == Denormals::kNone;
  Vec small = x < (wide ? 0x1p-1022 : 0x1p-126);
  Vec bits = bits_of(all_normal ? x : select(small, x * (wide ? 0x1p54 : 0x1p23), x));
  // The exponent is biased, so that it shifts as an unsigned number and becomes a float by being
  // the low bits of one.
  Vec biased = shr(bits + bits.like_int(one - least), digits);
  Vec mantissa = float_of_bits((bits + bits.like_int(one)) - (biased << digits));
  Vec exponent = float_of_bits(biased | bits.like_int(wide ? 0x4330000000000000 : 0x4b000000)) -
                 (wide ? 0x1p52 + 1023 : 0x1p23 + 127);
  if (!all_normal) exponent = select(small, exponent - (wide ? 54.0 : 23.0), exponent);
  exponent = select(x < kEndless, exponent, x);
  exponent = select(x == 0.0, -kEndless, exponent);
  // The instructions return a negative NaN, too.
  return {exponent, select(x < 0.0, -kNoValue, mantissa)};
}

std::optional<Vec> scaled_by_instruction(Vec p, Vec n) {
  if (!fills_registers(p)) return {};
  const bool wide = p.is_f64();
  return by_registers(p, n, [&](Value* v, Value* power) {
    return call(
        *p.ir,
        wide ? Intrinsic::x86_avx512_mask_scalef_pd_256 : Intrinsic::x86_avx512_mask_scalef_ps_256,
        wide ? Intrinsic::x86_avx512_mask_scalef_pd_512 : Intrinsic::x86_avx512_mask_scalef_ps_512,
        {v, power});
  });
}

Vec divided_by_power(Vec p, Vec exponent) {
  if (const std::optional<Vec> scaled = scaled_by_instruction(p, -exponent)) return *scaled;
  const bool wide = p.is_f64();
  // The sum ends in the biased exponent of 2^-exponent; 0 if it is too small for a normal number.
  const double bias = wide ? 1023 : 127, magic = wide ? 0x1.8p52 : 0x1.8p23;
  Vec limited = fast_min(p.like(bias), exponent);
  return p * float_of_bits(bits_of((magic + bias) - limited) << (wide ? 52 : 23));
}

}  // namespace tessera::codegen
