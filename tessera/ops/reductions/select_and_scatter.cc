#include "tessera/ops/reductions/select_and_scatter.h"

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/core/scalar_fold.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/core/unroll_rule.h"
#include "tessera/ops/reductions/unroll_selection.h"
#include "tessera/ops/structural/broadcast.h"

namespace tessera::ops {
namespace {

using namespace array_math;

constexpr std::string_view kSelectAndScatterOp = "select_and_scatter";

std::vector<Type> infer_select_and_scatter(std::span<const Type> operands,
                                           const SelectAndScatterParams& p) {
  expect_operands(kSelectAndScatterOp, operands, 3);
  const Type &x = operands[0], &source = operands[1], &init = operands[2];
  if (source.dtype != x.dtype || init.dtype != x.dtype || init.rank() != 0)
    type_error(kSelectAndScatterOp,
               "expected a source and an initial scalar of dtype {} (C3), got {} and {}", x.dtype,
               describe(source), describe(init));
  if (is_complex(x.dtype))
    type_error(kSelectAndScatterOp, "expected an array with an order, got {}", describe(x));
  const Shape shape = window_shape(kSelectAndScatterOp, x.shape, p.windows());
  if (source.shape != shape)
    shape_error(kSelectAndScatterOp, "expected a source of the windows' shape {} (C2), got {}",
                shape, describe(source));
  return {Type{.dtype = x.dtype,
               .shape = x.shape,
               .weak = x.weak && source.weak && init.weak,
               .varying = varying_union(operands)}};
}

template <class T>
bool keeps(SelectKind kind, T a, T b) {
  if constexpr (is_half_type<T>) {
    return keeps(kind, static_cast<float>(a), static_cast<float>(b));
  } else if constexpr (is_complex_type<T>) {
    return true;
  } else {
    return kind == SelectKind::kGe ? a >= b : a <= b;
  }
}

Literal apply(const Function& f, const Literal& a, const Literal& b) {
  const std::vector<Literal> args{a, b};
  return evaluate_function(f, args)[0];
}
Literal element(DType dtype, const std::byte* x, int64_t i) {
  Literal out(dtype, {});
  const auto item = static_cast<size_t>(itemsize(dtype));
  std::memcpy(out.mutable_raw(), x + static_cast<size_t>(i) * item, item);
  return out;
}

void run(const SelectAndScatterParams& p, DType dtype, const Shape& shape, const void* x_data,
         const void* source_data, const void* init_data, void* out_data) {
  const Shape results = window_shape(kSelectAndScatterOp, shape, p.windows());
  const Dims strides = row_major_strides(shape), result_strides = row_major_strides(results),
             window_strides = row_major_strides(p.size);
  const int64_t count = results.elements(), window = p.size.elements();
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    const T *x = static_cast<const T*>(x_data), *source = static_cast<const T*>(source_data);
    T* out = static_cast<T*>(out_data);
    std::fill(out, out + shape.elements(), *static_cast<const T*>(init_data));
    const auto* bytes = static_cast<const std::byte*>(x_data);
    for (int64_t o = 0; o < count; ++o) {
      int64_t chosen = -1;
      for (int64_t k = 0; k < window; ++k) {
        int64_t at = 0;
        for (int64_t d = 0; d < shape.rank() && at >= 0; ++d) {
          const int64_t i = o / result_strides[d] % results[d] * p.strides[d] +
                            k / window_strides[d] % p.size[d] - p.low[d];
          at = i < 0 || i >= shape[d] ? -1 : at + i * strides[d];
        }
        if (at < 0) continue;
        const bool kept = chosen >= 0 && (p.select ? apply(*p.select, element(dtype, bytes, chosen),
                                                           element(dtype, bytes, at))
                                                         .data<bool>()[0]
                                                   : keeps(p.kind, x[chosen], x[at]));
        if (!kept) chosen = at;
      }
      if (chosen < 0) continue;
      if (p.scatter) {
        const auto* old = static_cast<const std::byte*>(out_data);
        const Literal value = apply(*p.scatter, element(dtype, old, chosen),
                                    element(dtype, static_cast<const std::byte*>(source_data), o));
        out[chosen] = value.data<T>()[0];
      } else {
        out[chosen] = fold_scalar<ReduceKind::kSum, T>(out[chosen], source[o]);
      }
    }
  });
}

std::vector<Literal> evaluate_select_and_scatter(std::span<const Literal> x,
                                                 const SelectAndScatterParams& p) {
  Literal out(x[0].dtype(), x[0].shape());
  run(p, x[0].dtype(), x[0].shape(), x[0].raw(), x[1].raw(), x[2].raw(), out.mutable_raw());
  return {out};
}

HostCall select_and_scatter_call(const OpParams& params, std::span<const Type> operands,
                                 std::span<const Type>) {
  const auto p = params.as<SelectAndScatterParams>();
  const Type x = operands[0];
  return [p, dtype = x.dtype, shape = x.shape](std::span<const void* const> in,
                                               std::span<void* const> out) {
    run(p, dtype, shape, in[0], in[1], in[2], out[0]);
  };
}

Factors select_and_scatter_factors(std::span<const Type> operands, std::span<const Type>,
                                   const SelectAndScatterParams& p) {
  Factors out;
  TensorFactors x, source;
  const Windows windows = p.windows();
  for (int64_t d = 0; d < operands[0].rank(); ++d) {
    const bool same = windows.trivial(d);
    x.push_back(
        {out.add(operands[0].shape[d], same ? FactorKind::kPass : FactorKind::kNeedReplication)});
    source.push_back(
        same ? x.back() : DimFactors{out.add(operands[1].shape[d], FactorKind::kNeedReplication)});
  }
  out.operands = {x, source, {}};
  out.results = {x};
  return out;
}

double select_and_scatter_flops(std::span<const Type> operands, std::span<const Type>,
                                const SelectAndScatterParams& p) {
  return static_cast<double>(operands[1].elements()) * static_cast<double>(p.size.elements());
}

// A small step does not change which elements are selected, so the op is linear in the source and
// in the initial value.
JvpResult jvp_select_and_scatter(std::span<const Array> x, std::span<const Array> t,
                                 const SelectAndScatterParams& p) {
  JvpResult out{.primals = bind_op(select_and_scatter_op, p, x)};
  if (p.scatter && (t[1].defined() || t[2].defined()))
    type_error(kSelectAndScatterOp,
               "expected a sum to differentiate, got a scatter computation of its own");
  Array tangent;
  if (t[1].defined())
    tangent = bind_op1(select_and_scatter_op, p, {x[0], t[1], Array(Literal(x[0].dtype(), {}))});
  if (t[2].defined()) {
    const Array everywhere = lax::broadcast_in_dim(t[2], x[0].shape(), {});
    tangent = tangent.defined() ? tangent + everywhere : everywhere;
  }
  out.tangents = {tangent};
  return out;
}

std::vector<Array> transpose_select_and_scatter(std::span<const Array> cts,
                                                std::span<const Array> x,
                                                const std::vector<bool>& linear,
                                                const SelectAndScatterParams& p) {
  TESSERA_CHECK(!linear[0] && !p.scatter, "the op is not linear in that");
  std::vector<Array> out(3);
  if (!cts[0].defined()) return out;
  if (linear[1]) {
    if (p.kind == SelectKind::kCustom)
      type_error(kSelectAndScatterOp,
                 "expected the largest or smallest element to be selected to differentiate, got a "
                 "select computation of its own");
    const Array places = lax::window_argument(
        p.kind == SelectKind::kGe ? ReduceKind::kMax : ReduceKind::kMin, x[0], p.windows());
    out[1] = lax::take_window_argument(cts[0], places, p.windows());
  }
  if (linear[2]) out[2] = lax::reduce_sum(cts[0], iota_dims(cts[0].ndim()));
  return out;
}

BatchResult batch_select_and_scatter(std::span<const Array> x, std::span<const int> dims,
                                     const SelectAndScatterParams& p) {
  if (dims[2] >= 0)
    type_error(
        kSelectAndScatterOp,
        "expected an initial value that is the same for every example of vmap; add it after it");
  const int64_t size = dims[0] >= 0 ? x[0].shape()[dims[0]] : x[1].shape()[dims[1]];
  SelectAndScatterParams q = p;
  for (Dims* one : {&q.size, &q.strides}) one->insert(one->begin(), 1);
  for (Dims* zero : {&q.low, &q.high}) zero->insert(zero->begin(), 0);
  return {{bind_op1(select_and_scatter_op, q,
                    {lax::with_batch_first(x[0], dims[0], size),
                     lax::with_batch_first(x[1], dims[1], size), x[2]})},
          {0}};
}

std::vector<Sample> select_and_scatter_samples() {
  std::vector<Sample> out;
  auto add = [&](DType dtype, const Shape& shape, SelectAndScatterParams p) {
    const Shape source = window_shape(kSelectAndScatterOp, shape, p.windows());
    auto numbers = [&](const Shape& s, int64_t seed) {
      Literal x(float64, s);
      for (int64_t i = 0; i < x.elements(); ++i)
        x.mutable_data<double>()[i] = static_cast<double>((i * 37 + seed) % 53) / 8;
      return convert_literal(x, dtype);
    };
    out.push_back({.operands = {{dtype, shape}, {dtype, source}, {dtype, {}}},
                   .params = p,
                   .literals = {numbers(shape, 3), numbers(source, 7), Literal(dtype, {})}});
  };
  for (SelectKind kind : {SelectKind::kGe, SelectKind::kLe}) {
    add(float32, {2, 8, 6, 4}, {{1, 2, 2, 1}, {1, 2, 2, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}, kind});
    add(float32, {2, 9}, {{1, 3}, {1, 2}, {0, 1}, {0, 1}, kind});
    add(bfloat16, {8}, {{2}, {1}, {0}, {0}, kind});
    add(int32, {8}, {{2}, {2}, {0}, {0}, kind});
  }
  return out;
}

}  // namespace

const OpDef& select_and_scatter_op = define<SelectAndScatterParams>({
    .name = "select_and_scatter",
    .attributes = {"window_dimensions", "window_strides", "low", "high", "kind", "select",
                   "scatter"},
    .infer = infer_select_and_scatter,
    .evaluate = evaluate_select_and_scatter,
    .factors = select_and_scatter_factors,
    .lower = Library{LibraryKind::kCall, select_and_scatter_call},
    .flops = select_and_scatter_flops,
    .jvp = {jvp_select_and_scatter},
    .transpose = {transpose_select_and_scatter},
    .batch = {batch_select_and_scatter},
    .samples = select_and_scatter_samples,
});

[[maybe_unused]] const bool kUnrollsSelections =
    register_unroll_rule(select_and_scatter_op, unrolled_selection);

const SelectAndScatterParams* as_select_and_scatter(const Op& op) {
  return op.def == &select_and_scatter_op ? &op.params.as<SelectAndScatterParams>() : nullptr;
}

Windows SelectAndScatterParams::windows() const {
  Windows w = Windows::of_size(size);
  w.strides = strides;
  w.low = low;
  w.high = high;
  return w;
}

FunctionRef select_body(SelectKind kind, DType dtype) {
  Function f;
  f.name = "select";
  const ValueId a = f.add_input({dtype, {}}), b = f.add_input({dtype, {}});
  f.outputs = {f.add_op(compare_op,
                        CompareParams{kind == SelectKind::kGe ? Comparison::kGe : Comparison::kLe,
                                      default_compare_type(dtype)},
                        {a, b}, std::vector{Type{bool_, {}}})[0]};
  return std::make_shared<const Function>(std::move(f));
}

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

Array select_and_scatter_add(const Array& source, const Array& x, SelectKind kind,
                             const Dims& window, const Dims& strides, const Dims& low,
                             const Dims& high) {
  SourceScope scope("select_and_scatter_add");
  return bind_op1(select_and_scatter_op, SelectAndScatterParams{window, strides, low, high, kind},
                  {x, source, Array(Literal(x.dtype(), {}))});
}

}  // namespace tessera::lax
