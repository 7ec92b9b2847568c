// Dispatch of elementary functions, and what f32 and f64 share.
#include "tessera/codegen/math.h"

#include <string>

#include "tessera/base/error.h"
#include "tessera/codegen/helpers.h"
#include "tessera/fusion/kernel_body.h"

namespace tessera::codegen {

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
  // Away from zero is up in the bits.
  Vec outward = (x < y) == (x > 0.0);
  Vec stepped = select(outward, ix + one, ix - one);
  Vec sign = iy & iy.like_int(1ULL << (iy.bits() - 1));
  Vec next = float_of_bits(select(x == 0.0, sign | one, stepped));
  next = select(x == y, y, next);
  return select(is_nan(x) | is_nan(y), x + y, next);
}

Vec emit_math(ScalarOp op, Vec x, Vec y) {
  if (op == ScalarOp::kNextAfter) return next_after(x, y);
  if (op == ScalarOp::kRsqrt) return 1.0 / sqrt(x);
  if (x.is_f64()) {
    switch (op) {
      case ScalarOp::kExp:
        return exp_f64(x);
      case ScalarOp::kExpm1:
        return expm1_f64(x);
      case ScalarOp::kLog:
        return log_f64(x);
      case ScalarOp::kSin:
        return sin_cos_f64(x, false);
      case ScalarOp::kCos:
        return sin_cos_f64(x, true);
      case ScalarOp::kTanh:
        return tanh_f64(x);
      case ScalarOp::kLogistic:
        return logistic_f64(x);
      default:
        return call_lanes(("tessera_f64_" + std::string(scalar_op_name(op))).c_str(), x, y);
    }
  }
  switch (op) {
    case ScalarOp::kRem:
      return call_lanes(kRemLanes, x, y);
    case ScalarOp::kPow:
      return pow_f32(x, y);
    case ScalarOp::kAtan2:
      return atan2_f32(x, y);
    case ScalarOp::kCbrt:
      return cbrt_f32(x);
    case ScalarOp::kExp:
      return exp_f32(x);
    case ScalarOp::kExpm1:
      return expm1_f32(x);
    case ScalarOp::kLog:
      return log_f32(x);
    case ScalarOp::kLog1p:
      return log1p_f32(x);
    case ScalarOp::kSin:
      return sin_cos_f32(x, false);
    case ScalarOp::kCos:
      return sin_cos_f32(x, true);
    case ScalarOp::kTan:
      return tan_f32(x);
    case ScalarOp::kAsin:
      return asin_f32(x);
    case ScalarOp::kAcos:
      return acos_f32(x);
    case ScalarOp::kAtan:
      return atan_f32(x);
    case ScalarOp::kSinh:
      return sinh_f32(x);
    case ScalarOp::kCosh:
      return cosh_f32(x);
    case ScalarOp::kTanh:
      return tanh_f32(x);
    case ScalarOp::kAsinh:
      return asinh_f32(x);
    case ScalarOp::kAcosh:
      return acosh_f32(x);
    case ScalarOp::kAtanh:
      return atanh_f32(x);
    case ScalarOp::kLogistic:
      return logistic_f32(x);
    case ScalarOp::kErf:
      return erf_f32(x);
    case ScalarOp::kErfc:
      return erfc_f32(x);
    case ScalarOp::kErfInv:
      return erf_inv_f32(x);
    case ScalarOp::kLgamma:
      return lgamma_f32(x);
    case ScalarOp::kDigamma:
      return digamma_f32(x);
    default:
      TESSERA_CHECK(false, "no elementary function {}", scalar_op_name(op));
      return {};
  }
}

}  // namespace tessera::codegen
