// One scalar operation on one element.
#pragma once

#include <array>
#include <cstring>
#include <span>

#include "tessera/base/visit_dtype.h"
#include "tessera/ir/format.h"
#include "tessera/ir/scalar_expr.h"
#include "tessera/ops/convert.h"
#include "tessera/ops/scalar_math.h"

namespace tessera {

struct Scalar {
  DType dtype = float32;
  std::array<std::byte, 16> bytes{};
};

template <class T>
Scalar make_scalar(T value) {
  Scalar out{.dtype = dtype_of<T>};
  std::memcpy(out.bytes.data(), &value, sizeof(T));
  return out;
}
template <class T>
T scalar_as(const Scalar& x) {
  TESSERA_CHECK(x.dtype == dtype_of<T>, "a scalar of {}", x.dtype);
  T out;
  std::memcpy(&out, x.bytes.data(), sizeof(T));
  return out;
}

namespace interpreter {

template <class T>
constexpr bool is_half = std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>;

// The type arithmetic of T is done in.
template <class T>
auto widen(T x) {
  if constexpr (is_half<T>) {
    return static_cast<double>(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(x);
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    return scalar::Complex(x);
  } else {
    return x;
  }
}
template <class T, class W>
T narrow(W x) {
  if constexpr (is_half<T>) {
    return T(static_cast<float>(x));
  } else if constexpr (std::is_same_v<W, scalar::Complex>) {
    return T(static_cast<typename T::value_type>(x.real()),
             static_cast<typename T::value_type>(x.imag()));
  } else {
    return static_cast<T>(x);
  }
}

template <class W>
constexpr bool is_real = std::is_same_v<W, double>;
template <class W>
constexpr bool is_inexact_type = is_real<W> || std::is_same_v<W, scalar::Complex>;
template <class W>
constexpr bool is_integer_type = std::is_integral_v<W> && !std::is_same_v<W, bool>;

template <class W>
bool compare(ScalarOp op, W a, W b) {
  if (op == ScalarOp::kEq) return a == b;
  if (op == ScalarOp::kNe) return a != b;
  if constexpr (!std::is_same_v<W, scalar::Complex>) {
    switch (op) {
      case ScalarOp::kLt:
        return a < b;
      case ScalarOp::kLe:
        return a <= b;
      case ScalarOp::kGt:
        return a > b;
      case ScalarOp::kGe:
        return a >= b;
      default:
        break;
    }
  }
  TESSERA_CHECK(false, "comparison {}", static_cast<int>(op));
  return false;
}

template <class W>
W apply_same(ScalarOp op, std::span<const W> x) {
  if constexpr (!std::is_same_v<W, bool>) {
    switch (op) {
      case ScalarOp::kAdd:
        return scalar::add(x[0], x[1]);
      case ScalarOp::kSub:
        return scalar::subtract(x[0], x[1]);
      case ScalarOp::kMul:
        return scalar::multiply(x[0], x[1]);
      case ScalarOp::kDiv:
        return scalar::divide(x[0], x[1]);
      case ScalarOp::kPow:
        return scalar::power(x[0], x[1]);
      case ScalarOp::kMin:
        return scalar::minimum(x[0], x[1]);
      case ScalarOp::kMax:
        return scalar::maximum(x[0], x[1]);
      case ScalarOp::kNeg:
        return scalar::negate(x[0]);
      case ScalarOp::kAbs:
        return W(scalar::absolute(x[0]));
      case ScalarOp::kSign:
        return scalar::sign(x[0]);
      default:
        break;
    }
  }
  if constexpr (std::is_integral_v<W>) {
    switch (op) {
      case ScalarOp::kAnd:
        return static_cast<W>(x[0] & x[1]);
      case ScalarOp::kOr:
        return static_cast<W>(x[0] | x[1]);
      case ScalarOp::kXor:
        return static_cast<W>(x[0] ^ x[1]);
      case ScalarOp::kNot:
        return scalar::bitwise_not(x[0]);
      default:
        break;
    }
  }
  if constexpr (is_integer_type<W>) {
    switch (op) {
      case ScalarOp::kRem:
        return scalar::remainder(x[0], x[1]);
      case ScalarOp::kShl:
        return scalar::shift_left(x[0], x[1]);
      case ScalarOp::kShrLogical:
        return scalar::shift_right_logical(x[0], x[1]);
      case ScalarOp::kShrArithmetic:
        return scalar::shift_right_arithmetic(x[0], x[1]);
      case ScalarOp::kPopcnt:
        return scalar::popcount(x[0]);
      case ScalarOp::kClz:
        return scalar::leading_zeros(x[0]);
      default:
        break;
    }
  }
  if constexpr (is_inexact_type<W>) {
    switch (op) {
      case ScalarOp::kTan:
        return std::tan(x[0]);
      case ScalarOp::kSinh:
        return std::sinh(x[0]);
      case ScalarOp::kCosh:
        return std::cosh(x[0]);
      case ScalarOp::kAsin:
        return std::asin(x[0]);
      case ScalarOp::kAcos:
        return std::acos(x[0]);
      case ScalarOp::kAtan:
        return std::atan(x[0]);
      case ScalarOp::kAsinh:
        return std::asinh(x[0]);
      case ScalarOp::kAcosh:
        return std::acosh(x[0]);
      case ScalarOp::kAtanh:
        return std::atanh(x[0]);
      case ScalarOp::kCbrt:
        return scalar::cube_root(x[0]);
      case ScalarOp::kSqrt:
        return std::sqrt(x[0]);
      case ScalarOp::kRsqrt:
        return scalar::reciprocal(std::sqrt(x[0]));
      case ScalarOp::kExp:
        return std::exp(x[0]);
      case ScalarOp::kLog:
        return std::log(x[0]);
      case ScalarOp::kSin:
        return std::sin(x[0]);
      case ScalarOp::kCos:
        return std::cos(x[0]);
      case ScalarOp::kTanh:
        return std::tanh(x[0]);
      case ScalarOp::kLogistic:
        return scalar::logistic(x[0]);
      case ScalarOp::kExpm1:
        return scalar::expm1(x[0]);
      case ScalarOp::kLog1p:
        return scalar::log1p(x[0]);
      default:
        break;
    }
  }
  if constexpr (is_real<W>) {
    switch (op) {
      case ScalarOp::kRem:
        return scalar::remainder(x[0], x[1]);
      case ScalarOp::kFma:
        return x[0] * x[1] + x[2];
      case ScalarOp::kFloor:
        return std::floor(x[0]);
      case ScalarOp::kCeil:
        return std::ceil(x[0]);
      case ScalarOp::kRoundEven:
        return std::nearbyint(x[0]);
      case ScalarOp::kRoundAway:
        return std::round(x[0]);
      case ScalarOp::kErf:
        return std::erf(x[0]);
      case ScalarOp::kErfc:
        return std::erfc(x[0]);
      case ScalarOp::kLgamma:
        return scalar::lgamma(x[0]);
      case ScalarOp::kDigamma:
        return scalar::digamma(x[0]);
      case ScalarOp::kErfInv:
        return scalar::erf_inv(x[0]);
      case ScalarOp::kAtan2:
        return scalar::atan2(x[0], x[1]);
      default:
        break;
    }
  }
  TESSERA_CHECK(false, "the interpreter of the tests has no {}", static_cast<int>(op));
  return x[0];
}

// The next number of T after x towards y, by its bits.
template <class T>
T next_after(T x, T y) {
  using Bits = std::conditional_t<sizeof(T) == 2, uint16_t,
                                  std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
  const double from = widen(x), to = widen(y);
  if (from != from || from == to) return from != from ? x : y;
  if (to != to) return y;
  Bits bits;
  std::memcpy(&bits, &x, sizeof bits);
  if (from == 0) {
    bits = to < 0 ? static_cast<Bits>((Bits{1} << (8 * sizeof(T) - 1)) | 1) : Bits{1};
  } else {
    bits = static_cast<Bits>((from < to) == (from > 0) ? bits + 1 : bits - 1);
  }
  T out;
  std::memcpy(static_cast<void*>(&out), &bits, sizeof out);
  return out;
}

inline Scalar convert(const Scalar& x, DType to) {
  Literal from(x.dtype, {});
  std::memcpy(from.mutable_raw(), x.bytes.data(), static_cast<size_t>(itemsize(x.dtype)));
  const Literal out = convert_literal(from, to);
  Scalar result{.dtype = to};
  std::memcpy(result.bytes.data(), out.raw(), static_cast<size_t>(itemsize(to)));
  return result;
}

}  // namespace interpreter

inline Scalar apply_scalar(ScalarOp op, DType result, std::span<const Scalar> args) {
  using namespace interpreter;
  switch (op) {
    case ScalarOp::kSelect:
      return scalar_as<bool>(args[0]) ? args[1] : args[2];
    case ScalarOp::kConvert:
      return interpreter::convert(args[0], result);
    case ScalarOp::kBitcast:
      return {.dtype = result, .bytes = args[0].bytes};
    case ScalarOp::kNextAfter:
      return visit_dtype(result, [&]<class T>(TypeTag<T>) {
        if constexpr (std::is_same_v<decltype(widen(T{})), double>)
          return make_scalar(next_after(scalar_as<T>(args[0]), scalar_as<T>(args[1])));
        return Scalar{};
      });
    case ScalarOp::kIsFinite:
      return visit_dtype(args[0].dtype, [&]<class T>(TypeTag<T>) {
        if constexpr (is_real<decltype(widen(T{}))>)
          return make_scalar(std::isfinite(widen(scalar_as<T>(args[0]))));
        TESSERA_CHECK(false, "is_finite of {}", args[0].dtype);
        return Scalar{};
      });
    case ScalarOp::kEq:
    case ScalarOp::kNe:
    case ScalarOp::kLt:
    case ScalarOp::kLe:
    case ScalarOp::kGt:
    case ScalarOp::kGe:
      return visit_dtype(args[0].dtype, [&]<class T>(TypeTag<T>) {
        return make_scalar(compare(op, widen(scalar_as<T>(args[0])), widen(scalar_as<T>(args[1]))));
      });
    case ScalarOp::kComplex:
      return visit_dtype(result, [&]<class T>(TypeTag<T>) {
        if constexpr (std::is_same_v<decltype(widen(T{})), scalar::Complex>) {
          using Part = typename T::value_type;
          return make_scalar(T(scalar_as<Part>(args[0]), scalar_as<Part>(args[1])));
        }
        return Scalar{};
      });
    case ScalarOp::kReal:
    case ScalarOp::kImag:
      return visit_dtype(args[0].dtype, [&]<class T>(TypeTag<T>) {
        if constexpr (std::is_same_v<decltype(widen(T{})), scalar::Complex>) {
          const T z = scalar_as<T>(args[0]);
          return make_scalar(op == ScalarOp::kReal ? z.real() : z.imag());
        }
        return Scalar{};
      });
    default:
      return visit_dtype(result, [&]<class T>(TypeTag<T>) {
        using W = decltype(widen(T{}));
        std::array<W, 3> x{};
        for (size_t k = 0; k < args.size(); ++k) x[k] = widen(scalar_as<T>(args[k]));
        return make_scalar(narrow<T>(apply_same<W>(op, x)));
      });
  }
}

}  // namespace tessera
