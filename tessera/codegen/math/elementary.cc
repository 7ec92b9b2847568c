// Functions with the same code for f32 and f64.
#include "tessera/codegen/math/elementary.h"

#include <llvm/IR/Constants.h>

#include <limits>

namespace tessera::codegen {
namespace {

Vec extremum(bool is_max, Vec a, Vec b) {
  if (splat_float(a)) std::swap(a, b);
  const llvm::ConstantFP* bound = splat_float(b);
  if (bound && !bound->isNaN()) {
    // Returns `a` if `a` is NaN or both are equal. Only if both are zeros can that be the wrong
    // one.
    Vec m = is_max ? fast_max(b, a) : fast_min(b, a);
    if (!bound->isZero() || bound->isNegative() == is_max) return m;
    if (is_max) return m + 0.0;
  }
  return is_max ? -ieee_min(-a, -b) : ieee_min(a, b);
}

}  // namespace

const llvm::ConstantFP* splat_float(Vec x) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(x.v);
  if (constant && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  return llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
}

uint64_t bits_of_power(Vec x, int64_t exponent) {
  return x.is_f64() ? static_cast<uint64_t>(1023 + exponent) << 52
                    : static_cast<uint64_t>(127 + exponent) << 23;
}

bool is_two(Vec x) {
  const llvm::ConstantFP* constant = splat_float(x);
  return constant && constant->isExactlyValue(2.0);
}
bool is_one(Vec x) {
  const llvm::ConstantFP* constant = splat_float(x);
  return constant && constant->isExactlyValue(1.0);
}

std::optional<Vec> power_of_constant(Vec x, Vec y) {
  const llvm::ConstantFP* constant = splat_float(y);
  if (!constant) return std::nullopt;
  if (constant->isZero()) return x.like(1);
  if (constant->isExactlyValue(1.0)) return x;
  if (constant->isExactlyValue(-1.0)) return x.like(1) / x;
  if (constant->isExactlyValue(2.0)) return x * x;
  if (!constant->isExactlyValue(0.5)) return std::nullopt;
  // Unlike the square root, the power of -0 is 0, and that of negative infinity is infinite.
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  return select(x == -kInfinite, x.like(kInfinite), sqrt(x + 0.0));
}

Vec call_lanes(const char* helper, Vec x, Vec y) {
  Ir& ir = *x.ir;
  auto& b = ir.builder;
  llvm::AllocaInst *out = ir.stack_slot(x.type()), *in = ir.stack_slot(x.type()), *in2 = in;
  b.CreateAlignedStore(x.v, in, in->getAlign());
  if (y.v) {
    in2 = ir.stack_slot(y.type());
    b.CreateAlignedStore(y.v, in2, in2->getAlign());
  }
  ir.call_helper(helper, {out, in, in2, b.getInt32(static_cast<uint32_t>(x.width()))});
  return {ir, b.CreateAlignedLoad(x.type(), out, out->getAlign())};
}

Vec next_after(Vec x, Vec y) {
  Vec ix = bits_of(x), iy = bits_of(y);
  Vec one = ix.like_int(1);
  // A step away from zero increments the bits.
  Vec outward = (x < y) == (x > 0.0);
  Vec stepped = select(outward, ix + one, ix - one);
  Vec sign = iy & iy.like_int(1ULL << (iy.bits() - 1));
  Vec next = float_of_bits(select(x == 0.0, sign | one, stepped));
  next = select(x == y, y, next);
  return select(is_nan(x) | is_nan(y), x + y, next);
}

// Let q be a/b, rounded and truncated. If it is less than 2^digits, it is the whole quotient or, if
// a/b was rounded up to an integer, one more. a - q b is a multiple of the unit in b's last place
// and at most b, so fma computes it exactly, and so is the sum with b.
Vec remainder(Vec x, Vec y, const char* helper) {
  const double limit = x.is_f64() ? 0x1p53 : 0x1p24;
  Vec a = abs(x), b = abs(y);
  Vec q = truncate(a / b);
  Vec r = fma(-q, b, a);
  r = select(r < 0.0, r + b, r);
  r = copy_sign(select(a < b, a, r), x);  // q b is NaN if b is infinite
  Vec other = ~(q < limit);               // NaN, too
  return unlikely(any(other), r, [&] { return select(other, call_lanes(helper, x, y), r); });
}

Vec sign(Vec x) { return select(is_nan(x) | (x == 0.0), x, copy_sign(x.like(1), x)); }
Vec is_finite(Vec x) { return abs(x) < std::numeric_limits<double>::infinity(); }
Vec minimum(Vec x, Vec y) { return extremum(false, x, y); }
Vec maximum(Vec x, Vec y) { return extremum(true, x, y); }

}  // namespace tessera::codegen
