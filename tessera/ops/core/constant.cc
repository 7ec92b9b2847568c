#include "tessera/ops/core/constant.h"

#include <limits>

#include "tessera/ir/scalar_op.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {

Literal ConstantParams::dense() const {
  if (value.shape() == shape) return value;
  Literal out(value.dtype(), shape);
  const auto item = static_cast<size_t>(itemsize(value.dtype()));
  std::byte* to = out.mutable_raw();
  for (int64_t i = 0; i < out.elements(); ++i) std::memcpy(to + i * item, value.raw(), item);
  return out;
}

namespace {

std::vector<Type> infer_constant(std::span<const Type> operands, const ConstantParams& p) {
  expect_operands("constant", operands, 0);
  if (!p.is_splat() && p.value.shape() != p.shape)
    shape_error("constant", "expected a scalar or a value of shape {} (C1), got one of shape {}",
                p.shape, p.value.shape());
  return {Type{.dtype = p.value.dtype(), .shape = p.shape, .weak = p.weak}};
}

// Every dimension of the result may be sharded in any form.
Factors free_factors(std::span<const Type>, std::span<const Type> results) {
  return pointwise_factors({}, results);
}

// Returns the shard of a literal: it is sliced at run time, at the shard's offset. If a dimension
// is not divisible, the last shard extends beyond its end, and dynamic_slice would move the slice
// back; therefore the literal is padded with zeros first.
std::vector<Array> localize_constant(std::span<const Array>, const ConstantParams& p,
                                     const LocalContext& context) {
  const Shape& local = context.local_result(0).shape;
  if (p.is_splat() || local == p.shape)
    return {bind_op1(constant_op, ConstantParams{p.value, local, p.weak}, {})};
  Shape padded = p.shape;
  std::vector<Array> starts;
  for (int d = 0; d < static_cast<int>(local.size()); ++d) {
    const bool is_sharded = local[d] != p.shape[d];
    if (is_sharded && p.shape[d] % local[d] != 0) padded[d] += local[d];
    starts.push_back(is_sharded ? context.result_offset(0, d)
                                : lax::constant(Literal::scalar(int32_t{0})));
  }
  Literal value(p.value.dtype(), padded);
  const int64_t item = itemsize(value.dtype());
  const int64_t row = p.shape.empty() ? 1 : p.shape.back();
  for (int64_t i = 0; i < p.value.elements(); i += row) {  // row by row into the larger array
    int64_t rest = i, to = 0, stride = 1;
    for (int64_t d = p.shape.rank() - 1; d >= 0; --d) {
      to += rest % p.shape[d] * stride;
      rest /= p.shape[d];
      stride *= padded[d];
    }
    std::memcpy(value.mutable_raw() + to * item, p.value.raw() + i * item,
                static_cast<size_t>(row * item));
  }
  return {lax::dynamic_slice(bind_op1(constant_op, ConstantParams{value, padded, p.weak}, {}),
                             starts, local)};
}

// Emits a splat. A dense literal is never emitted: fusion gives it a buffer of its own.
Expr emit_constant(ExprBuilder& b, std::span<const Expr>, const OpParams& params,
                   std::span<const Type>, const Type&) {
  const ConstantParams& p = params.as<ConstantParams>();
  TESSERA_CHECK(p.is_splat() || p.shape.elements() == 1, "a dense literal is not an expression");
  return b.constant(p.value.dtype(), p.value.raw());
}

std::vector<Sample> constant_samples() {
  std::vector<Sample> out;
  for (int d = 0; d < kNumDTypes; ++d) {
    const Literal two = convert_literal(Literal::scalar(2.0), static_cast<DType>(d));
    out.push_back({.operands = {}, .params = ConstantParams{two, {3, 5}}});
    out.push_back({.operands = {}, .params = ConstantParams{two, {}, true}});
  }
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  out.push_back(
      {.operands = {}, .params = ConstantParams{Literal::from<float>(values, {2, 3}), {2, 3}}});
  out.push_back({.operands = {}, .params = ConstantParams{Literal(int32, {0, 4}), {0, 4}}});
  return out;
}

std::vector<Type> infer_iota(std::span<const Type> operands, const IotaParams& p) {
  expect_operands("iota", operands, 0);
  if (p.dtype == bool_)
    type_error("iota", "expected an integer, floating-point or complex dtype (I1), got bool");
  if (p.dimension < 0 || p.dimension >= p.shape.rank())
    shape_error("iota", "expected a dimension in [0, {}) (C1), got {} for shape {}", p.shape.rank(),
                p.dimension, p.shape);
  return {Type{.dtype = p.dtype, .shape = p.shape}};
}

std::vector<Literal> evaluate_iota(std::span<const Literal>, const IotaParams& p) {
  Literal out(int64, p.shape);
  const int64_t stride = row_major_strides(p.shape)[p.dimension];
  for (int64_t i = 0; i < out.elements(); ++i)
    out.mutable_data<int64_t>()[i] = i / stride % p.shape[p.dimension];
  return {convert_literal(out, p.dtype)};
}

Expr emit_iota(ExprBuilder& b, std::span<const Expr>, const OpParams& params, std::span<const Type>,
               const Type& result) {
  const IotaParams& p = params.as<IotaParams>();
  const auto dim = static_cast<int>(p.dimension);
  if (is_integer(p.dtype)) return b.index(dim, p.dtype);
  const DType part = real_dtype(p.dtype);
  const bool wide = result.shape[p.dimension] > std::numeric_limits<int32_t>::max();
  const Expr real = b.apply(ScalarOp::kConvert, part, {b.index(dim, wide ? int64 : int32)});
  return is_complex(p.dtype) ? b.apply(ScalarOp::kComplex, p.dtype, {real, b.number(part, 0)})
                             : real;
}

std::vector<Array> localize_iota(std::span<const Array>, const IotaParams& p,
                                 const LocalContext& context) {
  const Shape& local = context.local_result(0).shape;
  const Array index = lax::iota(p.dtype, local, p.dimension);
  if (local[p.dimension] == p.shape[p.dimension]) return {index};
  const Array offset =
      lax::convert_element_type(context.result_offset(0, static_cast<int>(p.dimension)), p.dtype);
  return {lax::add(index, lax::broadcast_in_dim(offset, local, {}))};
}

std::vector<Sample> iota_samples() {
  std::vector<Sample> out;
  for (int d = 1; d < kNumDTypes; ++d)
    out.push_back({.operands = {}, .params = IotaParams{static_cast<DType>(d), {3, 300}, d % 2}});
  out.push_back({.operands = {}, .params = IotaParams{int32, {2, 3, 4}, 1}});
  out.push_back({.operands = {}, .params = IotaParams{float32, {0}, 0}});
  return out;
}

// Constants have no operands, so no operand is mapped or has a tangent.
template <class P>
JvpResult no_tangent(const OpDef& def, const P& p) {
  return {{bind_op1(def, p, {})}, {Array()}};
}
template <class P>
BatchResult not_mapped(const OpDef& def, const P& p) {
  return {{bind_op1(def, p, {})}, {-1}};
}

}  // namespace

const OpDef& constant_op = define<ConstantParams>({
    .name = "constant",
    .attributes = {"value", "shape", "weak_type"},
    .infer = infer_constant,
    .evaluate = [](std::span<const Literal>,
                   const ConstantParams& p) { return std::vector{p.dense()}; },
    .factors = [](std::span<const Type> x, std::span<const Type> z,
                  const ConstantParams&) { return free_factors(x, z); },
    .localize = localize_constant,
    .lower = Pointwise{emit_constant},
    .flops = [](std::span<const Type>, std::span<const Type>,
                const ConstantParams&) { return 0.0; },
    .jvp = {[](std::span<const Array>, std::span<const Array>, const ConstantParams& p) {
      return no_tangent(constant_op, p);
    }},
    .transpose = absent("the op has no operands"),
    .batch = {[](std::span<const Array>, std::span<const int>, const ConstantParams& p) {
      return not_mapped(constant_op, p);
    }},
    .samples = constant_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& iota_op = define<IotaParams>({
    .name = "iota",
    .attributes = {"dtype", "shape", "iota_dimension"},
    .infer = infer_iota,
    .evaluate = evaluate_iota,
    .factors = [](std::span<const Type> x, std::span<const Type> z,
                  const IotaParams&) { return free_factors(x, z); },
    .localize = localize_iota,
    .lower = Pointwise{emit_iota},
    .flops = [](std::span<const Type>, std::span<const Type>, const IotaParams&) { return 0.0; },
    .jvp = {[](std::span<const Array>, std::span<const Array>, const IotaParams& p) {
      return no_tangent(iota_op, p);
    }},
    .transpose = absent("the op has no operands"),
    .batch = {[](std::span<const Array>, std::span<const int>, const IotaParams& p) {
      return not_mapped(iota_op, p);
    }},
    .samples = iota_samples,
});

bool is_constant(const OpDef& def) { return &def == &constant_op; }

const ConstantParams* as_constant(const Op& op) {
  return is_constant(*op.def) ? &op.params.as<ConstantParams>() : nullptr;
}

ConstantParams constant_params(const Literal& value, bool weak) {
  const auto item = static_cast<size_t>(itemsize(value.dtype()));
  bool splat = value.elements() > 0;
  for (int64_t i = 1; splat && i < value.elements(); ++i)
    splat = std::memcmp(value.raw(), value.raw() + i * item, item) == 0;
  if (!splat) return {value, value.shape(), weak};
  Literal one(value.dtype(), {});
  std::memcpy(one.mutable_raw(), value.raw(), item);
  return {std::move(one), value.shape(), weak};
}

}  // namespace tessera::ops

namespace tessera::lax {

namespace {
void expect_extents(const char* name, const Shape& shape) {
  for (int64_t extent : shape)
    if (extent < 0) shape_error(name, "expected extents of at least 0, got {}", shape);
}
}  // namespace

using namespace ops;

Array constant(const Literal& value, bool weak_type) {
  return bind_op1(constant_op, constant_params(value, weak_type), {});
}

Array full(const Shape& shape, const Literal& value, bool weak_type) {
  expect_extents("full", shape);
  if (value.elements() != 1)
    shape_error("full", "expected a fill value of one element, got shape {}; use broadcast_in_dim",
                value.shape());
  return bind_op1(constant_op, ConstantParams{value.reshaped({}), shape, weak_type}, {});
}

Array full(const Shape& shape, double value, DType dtype, bool weak_type) {
  return full(shape, convert_literal(Literal::scalar(value), dtype), weak_type);
}

Array full_like(const Array& x, double value) {
  return full(x.shape(), value, x.dtype(), x.weak_type());
}
Array zeros_like(const Type& type) { return full(type.shape, 0, type.dtype, type.weak); }
Array iota(DType dtype, const Shape& shape, int64_t dimension) {
  expect_extents("iota", shape);
  return bind_op1(iota_op, IotaParams{dtype, shape, dimension}, {});
}

}  // namespace tessera::lax
