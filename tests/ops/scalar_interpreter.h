// Interprets what emitters write, on whole host arrays: every node holds its value for all elements
// of the result at once. The other reader of the scalar language beside code generation; agrees
// with it because both agree with evaluate.
#pragma once

#include "tessera/ops/elementwise.h"
#include "tessera/ops/elementwise_family.h"

namespace tessera::testing_ops {

class ScalarInterpreter final : public ExprBuilder {
 public:
  explicit ScalarInterpreter(Shape shape) : shape_(std::move(shape)) {}

  // An operand: of the result's shape, or a scalar that is read everywhere.
  Expr operand(const Literal& x) { return add(x.shape() == shape_ ? x : spread(x)); }
  const Literal& value(Expr e) const { return nodes_[e.id]; }

  using ExprBuilder::apply;
  Expr apply(ScalarOp op, DType result, std::span<const Expr> args) override {
    std::vector<Literal> x;
    for (Expr e : args) x.push_back(value(e));
    Literal out = compute(op, result, x);
    TESSERA_CHECK(out.dtype() == result, "op {} gives {}, not {}", static_cast<int>(op),
                  out.dtype(), result);
    return add(std::move(out));
  }
  Expr constant(DType dtype, const void* bytes) override {
    Literal one(dtype, {});
    std::memcpy(one.mutable_raw(), bytes, static_cast<size_t>(itemsize(dtype)));
    return add(spread(one));
  }
  Expr index(int dim, DType dtype) override {
    Literal out(int64, shape_);
    const Dims strides = row_major_strides(shape_);
    for (int64_t i = 0; i < out.elements(); ++i)
      out.mutable_data<int64_t>()[i] = i / strides[dim] % shape_[dim];
    return add(convert_literal(out, dtype));
  }
  DType dtype_of(Expr e) const override { return value(e).dtype(); }

 private:
  Expr add(Literal x) {
    nodes_.push_back(std::move(x));
    return {static_cast<int>(nodes_.size()) - 1};
  }
  Literal spread(const Literal& scalar) const {
    TESSERA_CHECK(scalar.elements() == 1 && scalar.shape().empty(), "{} under {}", scalar.shape(),
                  shape_);
    Literal out(scalar.dtype(), shape_);
    const auto item = static_cast<size_t>(itemsize(scalar.dtype()));
    for (int64_t i = 0; i < out.elements(); ++i)
      std::memcpy(out.mutable_raw() + i * item, scalar.raw(), item);
    return out;
  }

  static Literal compute(ScalarOp op, DType result, const std::vector<Literal>& x);

  Shape shape_;
  std::vector<Literal> nodes_;
};

inline Literal ScalarInterpreter::compute(ScalarOp op, DType result,
                                          const std::vector<Literal>& x) {
  using namespace elementwise;
  auto unary = [&]<Kinds kinds>(auto f) { return map_literals<kinds>(result, f, x.at(0)); };
  auto real = [&](auto f) { return map_literals<kFloat>(result, f, x.at(0)); };
#define BINARY_OF(kinds, expression) \
  return map_literals<(kinds)>(      \
      result, [](auto a, decltype(a) b) -> decltype(a) { return expression; }, x.at(0), x.at(1))
#define COMPARE_OF(kinds, sign) \
  return map_literals<(kinds)>( \
      result, [](auto a, decltype(a) b) { return a sign b; }, x.at(0), x.at(1))
  switch (op) {
    case ScalarOp::kAdd:
      BINARY_OF(kNumber, scalar::add(a, b));
    case ScalarOp::kSub:
      BINARY_OF(kNumber, scalar::subtract(a, b));
    case ScalarOp::kMul:
      BINARY_OF(kNumber, scalar::multiply(a, b));
    case ScalarOp::kDiv:
      BINARY_OF(kReal, scalar::divide(a, b));
    case ScalarOp::kRem:
      BINARY_OF(kReal, scalar::remainder(a, b));
    case ScalarOp::kMin:
      BINARY_OF(kReal, scalar::minimum(a, b));
    case ScalarOp::kMax:
      BINARY_OF(kReal, scalar::maximum(a, b));
    case ScalarOp::kPow:
      BINARY_OF(kReal, scalar::power(a, b));
    case ScalarOp::kAtan2:
      BINARY_OF(kFloat, scalar::atan2(a, b));
    case ScalarOp::kNextAfter:
      return nextafter_op.evaluate(x, NoParams{})[0];
    case ScalarOp::kAnd:
      BINARY_OF(kBits, static_cast<decltype(a)>(a & b));
    case ScalarOp::kOr:
      BINARY_OF(kBits, static_cast<decltype(a)>(a | b));
    case ScalarOp::kXor:
      BINARY_OF(kBits, static_cast<decltype(a)>(a ^ b));
    case ScalarOp::kShl:
      BINARY_OF(kInt, scalar::shift_left(a, b));
    case ScalarOp::kShrLogical:
      BINARY_OF(kInt, scalar::shift_right_logical(a, b));
    case ScalarOp::kShrArithmetic:
      BINARY_OF(kInt, scalar::shift_right_arithmetic(a, b));
    case ScalarOp::kNeg:
      return unary.operator()<kNumber>([](auto a) { return scalar::negate(a); });
    case ScalarOp::kAbs:
      return unary.operator()<kSigned | kFloat>([](auto a) { return scalar::absolute(a); });
    case ScalarOp::kNot:
      return unary.operator()<kBits>([](auto a) { return scalar::bitwise_not(a); });
    case ScalarOp::kSign:
      return unary.operator()<kSigned | kFloat>([](auto a) { return scalar::sign(a); });
    case ScalarOp::kPopcnt:
      return unary.operator()<kInt>([](auto a) { return scalar::popcount(a); });
    case ScalarOp::kClz:
      return unary.operator()<kInt>([](auto a) { return scalar::leading_zeros(a); });
    case ScalarOp::kSqrt:
      return real([](double a) { return std::sqrt(a); });
    case ScalarOp::kRsqrt:
      return real([](double a) { return 1 / std::sqrt(a); });
    case ScalarOp::kCbrt:
      return real([](double a) { return std::cbrt(a); });
    case ScalarOp::kFloor:
      return real([](double a) { return std::floor(a); });
    case ScalarOp::kCeil:
      return real([](double a) { return std::ceil(a); });
    case ScalarOp::kRoundEven:
      return real([](double a) { return std::nearbyint(a); });
    case ScalarOp::kRoundAway:
      return real([](double a) { return std::round(a); });
    case ScalarOp::kExp:
      return real([](double a) { return std::exp(a); });
    case ScalarOp::kExpm1:
      return real([](double a) { return std::expm1(a); });
    case ScalarOp::kLog:
      return real([](double a) { return std::log(a); });
    case ScalarOp::kLog1p:
      return real([](double a) { return std::log1p(a); });
    case ScalarOp::kSin:
      return real([](double a) { return std::sin(a); });
    case ScalarOp::kCos:
      return real([](double a) { return std::cos(a); });
    case ScalarOp::kTan:
      return real([](double a) { return std::tan(a); });
    case ScalarOp::kAsin:
      return real([](double a) { return std::asin(a); });
    case ScalarOp::kAcos:
      return real([](double a) { return std::acos(a); });
    case ScalarOp::kAtan:
      return real([](double a) { return std::atan(a); });
    case ScalarOp::kSinh:
      return real([](double a) { return std::sinh(a); });
    case ScalarOp::kCosh:
      return real([](double a) { return std::cosh(a); });
    case ScalarOp::kTanh:
      return real([](double a) { return std::tanh(a); });
    case ScalarOp::kAsinh:
      return real([](double a) { return std::asinh(a); });
    case ScalarOp::kAcosh:
      return real([](double a) { return std::acosh(a); });
    case ScalarOp::kAtanh:
      return real([](double a) { return std::atanh(a); });
    case ScalarOp::kLogistic:
      return real([](double a) { return scalar::logistic(a); });
    case ScalarOp::kErf:
      return real([](double a) { return std::erf(a); });
    case ScalarOp::kErfc:
      return real([](double a) { return std::erfc(a); });
    case ScalarOp::kErfInv:
      return real([](double a) { return scalar::erf_inv(a); });
    case ScalarOp::kLgamma:
      return real([](double a) { return scalar::lgamma(a); });
    case ScalarOp::kDigamma:
      return real([](double a) { return scalar::digamma(a); });
    case ScalarOp::kFma:
      return map_literals<kFloat>(
          result, [](double a, double b, double c) { return std::fma(a, b, c); }, x.at(0), x.at(1),
          x.at(2));
    case ScalarOp::kEq:
      COMPARE_OF(kAny, ==);
    case ScalarOp::kNe:
      COMPARE_OF(kAny, !=);
    case ScalarOp::kLt:
      COMPARE_OF(kReal | kBools, <);
    case ScalarOp::kLe:
      COMPARE_OF(kReal | kBools, <=);
    case ScalarOp::kGt:
      COMPARE_OF(kReal | kBools, >);
    case ScalarOp::kGe:
      COMPARE_OF(kReal | kBools, >=);
    case ScalarOp::kIsFinite:
      return real([](double a) { return std::isfinite(a); });
    case ScalarOp::kSelect:
      return select_op.evaluate(x, NoParams{})[0];
    case ScalarOp::kConvert:
      TESSERA_CHECK(!is_complex(result) && !is_complex(x.at(0).dtype()),
                    "complex numbers are converted by parts");
      return convert_literal(x.at(0), result);
    case ScalarOp::kBitcast: {
      TESSERA_CHECK(itemsize(result) == itemsize(x.at(0).dtype()), "a bitcast keeps the width");
      Literal out(result, x[0].shape());
      std::memcpy(out.mutable_raw(), x[0].raw(), static_cast<size_t>(out.bytes()));
      return out;
    }
    case ScalarOp::kComplex:
      return map_literals<kFloat>(
          result, [](double a, double b) { return scalar::Complex(a, b); }, x.at(0), x.at(1));
    case ScalarOp::kReal:
      return map_literals<kComplex>(
          result, [](scalar::Complex a) { return a.real(); }, x.at(0));
    case ScalarOp::kImag:
      return map_literals<kComplex>(
          result, [](scalar::Complex a) { return a.imag(); }, x.at(0));
  }
#undef BINARY_OF
#undef COMPARE_OF
  TESSERA_CHECK(false, "op {}", static_cast<int>(op));
  return {};
}

}  // namespace tessera::testing_ops
