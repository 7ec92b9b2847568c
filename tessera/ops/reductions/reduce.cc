#include "tessera/ops/reductions/reduce.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "tessera/base/fork.h"
#include "tessera/base/narrow.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/core/tracer.h"
#include "tessera/ops/core/unroll_rule.h"
#include "tessera/ops/reductions/reduce_internal.h"
#include "tessera/ops/reductions/scalar_body.h"
#include "tessera/ops/reductions/unroll_reduce.h"

namespace tessera::ops {
namespace {

constexpr std::string_view kReduceOp = "reduce";

// Throws UserError unless the fold is defined for the dtype.
void check_dtype(ReduceKind kind, const Type& x) {
  switch (kind) {
    case ReduceKind::kSum:
    case ReduceKind::kProduct:
      if (x.dtype == bool_)
        type_error(kReduceOp, "expected numbers for a {}, got {}; convert it (to int32, say) first",
                   enum_names(kind)[static_cast<size_t>(kind)], describe(x));
      return;
    case ReduceKind::kMin:
    case ReduceKind::kMax:
    case ReduceKind::kArgMin:
    case ReduceKind::kArgMax:
      if (is_complex(x.dtype))
        type_error(kReduceOp,
                   "expected an ordered dtype for a {}, got {}; reduce its real part or its "
                   "absolute value",
                   enum_names(kind)[static_cast<size_t>(kind)], describe(x));
      return;
    case ReduceKind::kAnd:
    case ReduceKind::kOr:
      if (is_inexact(x.dtype))
        type_error(kReduceOp,
                   "expected bool or integers for an {}, got {}; compare it with 0 first",
                   enum_names(kind)[static_cast<size_t>(kind)], describe(x));
      return;
    case ReduceKind::kCustom:
      return;
  }
}

void check_body(const Function& body, std::span<const Type> x) {
  const size_t n = x.size();
  if (body.inputs.size() != 2 * n || body.outputs.size() != n)
    type_error(kReduceOp,
               "expected a body of {} inputs and {} results for {} operand{}, got {} and {} (C6)",
               2 * n, n, n, n == 1 ? "" : "s", body.inputs.size(), body.outputs.size());
  for (size_t k = 0; k < 2 * n; ++k) {
    const Type want{x[k % n].dtype, {}};
    if (!body.type(body.inputs[k]).same_array(want))
      type_error(kReduceOp, "expected input {} of the body to be {}, got {} (C6)", k,
                 describe(want), describe(body.type(body.inputs[k])));
    if (k < n && !body.type(body.outputs[k]).same_array(want))
      type_error(kReduceOp, "expected result {} of the body to be {}, got {} (C6)", k,
                 describe(want), describe(body.type(body.outputs[k])));
  }
  auto scalars = [&](const auto& values) {
    return std::all_of(values.begin(), values.end(),
                       [&](ValueId v) { return body.type(v).shape.empty(); });
  };
  for (const Op& op : body.ops)
    if (!std::holds_alternative<Pointwise>(op.def->lower) || !scalars(op.operands) ||
        !scalars(op.results))
      type_error(kReduceOp, "expected a body of elementwise ops on scalars, got {}.{}",
                 op.def->dialect, op.def->name);
}

std::vector<Type> infer_reduce(std::span<const Type> operands, const ReduceParams& p) {
  if (operands.empty() || operands.size() % 2 != 0)
    type_error(kReduceOp, "expected operands and as many initial scalars, got {} in all (C3)",
               operands.size());
  const size_t n = operands.size() / 2;
  const auto x = operands.first(n), inits = operands.subspan(n);
  if (is_arg(p.kind) ? n != 2 : p.kind != ReduceKind::kCustom && n != 1)
    type_error(kReduceOp, "expected {} operand{} for kind {}, got {}", is_arg(p.kind) ? 2 : 1,
               is_arg(p.kind) ? "s" : "", enum_names(p.kind)[static_cast<size_t>(p.kind)], n);
  for (size_t k = 0; k < n; ++k) {
    if (x[k].shape != x[0].shape)
      shape_error(kReduceOp, "expected operands of one shape, got {} and {} (C1)", describe(x[0]),
                  describe(x[k]));
    if (!inits[k].same_array(Type{x[k].dtype, {}}))
      type_error(kReduceOp,
                 "expected initial value {} to be {}, the scalar of operand {}, got {} (C2)", k,
                 describe(Type{x[k].dtype, {}}), k, describe(inits[k]));
  }
  std::vector<bool> reduced(x[0].shape.size(), false);
  for (int64_t d : p.dims) {
    if (d < 0 || d >= x[0].rank())
      shape_error(kReduceOp, "expected dimensions in [0, {}), got {} for {} (C4)", x[0].rank(),
                  p.dims, describe(x[0]));
    if (reduced[d]) shape_error(kReduceOp, "expected distinct dimensions, got {} (C5)", p.dims);
    reduced[d] = true;
  }
  check_dtype(p.kind, x[0]);
  if (is_arg(p.kind) && !is_integer(x[1].dtype))
    type_error(kReduceOp, "expected integer indices, got {}", describe(x[1]));
  if (p.kind == ReduceKind::kCustom) {
    TESSERA_CHECK(p.body, "a custom reduce without a body");
    check_body(*p.body, x);
  }
  Shape shape;
  for (int64_t d = 0; d < x[0].rank(); ++d)
    if (!reduced[d]) shape.push_back(x[0].shape[d]);
  std::vector<Type> results;
  for (size_t k = 0; k < n; ++k) {
    results.push_back(x[k].with_shape(shape));
    results.back().varying = varying_union(operands);
  }
  return results;
}

std::vector<Literal> evaluate_reduce(std::span<const Literal> x, const ReduceParams& p) {
  switch (p.kind) {
    case ReduceKind::kSum:
    case ReduceKind::kProduct:
    case ReduceKind::kMin:
    case ReduceKind::kMax:
    case ReduceKind::kAnd:
    case ReduceKind::kOr:
      return {fold(p.kind, x[0], x[1], p.dims)};
    case ReduceKind::kArgMin:
    case ReduceKind::kArgMax:
      return fold_arg(p.kind, x, p.dims);
    case ReduceKind::kCustom:
      return fold_custom(*p.body, x, p.dims);
  }
  TESSERA_CHECK(false, "reduce kind");
  __builtin_unreachable();
}

// Partial results of a custom fold cannot be combined, so its dimensions are not sharded.
Factors reduce_factors(std::span<const Type> operands, std::span<const Type>,
                       const ReduceParams& p) {
  const size_t n = operands.size() / 2;
  Factors out;
  out.combiner = p.kind;
  TensorFactors full, kept;
  for (int64_t d = 0; d < operands[0].rank(); ++d) {
    const bool reduced = std::find(p.dims.begin(), p.dims.end(), d) != p.dims.end();
    const FactorKind kind = !reduced                        ? FactorKind::kPass
                            : p.kind == ReduceKind::kCustom ? FactorKind::kNeedReplication
                                                            : FactorKind::kReduction;
    full.push_back({out.add(operands[0].shape[d], kind)});
    if (!reduced) kept.push_back(full.back());
  }
  for (size_t k = 0; k < n; ++k) out.operands.push_back(full);
  for (size_t k = 0; k < n; ++k) out.operands.push_back({});
  out.results.assign(n, kept);
  return out;
}

// Partial results of shards are combined across devices, so an initial value that is not the
// identity may count on one device only: the first along every sharded dimension. (For min, max,
// and, or it may count several times.)
std::vector<Array> localize_reduce(std::span<const Array> x, const ReduceParams& p,
                                   const LocalContext& context) {
  std::vector<Array> operands(x.begin(), x.end());
  if (p.kind == ReduceKind::kSum || p.kind == ReduceKind::kProduct) {
    const Literal identity = reduce_identity(p.kind, x[0].dtype());
    const Literal* init = known_value(x[1]);
    if (!init || !(*init == identity)) {
      Array first;
      for (int64_t d : p.dims) {
        const Array offset = context.operand_offset(0, static_cast<int>(d));
        const Literal zero(offset.dtype(), {});
        if (const Literal* known = known_value(offset); known && *known == zero) continue;
        const Array here = lax::eq(offset, Array(zero));
        first = first.defined() ? lax::bitwise_and(first, here) : here;
      }
      if (first.defined()) operands[1] = lax::select(first, x[1], Array(identity));
    }
  }
  return bind_op(reduce_op, p, std::span<const Array>(operands));
}

Reduction describe_reduce(const OpParams& params, std::span<const Type> operands) {
  const auto& p = params.as<ReduceParams>();
  const size_t n = operands.size() / 2;
  return {.dims = p.dims,
          .kind = p.kind,
          .body = p.body
                      ? p.body
                      : reduce_body(p.kind, operands[0].dtype, n == 2 ? operands[1].dtype : int32)};
}

OpParams over_dims(const OpParams& params, const Dims& dims) {
  ReduceParams p = params.as<ReduceParams>();
  p.dims = dims;
  return p;
}

double reduce_flops(std::span<const Type> operands, std::span<const Type>, const ReduceParams&) {
  return static_cast<double>(operands[0].elements()) * static_cast<double>(operands.size() / 2);
}

std::vector<Sample> reduce_samples() {
  std::vector<Sample> out;
  auto add = [&](ReduceKind kind, DType dtype, Shape shape, Dims dims) {
    out.push_back({.operands = {{dtype, std::move(shape)}, {dtype, {}}},
                   .params = ReduceParams{std::move(dims), kind}});
  };
  for (ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMin, ReduceKind::kMax}) {
    add(kind, float32, {8, 12}, {0});
    add(kind, float32, {8, 12}, {1});
    add(kind, float32, {4, 6, 8}, {0, 2});
    add(kind, int32, {8, 4}, {0, 1});
    add(kind, bfloat16, {16, 8}, {0});
  }
  add(ReduceKind::kSum, float64, {1000}, {0});
  add(ReduceKind::kSum, float16, {4, 64}, {1});
  add(ReduceKind::kSum, complex64, {8, 3}, {0});
  add(ReduceKind::kSum, float32, {0, 4}, {0});
  add(ReduceKind::kSum, float32, {4, 0}, {0});
  add(ReduceKind::kSum, uint8, {300}, {0});
  add(ReduceKind::kProduct, float32, {4, 8}, {1});
  add(ReduceKind::kProduct, int16, {8}, {0});
  add(ReduceKind::kAnd, bool_, {8, 8}, {0});
  add(ReduceKind::kOr, bool_, {8, 8}, {1});
  add(ReduceKind::kOr, uint32, {8, 8}, {1});
  for (ReduceKind kind : {ReduceKind::kArgMin, ReduceKind::kArgMax}) {
    Literal index(int32, {8, 16});
    for (int64_t i = 0; i < index.elements(); ++i)
      index.mutable_data<int32_t>()[i] = static_cast<int32_t>(i % 16);
    Literal x(float32, {8, 16});
    for (int64_t i = 0; i < x.elements(); ++i)
      x.mutable_data<float>()[i] = static_cast<float>((i * 7 + i / 16) % 11);
    x.mutable_data<float>()[21] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<Type> types{{float32, {8, 16}}, {int32, {8, 16}}, {float32, {}}, {int32, {}}};
    const std::vector<Literal> inits = reduce_identities(kind, std::span(types).first(2));
    out.push_back({.operands = types,
                   .params = ReduceParams{{1}, kind},
                   .literals = {x, index, inits[0], inits[1]}});
  }
  return out;
}

// Builds a Function on scalars, one op at a time.
class BodyBuilder {
 public:
  ValueId input(DType dtype) { return body_.add_input({dtype, {}}); }
  ValueId op(const OpDef& def, std::initializer_list<ValueId> operands) {
    return add(def, def.params, operands);
  }
  ValueId compare(Comparison direction, ValueId a, ValueId b) {
    return add(compare_op, CompareParams{direction, default_compare_type(body_.type(a).dtype)},
               {a, b});
  }
  FunctionRef finish(std::initializer_list<ValueId> outputs) {
    body_.name = "reducer";
    body_.outputs = outputs;
    return std::make_shared<const Function>(std::move(body_));
  }

 private:
  ValueId add(const OpDef& def, OpParams params, std::initializer_list<ValueId> operands) {
    const std::vector<Type> types = body_.types_of(std::span(operands.begin(), operands.size()));
    const std::vector<Type> results = def.infer(types, params);
    return body_.add_op(def, std::move(params), ValueIds(operands), results)[0];
  }
  Function body_;
};

FunctionRef two_operand_body(const OpDef& op, DType dtype) {
  BodyBuilder b;
  const ValueId acc = b.input(dtype), x = b.input(dtype);
  return b.finish({b.op(op, {acc, x})});
}

// Returns the function of two (value, index) pairs that returns the one with the better value. NaN
// is better than any number. Of equal values, as two NaN are here, the smaller index wins. The
// function commutes, because folds combine pairs in any order.
FunctionRef arg_body(ReduceKind kind, DType dtype, DType index) {
  BodyBuilder b;
  const ValueId a = b.input(dtype), ia = b.input(index), x = b.input(dtype), ix = b.input(index);
  ValueId better = b.compare(kind == ReduceKind::kArgMax ? Comparison::kGt : Comparison::kLt, a, x);
  ValueId equal = b.compare(Comparison::kEq, a, x);
  if (is_floating(dtype)) {
    const ValueId a_nan = b.compare(Comparison::kNe, a, a),
                  x_nan = b.compare(Comparison::kNe, x, x),
                  x_number = b.compare(Comparison::kEq, x, x);
    better = b.op(bitwise_or_op, {better, b.op(bitwise_and_op, {a_nan, x_number})});
    equal = b.op(bitwise_or_op, {equal, b.op(bitwise_and_op, {a_nan, x_nan})});
  }
  const ValueId keep = b.op(
      bitwise_or_op, {better, b.op(bitwise_and_op, {equal, b.compare(Comparison::kLt, ia, ix)})});
  return b.finish({b.op(select_op, {keep, a, x}), b.op(select_op, {keep, ia, ix})});
}

// Returns the function that JAX writes for the same fold.
FunctionRef jax_arg_body(ReduceKind kind, DType dtype, DType index) {
  BodyBuilder b;
  const ValueId a = b.input(dtype), ia = b.input(index), x = b.input(dtype), ix = b.input(index);
  ValueId better = b.compare(kind == ReduceKind::kArgMax ? Comparison::kGt : Comparison::kLt, a, x);
  better = b.op(bitwise_or_op, {better, b.compare(Comparison::kNe, a, a)});
  const ValueId equal = b.compare(Comparison::kEq, a, x),
                before = b.compare(Comparison::kLt, ia, ix);
  const ValueId keep = b.op(bitwise_or_op, {better, b.op(bitwise_and_op, {equal, before})});
  return b.finish({b.op(select_op, {better, a, x}), b.op(select_op, {keep, ia, ix})});
}

// Returns the kind of the fold whose body is this op on two scalars, or kCustom. For bool,
// arithmetic is logic.
ReduceKind kind_of(const OpDef& op, DType dtype) {
  const bool logic = dtype == bool_, ordered = !is_complex(dtype), bits = !is_inexact(dtype);
  if (&op == &add_op) return logic ? ReduceKind::kOr : ReduceKind::kSum;
  if (&op == &mul_op) return logic ? ReduceKind::kAnd : ReduceKind::kProduct;
  if (&op == &min_op && ordered) return logic ? ReduceKind::kAnd : ReduceKind::kMin;
  if (&op == &max_op && ordered) return logic ? ReduceKind::kOr : ReduceKind::kMax;
  if (&op == &bitwise_and_op && bits) return ReduceKind::kAnd;
  if (&op == &bitwise_or_op && bits) return ReduceKind::kOr;
  return ReduceKind::kCustom;
}

template <class T>
Literal identity_of(ReduceKind kind) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_integral_v<T>) {
    switch (kind) {
      case ReduceKind::kSum:
      case ReduceKind::kOr:
        return Literal::scalar<T>(0);
      case ReduceKind::kProduct:
        return Literal::scalar<T>(1);
      case ReduceKind::kMin:
      case ReduceKind::kArgMin:
        return Literal::scalar<T>(Limits::max());
      case ReduceKind::kMax:
      case ReduceKind::kArgMax:
        return Literal::scalar<T>(Limits::min());
      case ReduceKind::kAnd:
        if constexpr (std::is_same_v<T, bool>) return Literal::scalar(true);
        return Literal::scalar<T>(static_cast<T>(-1));
      case ReduceKind::kCustom:
        break;
    }
  } else {
    constexpr float inf = std::numeric_limits<float>::infinity();
    switch (kind) {
      case ReduceKind::kSum:
        return Literal::scalar<T>(T(0.0f));
      case ReduceKind::kProduct:
        return Literal::scalar<T>(T(1.0f));
      case ReduceKind::kMin:
      case ReduceKind::kArgMin:
        return Literal::scalar<T>(T(inf));
      case ReduceKind::kMax:
      case ReduceKind::kArgMax:
        return Literal::scalar<T>(T(-inf));
      case ReduceKind::kAnd:
      case ReduceKind::kOr:
      case ReduceKind::kCustom:
        break;
    }
  }
  TESSERA_CHECK(false, "the fold has no identity");
  __builtin_unreachable();
}

Dims normalize_dims(std::string_view op, const Dims& dims, int64_t rank) {
  Dims out;
  for (int64_t d : dims) out.push_back(normalize_axis(op, d, rank));
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end())
    shape_error(op, "expected distinct axes, got {} for rank {}", dims, rank);
  return out;
}

}  // namespace

const OpDef& reduce_op = define<ReduceParams>({
    .name = "reduce",
    .attributes = {"dimensions", "kind", "body"},
    .infer = infer_reduce,
    .evaluate = evaluate_reduce,
    .factors = reduce_factors,
    .localize = localize_reduce,
    .lower = Reduce{describe_reduce, over_dims},
    .flops = reduce_flops,
    .jvp = {jvp_reduce},
    .transpose = {transpose_reduce},
    .batch = {batch_reduce},
    .samples = reduce_samples,
});
[[maybe_unused]] const bool kUnrolls = register_unroll_rule(reduce_op, unrolled_reduce);

FunctionRef reduce_body(ReduceKind kind, DType dtype, DType index) {
  static ForkSafeMutex& mutex = *new ForkSafeMutex;
  static auto& cache = *new std::map<std::tuple<ReduceKind, DType, DType>, FunctionRef>;
  if (!is_arg(kind)) index = int32;
  const std::lock_guard lock(mutex);
  FunctionRef& body = cache[{kind, dtype, index}];
  if (body) return body;
  switch (kind) {
    case ReduceKind::kSum:
      return body = two_operand_body(add_op, dtype);
    case ReduceKind::kProduct:
      return body = two_operand_body(mul_op, dtype);
    case ReduceKind::kMin:
      return body = two_operand_body(min_op, dtype);
    case ReduceKind::kMax:
      return body = two_operand_body(max_op, dtype);
    case ReduceKind::kAnd:
      return body = two_operand_body(bitwise_and_op, dtype);
    case ReduceKind::kOr:
      return body = two_operand_body(bitwise_or_op, dtype);
    case ReduceKind::kArgMin:
    case ReduceKind::kArgMax:
      return body = arg_body(kind, dtype, index);
    case ReduceKind::kCustom:
      break;
  }
  TESSERA_CHECK(false, "a custom fold has its own body");
  __builtin_unreachable();
}

ReduceKind classify_reduce_body(const Function& body) {
  if (body.outputs.size() == 1 && body.inputs.size() == 2 && body.ops.size() == 1) {
    const Op& op = body.ops[0];
    const ValueIds straight(body.inputs.begin(), body.inputs.end()),
        swapped(body.inputs.rbegin(), body.inputs.rend());
    if ((op.operands == straight || op.operands == swapped) && op.results[0] == body.outputs[0])
      return kind_of(*op.def, body.type(body.inputs[0]).dtype);
  }
  if (body.outputs.size() == 2 && body.inputs.size() == 4) {
    const DType dtype = body.type(body.inputs[0]).dtype, index = body.type(body.inputs[1]).dtype;
    if (is_complex(dtype) || !is_integer(index)) return ReduceKind::kCustom;
    for (ReduceKind kind : {ReduceKind::kArgMin, ReduceKind::kArgMax})
      if (*reduce_body(kind, dtype, index) == body || *jax_arg_body(kind, dtype, index) == body)
        return kind;
  }
  return ReduceKind::kCustom;
}

Literal reduce_identity(ReduceKind kind, DType dtype) {
  if (is_narrow(dtype)) {
    Literal out(dtype, {});
    out.mutable_raw()[0] = static_cast<std::byte>(
        kind == ReduceKind::kMin || kind == ReduceKind::kArgMin   ? narrow_highest(dtype)
        : kind == ReduceKind::kMax || kind == ReduceKind::kArgMax ? narrow_lowest(dtype)
        : kind == ReduceKind::kProduct                            ? narrow_bits(dtype, 1)
        : kind == ReduceKind::kAnd                                ? narrow_bits(dtype, -1)
                                                                  : narrow_bits(dtype, 0));
    return out;
  }
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) -> Literal {
    if constexpr (std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>) {
      using Part = typename T::value_type;
      constexpr Part kInf = std::numeric_limits<Part>::infinity();
      switch (kind) {
        case ReduceKind::kSum:
          return Literal::scalar<T>(0);
        case ReduceKind::kProduct:
          return Literal::scalar<T>(1);
        case ReduceKind::kMin:
          return Literal::scalar<T>({kInf, kInf});
        case ReduceKind::kMax:
          return Literal::scalar<T>({-kInf, -kInf});
        default:
          TESSERA_CHECK(false, "a complex fold without identity");
          __builtin_unreachable();
      }
    } else {
      return identity_of<T>(kind);
    }
  });
}

std::vector<Literal> reduce_identities(ReduceKind kind, std::span<const Type> operands) {
  std::vector<Literal> out{reduce_identity(kind, operands[0].dtype)};
  if (is_arg(kind)) out.push_back(Literal(operands[1].dtype, {}));
  return out;
}

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

namespace {

Array fold(const char* name, ReduceKind kind, const Array& x, const Dims& dims) {
  SourceScope source(name);
  check_dtype(kind, x.type());
  const Dims normal = normalize_dims(name, dims, x.ndim());
  if (normal.empty()) return x;
  return bind_op1(reduce_op, ReduceParams{normal, kind},
                  {x, Array(reduce_identity(kind, x.dtype()))});
}

Array fold_arg(const char* name, ReduceKind kind, const Array& x, int64_t axis, DType index_dtype) {
  SourceScope source(name);
  check_dtype(kind, x.type());
  axis = normalize_axis(name, axis, x.ndim());
  if (!is_integer(index_dtype))
    type_error(name, "expected an integer dtype for the indices, got {}", index_dtype);
  if (x.shape()[axis] == 0)
    shape_error(name, "expected at least one element along axis {}, got {}", axis,
                describe(x.type()));
  const Array index = iota(index_dtype, x.shape(), axis);
  const std::vector<Type> types{x.type(), index.type()};
  const std::vector<Literal> inits = reduce_identities(kind, types);
  return bind_op(reduce_op, ReduceParams{{axis}, kind},
                 std::vector<Array>{x, index, Array(inits[0]), Array(inits[1])})[1];
}

}  // namespace

Array reduce_sum(const Array& x, const Dims& dims) {
  return fold("reduce_sum", ReduceKind::kSum, x, dims);
}
Array reduce_prod(const Array& x, const Dims& dims) {
  return fold("reduce_prod", ReduceKind::kProduct, x, dims);
}
Array reduce_min(const Array& x, const Dims& dims) {
  return fold("reduce_min", ReduceKind::kMin, x, dims);
}
Array reduce_max(const Array& x, const Dims& dims) {
  return fold("reduce_max", ReduceKind::kMax, x, dims);
}
Array reduce_and(const Array& x, const Dims& dims) {
  return fold("reduce_and", ReduceKind::kAnd, x, dims);
}
Array reduce_or(const Array& x, const Dims& dims) {
  return fold("reduce_or", ReduceKind::kOr, x, dims);
}
Array argmin(const Array& x, int64_t axis, DType index_dtype) {
  return fold_arg("argmin", ReduceKind::kArgMin, x, axis, index_dtype);
}
Array argmax(const Array& x, int64_t axis, DType index_dtype) {
  return fold_arg("argmax", ReduceKind::kArgMax, x, axis, index_dtype);
}

std::vector<Array> reduce(std::span<const Array> operands, std::span<const Array> inits,
                          ReduceKind kind, const Dims& dims) {
  if (operands.empty()) type_error(kReduceOp, "expected at least one operand");
  ReduceParams params{normalize_dims(kReduceOp, dims, operands[0].ndim()), kind};
  std::vector<Array> all(operands.begin(), operands.end());
  all.insert(all.end(), inits.begin(), inits.end());
  return bind_op(reduce_op, std::move(params), all);
}

std::vector<Array> reduce(std::span<const Array> operands, std::span<const Array> inits,
                          FunctionRef body, const Dims& dims) {
  body = scalar_body(*body);
  const ReduceKind kind = classify_reduce_body(*body);
  if (kind != ReduceKind::kCustom) return reduce(operands, inits, kind, dims);
  if (operands.empty()) type_error(kReduceOp, "expected at least one operand");
  ReduceParams params{normalize_dims(kReduceOp, dims, operands[0].ndim()), kind, std::move(body)};
  std::vector<Array> all(operands.begin(), operands.end());
  all.insert(all.end(), inits.begin(), inits.end());
  return bind_op(reduce_op, std::move(params), all);
}

}  // namespace tessera::lax
