// Computes one scalar operation on one element. The tests of ops, fusion and codegen share this
// interpreter. The value of an elementwise op comes from its row in ops/core/elementwise.def, so
// new ops work without code here.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "tessera/base/dtype_kinds.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/ir/format.h"
#include "tessera/ir/scalar_op.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/scalar_math.h"

namespace tessera {

using namespace ops;

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

// The type in which arithmetic of T is done.
template <class T>
auto widen(T x) {
  if constexpr (is_half_type<T> || std::is_floating_point_v<T>) {
    return element_cast<double>(x);
  } else if constexpr (is_complex_type<T>) {
    return scalar::Complex(x);
  } else {
    return x;
  }
}

// The kinds of elementwise.def whose values are computed in W. Signed and unsigned integers are
// treated the same: the absolute value is no op of unsigned integers, but it is a scalar operation.
template <class W>
constexpr dtype_kinds::Kinds kinds_of = std::is_same_v<W, bool>              ? dtype_kinds::kBools
                                        : std::is_integral_v<W>              ? dtype_kinds::kInt
                                        : std::is_same_v<W, scalar::Complex> ? dtype_kinds::kComplex
                                                                             : dtype_kinds::kFloat;

// Returns the rounding error of a float64 value, or 0 if the value is not finite.
template <class W>
W rounding(W value, long double exact) {
  return std::isfinite(value) ? static_cast<W>(exact - value) : W(0);
}

// Returns the value of an elementwise op by its row, of a low part, or of a quotient by a square
// root.
template <class W>
W row_value(ScalarOp op, const W& first, const W& second) {
  using namespace dtype_kinds;
  if constexpr (std::is_same_v<W, double>) {
    if (op == ScalarOp::kDivByRoot) return first / std::sqrt(second);
    if (op == ScalarOp::kExpLow) return rounding(std::exp(first), std::exp(1.0L * first));
    if (op == ScalarOp::kExpm1Low) return rounding(std::expm1(first), std::expm1(1.0L * first));
    if (op == ScalarOp::kSinLow) return rounding(std::sin(first), std::sin(1.0L * first));
    if (op == ScalarOp::kCosLow) return rounding(std::cos(first), std::cos(1.0L * first));
  }
  switch (op) {
#define UNARY(function, name, dialect, kinds, result, op_, complex_form, value, ...) \
  case ScalarOp::op_:                                                                \
    if constexpr (((kinds)&kinds_of<W>) != 0) {                                      \
      const W x = first;                                                             \
      return W(value);                                                               \
    }                                                                                \
    break;
#define BINARY(function, name, dialect, kinds, op_, complex_form, value, ...) \
  case ScalarOp::op_:                                                         \
    if constexpr (((kinds)&kinds_of<W>) != 0) {                               \
      const W x = first, y = second;                                          \
      return W(value);                                                        \
    }                                                                         \
    break;
#include "tessera/ops/core/elementwise.def"
#undef UNARY
#undef BINARY
    default:
      break;
  }
  TESSERA_CHECK(false, "{} has no value for such operands", scalar_op_name(op));
  return first;
}

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
  TESSERA_CHECK(false, "comparison {}", scalar_op_name(op));
  return false;
}

// Returns the next number of T after x towards y, by its bits.
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

// Returns x * y + z, rounded once; half types are computed in double.
template <class T>
T multiply_add(T x, T y, T z) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fma(x, y, z);
  } else if constexpr (is_half_type<T>) {
    return element_cast<T>(std::fma(widen(x), widen(y), widen(z)));
  } else {
    TESSERA_CHECK(false, "fma of {}", dtype_of<T>);
    return x;
  }
}

// Applies an operation by its signature; `T` is the dtype of the (last) operand.
template <class T>
Scalar apply_to(ScalarOp op, DType result, std::span<const Scalar> args) {
  using W = decltype(widen(T{}));
  const auto arg = [&](size_t k) { return scalar_as<T>(args[std::min(k, args.size() - 1)]); };
  switch (scalar_op_info(op).signature) {
    case ScalarSignature::kUnary:
    case ScalarSignature::kBinary:
      if constexpr (std::is_same_v<W, double>)
        if (op == ScalarOp::kNextAfter) return make_scalar(next_after(arg(0), arg(1)));
      return make_scalar(element_cast<T>(row_value<W>(op, widen(arg(0)), widen(arg(1)))));
    case ScalarSignature::kTernary:
      return make_scalar(multiply_add(arg(0), arg(1), arg(2)));
    case ScalarSignature::kPredicate:
      return make_scalar(row_value<W>(op, widen(arg(0)), W{}) != W{});
    case ScalarSignature::kComparison:
      return make_scalar(compare(op, widen(arg(0)), widen(arg(1))));
    case ScalarSignature::kSelect:
      return scalar_as<bool>(args[0]) ? args[1] : args[2];
    case ScalarSignature::kConvert:
      return interpreter::convert(args[0], result);
    case ScalarSignature::kBitcast:
      return {.dtype = result, .bytes = args[0].bytes};
    case ScalarSignature::kJoin:
      if constexpr (std::is_floating_point_v<T>)
        return make_scalar(std::complex<T>(arg(0), arg(1)));
      break;
    case ScalarSignature::kPart:
      if constexpr (is_complex_type<T>)
        return make_scalar(op == ScalarOp::kReal ? arg(0).real() : arg(0).imag());
      break;
  }
  TESSERA_CHECK(false, "{} of {}", scalar_op_name(op), dtype_of<T>);
  return {};
}

}  // namespace interpreter

inline Scalar apply_scalar(ScalarOp op, DType result, std::span<const Scalar> args) {
  // An element of a narrow dtype is handled as its bits: it is only selected or reinterpreted.
  const DType dtype = is_narrow(args.back().dtype) ? uint8 : args.back().dtype;
  return visit_dtype(
      dtype, [&]<class T>(TypeTag<T>) { return interpreter::apply_to<T>(op, result, args); });
}

}  // namespace tessera
