#include "tessera/ops/core/compare.h"

#include <bit>
#include <limits>

#include "tessera/ops/core/elementwise_family.h"

namespace tessera::ops {

CompareType default_compare_type(DType dtype) {
  switch (kind(dtype)) {
    case DTypeKind::kBool:
    case DTypeKind::kUnsigned:
      return CompareType::kUnsigned;
    case DTypeKind::kSigned:
      return CompareType::kSigned;
    case DTypeKind::kFloat:
    case DTypeKind::kComplex:
      return CompareType::kFloat;
  }
  __builtin_unreachable();
}

namespace {

using namespace elementwise;

std::vector<Type> infer_compare(std::span<const Type> operands, const CompareParams& params) {
  std::vector<Type> out = infer("compare", kAny, ResultIs::kPredicate, 2, operands);
  const DType dtype = operands[0].dtype;
  const bool total = params.type == CompareType::kTotalOrder && is_floating(dtype);
  if (params.type != default_compare_type(dtype) && !total)
    type_error("compare", "expected comparison type {} for {} (C3), got {}",
               enum_names(CompareType{})[static_cast<size_t>(default_compare_type(dtype))],
               describe(operands[0]), enum_names(CompareType{})[static_cast<size_t>(params.type)]);
  if (is_complex(dtype) && params.direction > Comparison::kNe)
    type_error("compare",
               "expected EQ or NE for {}, got {}: complex numbers are not ordered; compare real() "
               "or abs()",
               describe(operands[0]),
               enum_names(Comparison{})[static_cast<size_t>(params.direction)]);
  return out;
}

template <class T>
bool holds(Comparison direction, T x, T y) {
  switch (direction) {
    case Comparison::kEq:
      return x == y;
    case Comparison::kNe:
      return x != y;
    default:
      break;
  }
  if constexpr (!std::same_as<T, scalar::Complex>) {
    switch (direction) {
      case Comparison::kGe:
        return x >= y;
      case Comparison::kGt:
        return x > y;
      case Comparison::kLe:
        return x <= y;
      case Comparison::kLt:
        return x < y;
      default:
        break;
    }
  }
  TESSERA_CHECK(false, "complex numbers are not ordered");
  return false;
}

// Returns integers that have the total order of the floats: widening to double keeps the order and
// the sign, even of NaNs.
int64_t total_order_key(double x) {
  const int64_t bits = std::bit_cast<int64_t>(x);
  return bits < 0 ? bits ^ std::numeric_limits<int64_t>::max() : bits;
}

std::vector<Literal> evaluate_compare(std::span<const Literal> x, const CompareParams& params) {
  const Comparison direction = params.direction;
  if (params.type == CompareType::kTotalOrder)
    return {map_literals<kFloat>(
        bool_,
        [=](double a, double b) {
          return holds(direction, total_order_key(a), total_order_key(b));
        },
        x[0], x[1])};
  return {map_literals<kAny>(
      bool_, [=](auto a, decltype(a) b) { return holds(direction, a, b); }, x[0], x[1])};
}

ScalarOp scalar_op(Comparison direction) {
  switch (direction) {
    case Comparison::kEq:
      return ScalarOp::kEq;
    case Comparison::kNe:
      return ScalarOp::kNe;
    case Comparison::kGe:
      return ScalarOp::kGe;
    case Comparison::kGt:
      return ScalarOp::kGt;
    case Comparison::kLe:
      return ScalarOp::kLe;
    case Comparison::kLt:
      return ScalarOp::kLt;
  }
  __builtin_unreachable();
}

Expr emit_compare(ExprBuilder& b, std::span<const Expr> args, const OpParams& params,
                  std::span<const Type> operands, const Type&) {
  const CompareParams& p = params.as<CompareParams>();
  if (p.type != CompareType::kTotalOrder) return b.apply(scalar_op(p.direction), bool_, args);
  const int64_t bytes = itemsize(operands[0].dtype);
  const DType bits = bytes == 2 ? int16 : bytes == 4 ? int32 : int64;
  auto key = [&](Expr x) {
    const Expr i = b.apply(ScalarOp::kBitcast, bits, {x});
    const Expr sign = b.apply(ScalarOp::kShrArithmetic, bits, {i, b.integer(bits, bytes * 8 - 1)});
    const Expr mask = b.apply(ScalarOp::kShrLogical, bits, {sign, b.integer(bits, 1)});
    return b.apply(ScalarOp::kXor, bits, {i, mask});
  };
  return b.apply(scalar_op(p.direction), bool_, {key(args[0]), key(args[1])});
}

std::vector<Sample> compare_samples() {
  std::vector<Sample> out;
  for (Comparison direction : {Comparison::kEq, Comparison::kNe, Comparison::kGe, Comparison::kGt,
                               Comparison::kLe, Comparison::kLt}) {
    for (Sample s : samples(kAny, 2, -2, 2)) {
      const DType dtype = s.operands[0].dtype;
      if (is_complex(dtype) && direction > Comparison::kNe) continue;
      s.params = CompareParams{direction, default_compare_type(dtype)};
      out.push_back(s);
      if (!is_floating(dtype)) continue;
      s.params = CompareParams{direction, CompareType::kTotalOrder};
      out.push_back(s);
    }
  }
  return out;
}

}  // namespace

const OpDef& compare_op = define<CompareParams>({
    .name = "compare",
    .attributes = {"comparison_direction", "compare_type"},
    .infer = infer_compare,
    .evaluate = evaluate_compare,
    .factors = [](std::span<const Type> x, std::span<const Type> z,
                  const CompareParams&) { return pointwise_factors(x, z); },
    .lower = Pointwise{emit_compare},
    .jvp = {[](std::span<const Array> x, std::span<const Array>, const CompareParams& p) {
      return JvpResult{{lax::compare(x[0], x[1], p.direction, p.type)},
                       {Array()}};  // a comparison is piecewise constant
    }},
    .transpose = absent("the op is not linear"),
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const CompareParams& p) {
      return batch_pointwise(compare_op, p, x, dims);
    }},
    .samples = compare_samples,
});

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

Array compare(const Array& x, const Array& y, Comparison direction, CompareType type) {
  return bind_op1(compare_op, CompareParams{direction, type}, {x, y});
}
Array compare(const Array& x, const Array& y, Comparison direction) {
  return compare(x, y, direction, default_compare_type(x.dtype()));
}
Array eq(const Array& x, const Array& y) { return compare(x, y, Comparison::kEq); }
Array ne(const Array& x, const Array& y) { return compare(x, y, Comparison::kNe); }
Array ge(const Array& x, const Array& y) { return compare(x, y, Comparison::kGe); }
Array gt(const Array& x, const Array& y) { return compare(x, y, Comparison::kGt); }
Array le(const Array& x, const Array& y) { return compare(x, y, Comparison::kLe); }
Array lt(const Array& x, const Array& y) { return compare(x, y, Comparison::kLt); }

}  // namespace tessera::lax
