#include "tessera/ops/core/select.h"

#include <functional>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/elementwise_family.h"
#include "tessera/ops/structural/broadcast.h"

namespace tessera::ops {
namespace {

using namespace array_math;
using namespace elementwise;

// Returns the index of element i in a literal that may be a scalar.
int64_t at(const Literal& x, int64_t i) { return x.shape().empty() ? 0 : i; }

std::vector<Type> infer_select(std::span<const Type> operands, const NoParams&) {
  expect_operands("select", operands, 3);
  const Type &pred = operands[0], &on_true = operands[1], &on_false = operands[2];
  if (pred.dtype != bool_)
    type_error("select", "expected a bool predicate (I1), got {}; compare it with 0",
               describe(pred));
  if (on_true.dtype != on_false.dtype)
    type_error("select", "expected choices of one dtype (C2), got {} and {}; convert one of them",
               describe(on_true), describe(on_false));
  if (on_true.shape != on_false.shape)
    shape_error("select",
                "expected choices of one shape (C2), got {} and {}; broadcast one of them",
                describe(on_true), describe(on_false));
  if (pred.rank() != 0 && pred.shape != on_true.shape)
    shape_error("select",
                "expected a scalar predicate or one of shape {} (C1), got {}; broadcast it",
                on_true.shape, describe(pred));
  return {Type{.dtype = on_true.dtype,
               .shape = on_true.shape,
               .weak = on_true.weak && on_false.weak,
               .varying = varying_union(operands)}};
}

std::vector<Literal> evaluate_select(std::span<const Literal> x, const NoParams&) {
  // If this is evaluated in a reduction's body of scalars, the predicate may be an array and the
  // choices scalars.
  const Shape& shape = x[1].shape().empty() ? x[0].shape() : x[1].shape();
  Literal out(x[1].dtype(), shape);
  const int64_t item = itemsize(out.dtype());
  std::byte* to = out.mutable_raw();
  for (int64_t i = 0; i < out.elements(); ++i) {
    const Literal& from = x[0].data<bool>()[at(x[0], i)] ? x[1] : x[2];
    std::memcpy(to + i * item, from.raw() + at(from, i) * item, static_cast<size_t>(item));
  }
  return {out};
}

JvpResult select_jvp(std::span<const Array> x, std::span<const Array> t, const NoParams&) {
  const Array z = lax::select(x[0], x[1], x[2]);
  if (!t[1].defined() && !t[2].defined()) return {{z}, {Array()}};
  return {{z},
          {lax::select(x[0], t[1].defined() ? t[1] : lax::full_like(x[1], 0),
                       t[2].defined() ? t[2] : lax::full_like(x[2], 0))}};
}

std::vector<Array> select_transpose(std::span<const Array> ct, std::span<const Array> x,
                                    const std::vector<bool>& linear, const NoParams&) {
  const Array zero = lax::full_like(ct[0], 0);
  return {Array(), linear[1] ? lax::select(x[0], ct[0], zero) : Array(),
          linear[2] ? lax::select(x[0], zero, ct[0]) : Array()};
}

std::vector<Sample> select_samples() {
  std::vector<Sample> out;
  for (Sample s : samples(kAny, 2, -2, 2)) {
    const Shape shape = s.operands[0].shape;
    s.operands.insert(s.operands.begin(), Type{.dtype = bool_, .shape = shape});
    out.push_back(s);
    s.operands[0].shape = {};
    if (shape.rank() == 2) out.push_back(s);
  }
  return out;
}

std::vector<Type> infer_clamp(std::span<const Type> operands, const NoParams&) {
  expect_operands("clamp", operands, 3);
  const Type &low = operands[0], &x = operands[1], &high = operands[2];
  for (const Type* bound : {&low, &high}) {
    if (bound->dtype != x.dtype)
      type_error("clamp",
                 "expected bounds of the operand's dtype (C3), got {} for {}; convert them",
                 describe(*bound), describe(x));
    if (bound->rank() != 0 && bound->shape != x.shape)
      shape_error("clamp",
                  "expected scalar bounds or bounds of shape {} ({}), got {}; broadcast them",
                  x.shape, bound == &low ? "C1" : "C2", describe(*bound));
  }
  return {Type{.dtype = x.dtype,
               .shape = x.shape,
               .weak = low.weak && x.weak && high.weak,
               .varying = varying_union(operands)}};
}

Literal spread(const Literal& scalar, const Shape& shape) {
  if (scalar.shape() == shape) return scalar;
  Literal out(scalar.dtype(), shape);
  const int64_t item = itemsize(out.dtype());
  for (int64_t i = 0; i < out.elements(); ++i)
    std::memcpy(out.mutable_raw() + i * item, scalar.raw(), static_cast<size_t>(item));
  return out;
}

std::vector<Literal> evaluate_clamp(std::span<const Literal> x, const NoParams&) {
  const Shape& shape = x[1].shape();
  return {map_literals<kAny>(
      x[1].dtype(),
      [](auto value, decltype(value) low, decltype(value) high) -> decltype(value) {
        return scalar::minimum(scalar::maximum(value, low), high);
      },
      x[1], spread(x[0], shape), spread(x[2], shape))};
}

Expr emit_clamp(ExprBuilder& b, std::span<const Expr> args, const OpParams&, std::span<const Type>,
                const Type& result) {
  const DType d = result.dtype;
  if (is_complex(d)) {
    const emit::Complex low = emit::parts(b, args[0]), x = emit::parts(b, args[1]),
                        high = emit::parts(b, args[2]);
    return emit::join(emit::min(emit::max(x, low), high));
  }
  auto op = [&](ScalarOp real) { return d == bool_ ? of_bool(real) : real; };
  const Expr raised = b.apply(op(ScalarOp::kMax), d, {args[1], args[0]});
  return b.apply(op(ScalarOp::kMin), d, {raised, args[2]});
}

// Returns x broadcast to the shape of `like` if it is a scalar.
Array spread(const Array& x, const Array& like) {
  return x.ndim() == like.ndim() ? x : lax::broadcast_in_dim(x, like.shape(), {});
}

// The tangent of the result is that of the operand inside the bounds, and that of the bound
// outside; at a bound it is 0, as in JAX. For complex numbers it is the tangent of the operand that
// the result equals, because inside and outside are not defined.
JvpResult clamp_jvp(std::span<const Array> x, std::span<const Array> t, const NoParams&) {
  const Array low = spread(x[0], x[1]), high = spread(x[2], x[1]);
  const Array z = lax::clamp(x[0], x[1], x[2]);
  const Array zero = lax::full_like(z, 0);
  Array by_low, by_x, by_high;
  if (is_complex(z.dtype())) {
    by_x = z == x[1];
    by_low = lax::bitwise_and(z == low, lax::bitwise_not(by_x));
    by_high = lax::bitwise_not(lax::bitwise_or(by_x, by_low));
  } else {
    by_x = lax::bitwise_and(x[1] > low, x[1] < high);
    by_low = lax::bitwise_and(low > x[1], low < high);
    by_high = lax::bitwise_or(high < x[1], high < low);
  }
  Array sum;
  auto add = [&](const Array& where, const Array& tangent) {
    if (!tangent.defined()) return;
    const Array term = lax::select(where, spread(tangent, x[1]), zero);
    sum = sum.defined() ? sum + term : term;
  };
  add(by_low, t[0]);
  add(by_x, t[1]);
  add(by_high, t[2]);
  return {{z}, {sum}};
}

std::vector<Sample> clamp_samples() {
  std::vector<Sample> out;
  for (Sample s : samples(kAny, 3, -2, 2)) {
    out.push_back(s);
    if (s.operands[1].rank() != 2) continue;
    s.operands[0].shape = s.operands[2].shape = {};
    out.push_back(s);
  }
  return out;
}

}  // namespace

const OpDef& select_op = define<NoParams>({
    .name = "select",
    .infer = infer_select,
    .evaluate = evaluate_select,
    .factors = [](std::span<const Type> x, std::span<const Type> z,
                  const NoParams&) { return pointwise_factors(x, z); },
    .lower = Pointwise{[](ExprBuilder& b, std::span<const Expr> args, const OpParams&,
                          std::span<const Type>, const Type& result) {
      return b.apply(ScalarOp::kSelect, result.dtype, args);
    }},
    .jvp = {select_jvp},
    .transpose = {select_transpose},
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const NoParams& p) {
      return batch_pointwise(select_op, p, x, dims, 0b001);
    }},
    .samples = select_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& clamp_op = define<NoParams>({
    .name = "clamp",
    .infer = infer_clamp,
    .evaluate = evaluate_clamp,
    .factors = [](std::span<const Type> x, std::span<const Type> z,
                  const NoParams&) { return pointwise_factors(x, z); },
    .lower = Pointwise{emit_clamp},
    .jvp = {clamp_jvp},
    .transpose = absent("the op is not linear"),
    .batch = {[](std::span<const Array> x, std::span<const int> dims, const NoParams& p) {
      return batch_pointwise(clamp_op, p, x, dims, 0b101);
    }},
    .samples = clamp_samples,
});

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

Array select(const Array& pred, const Array& on_true, const Array& on_false) {
  return bind_op1(select_op, NoParams{}, {pred, on_true, on_false});
}
Array select_n(const Array& which, const std::vector<Array>& cases) {
  const char* name = "select_n";
  if (cases.empty()) value_error(name, "expected at least one case, got none");
  if (which.dtype() != bool_ && which.dtype() != int32)
    type_error(name, "expected a bool or int32 selector, got {}; convert it with astype",
               describe(which.type()));
  if (which.dtype() == bool_ && cases.size() > 2)
    value_error(name, "expected at most 2 cases for a bool selector, got {}; select by int32",
                cases.size());
  if (which.ndim() != 0 && which.shape() != cases[0].shape())
    shape_error(name, "expected a scalar selector or one of shape {}, got {}; broadcast it",
                cases[0].shape(), describe(which.type()));
  for (const Array& x : cases) {
    if (x.dtype() != cases[0].dtype())
      type_error(name, "expected cases of one dtype, got {} and {}; convert one of them",
                 describe(cases[0].type()), describe(x.type()));
    if (x.shape() != cases[0].shape())
      shape_error(name, "expected cases of one shape, got {} and {}; broadcast one of them",
                  describe(cases[0].type()), describe(x.type()));
  }
  if (cases.size() == 1) return cases[0];
  if (which.dtype() == bool_) return select(which, cases[1], cases[0]);
  // The cases are halved: n cases are ceil(log2 n) nested selects.
  const std::function<Array(size_t, size_t)> among = [&](size_t first, size_t last) -> Array {
    if (last - first == 1) return cases[first];
    const size_t middle = (first + last) / 2;
    return select(which < middle, among(first, middle), among(middle, last));
  };
  return among(0, cases.size());
}
Array clamp(const Array& low, const Array& x, const Array& high) {
  return bind_op1(clamp_op, NoParams{}, {low, x, high});
}

}  // namespace tessera::lax
