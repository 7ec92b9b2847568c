// chlo.next_after, computed on the bits of a float.
#include <bit>

#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/elementwise_family.h"

namespace tessera::ops {
namespace {

using namespace elementwise;

DType integer_of(DType dtype) {
  return itemsize(dtype) == 2 ? int16 : itemsize(dtype) == 4 ? int32 : int64;
}

template <class T>
T next(T x, T y) {
  using Bits = std::conditional_t<sizeof(T) == 2, uint16_t,
                                  std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
  using Value = std::conditional_t<sizeof(T) == 8, double, float>;
  const Value a = static_cast<Value>(x), b = static_cast<Value>(y);
  if (std::isnan(a)) return x;
  if (std::isnan(b) || a == b) return y;
  Bits bits = std::bit_cast<Bits>(x);
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (sizeof(T) * 8 - 1));
  if (a == 0) {
    bits = static_cast<Bits>((std::bit_cast<Bits>(y) & kSign) | 1);
  } else {
    bits = static_cast<Bits>((a < b) == (a > 0) ? bits + 1 : bits - 1);
  }
  return std::bit_cast<T>(bits);
}

std::vector<Literal> evaluate_next(std::span<const Literal> operands, const NoParams&) {
  Literal out(operands[0].dtype(), operands[0].shape());
  visit_dtype(out.dtype(), [&]<class T>(TypeTag<T>) {
    if constexpr (dtype_of<T> == float16 || dtype_of<T> == bfloat16 ||
                  std::is_floating_point_v<T>) {
      for (int64_t i = 0; i < out.elements(); ++i)
        out.mutable_data<T>()[i] = next(operands[0].data<T>()[i], operands[1].data<T>()[i]);
    } else {
      TESSERA_CHECK(false, "{} is not floating-point", dtype_name(out.dtype()));
    }
  });
  return {out};
}

// Kernels compute two-byte floats in float32, where the next number is a different one. So the step
// is taken on the two-byte number's own bits. All is computed on bits, so that a kernel can do it
// without float32 (fusion/kernels/half_bits.h).
Expr emit_next(ExprBuilder& b, std::span<const Expr> args, const OpParams&, std::span<const Type>,
               const Type& result) {
  const DType dtype = result.dtype, bits_type = integer_of(dtype);
  if (itemsize(dtype) > 2) return b.apply(ScalarOp::kNextAfter, dtype, args);
  const auto op = [&](ScalarOp which, Expr left, Expr right) {
    return b.apply(which, bits_type, {left, right});
  };
  const auto compare = [&](ScalarOp which, Expr left, Expr right) {
    return b.apply(which, bool_, {left, right});
  };
  const auto select = [&](Expr p, Expr yes, Expr no) {
    return b.apply(ScalarOp::kSelect, bits_type, {p, yes, no});
  };
  const auto number = [&](int64_t value) { return b.integer(bits_type, value); };
  const Expr x = b.apply(ScalarOp::kBitcast, bits_type, {args[0]}),
             y = b.apply(ScalarOp::kBitcast, bits_type, {args[1]});
  const Expr magnitude = op(ScalarOp::kAnd, x, number(0x7fff)),
             y_magnitude = op(ScalarOp::kAnd, y, number(0x7fff));
  // Returns an integer with the order of the floats: both zeros are 0.
  const auto in_order = [&](Expr bits, Expr absolute) {
    const Expr sign = op(ScalarOp::kShrArithmetic, bits, number(15));
    return op(ScalarOp::kSub, op(ScalarOp::kXor, absolute, sign), sign);
  };
  const Expr x_order = in_order(x, magnitude), y_order = in_order(y, y_magnitude);
  const Expr infinity = number(dtype == bfloat16 ? 0x7f80 : 0x7c00), zero = number(0);
  const Expr up = compare(ScalarOp::kLt, x_order, y_order),
             positive = compare(ScalarOp::kGt, x, zero);
  const Expr away = compare(ScalarOp::kEq, up, positive);
  const Expr moved = op(ScalarOp::kAdd, x, select(away, number(1), number(-1)));
  const Expr smallest = op(ScalarOp::kOr, op(ScalarOp::kAnd, y, number(-32768)), number(1));
  const Expr stepped = select(compare(ScalarOp::kEq, magnitude, zero), smallest, moved);
  const Expr same = compare(ScalarOp::kEq, x_order, y_order);
  const Expr x_nan = compare(ScalarOp::kGt, magnitude, infinity),
             y_nan = compare(ScalarOp::kGt, y_magnitude, infinity);
  const Expr next =
      select(x_nan, x, select(b.apply(ScalarOp::kOr, bool_, {y_nan, same}), y, stepped));
  return b.apply(ScalarOp::kBitcast, dtype, {next});
}

}  // namespace

const OpDef& nextafter_op = define<NoParams>({
    .name = "next_after",
    .dialect = "chlo",
    .infer = [](std::span<const Type> x,
                const NoParams&) { return infer("next_after", kFloat, ResultIs::kSame, 2, x); },
    .evaluate = evaluate_next,
    .factors = [](std::span<const Type> x, std::span<const Type> z,
                  const NoParams&) { return pointwise_factors(x, z); },
    .lower = Pointwise{emit_next},
    .jvp = {[](std::span<const Array> x, std::span<const Array> t, const NoParams&) {
      return JvpResult{{lax::nextafter(x[0], x[1])}, {t[0]}};  // the result moves with x
    }},
    .transpose = absent("the op is not linear"),
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const NoParams& p) {
      return batch_pointwise(nextafter_op, p, x, dims);
    }},
    .samples = [] { return samples(kFloat, 2, -2, 2); },
});

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

Array nextafter(const Array& x, const Array& y) {
  return bind_op1(nextafter_op, NoParams{}, {x, y});
}

}  // namespace tessera::lax
