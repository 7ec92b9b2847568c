// The scalar language: what happens to one element. Pointwise ops emit it, fusion strings it
// together, codegen turns it into vector instructions, and nothing else is ever vectorised.
#pragma once

#include <cstdint>
#include <span>

#include "tessera/base/dtype.h"
#include "tessera/base/shape.h"

namespace tessera {

// Closed: code generation switches over it exhaustively. The dtype of a node decides between
// integer, signed, unsigned, float and complex forms. float16 and bfloat16 are computed in float32
// and rounded where they are stored or converted.
enum class ScalarOp : uint8_t {
  // two operands of the result's dtype
  kAdd,
  kSub,
  kMul,
  kDiv,
  kRem,
  kMin,
  kMax,
  kPow,
  kAtan2,
  kNextAfter,
  kAnd,
  kOr,
  kXor,
  kShl,
  kShrLogical,
  kShrArithmetic,  // shifts by >= width give 0 or the sign
  // one operand of the result's dtype
  kNeg,
  kAbs,
  kNot,
  kSign,
  kSqrt,
  kRsqrt,
  kCbrt,
  kFloor,
  kCeil,
  kRoundEven,
  kRoundAway,
  kPopcnt,
  kClz,
  kExp,
  kExpm1,
  kLog,
  kLog1p,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kLogistic,
  kErf,
  kErfc,
  kErfInv,
  kLgamma,
  kDigamma,
  // a fused multiply-add: a * b + c, rounded once
  kFma,
  // two operands of one dtype, a bool result; float comparisons are IEEE's (ne is true for NaN)
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  // bool result
  kIsFinite,
  // (bool, a, b)
  kSelect,
  // another dtype: value-preserving as JAX converts (float to int truncates and saturates, NaN
  // gives 0), or the same bits
  kConvert,
  kBitcast,
  // complex from and to its parts
  kComplex,
  kReal,
  kImag,
};

// A handle to a node under construction.
struct Expr {
  int id = -1;
};

// What an emitter writes to. Implemented by fusion (into kernels) and by the scalar interpreter of
// the tests.
class ExprBuilder {
 public:
  virtual ~ExprBuilder() = default;
  virtual Expr apply(ScalarOp op, DType result, std::span<const Expr> args) = 0;
  // A scalar constant given as the bytes of one element.
  virtual Expr constant(DType dtype, const void* bytes) = 0;
  // The index of the element along dimension `dim` of the op's result, as `dtype` (an integer type
  // wraps).
  virtual Expr index(int dim, DType dtype) = 0;
  virtual DType dtype_of(Expr expr) const = 0;

  Expr apply(ScalarOp op, DType result, std::initializer_list<Expr> args) {
    return apply(op, result, std::span<const Expr>(args.begin(), args.size()));
  }
  // `value` converted to `dtype` on the host.
  Expr number(DType dtype, double value);
  Expr integer(DType dtype, int64_t value);
};

}  // namespace tessera
