#include "tessera/ops/structural/window_view.h"

#include <algorithm>
#include <cstring>

#include "tessera/ops/core/op.h"

namespace tessera::ops {
namespace {

constexpr std::string_view kWindowViewOp = "window_view";

std::vector<Type> infer_window_view(std::span<const Type> operands, const WindowViewParams& p) {
  expect_operands(kWindowViewOp, operands, 1);
  const Type& x = operands[0];
  for (const Dims* dims : {&p.size, &p.strides, &p.dilation})
    if (dims->rank() != x.rank() ||
        std::any_of(dims->begin(), dims->end(), [](int64_t n) { return n < 1; }))
      shape_error(kWindowViewOp,
                  "expected positive sizes, strides and dilations for each dimension of {}",
                  describe(x));
  Shape shape = p.size;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const int64_t extent = (p.size[d] - 1) * p.dilation[d] + 1;
    shape.push_back(x.shape[d] < extent ? 0 : (x.shape[d] - extent) / p.strides[d] + 1);
  }
  return {x.with_shape(shape)};
}

std::vector<Literal> evaluate_window_view(std::span<const Literal> x, const WindowViewParams& p) {
  const std::vector<Type> types{{.dtype = x[0].dtype(), .shape = x[0].shape()}};
  Literal out(x[0].dtype(), infer_window_view(types, p)[0].shape);
  const int64_t rank = x[0].shape().rank();
  const Dims from = row_major_strides(x[0].shape()), to = row_major_strides(out.shape());
  const auto item = static_cast<size_t>(itemsize(out.dtype()));
  for (int64_t i = 0; i < out.elements(); ++i) {
    int64_t at = 0;
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t k = i / to[d] % out.shape()[d], o = i / to[rank + d] % out.shape()[rank + d];
      at += (o * p.strides[d] + k * p.dilation[d]) * from[d];
    }
    std::memcpy(out.mutable_raw() + static_cast<size_t>(i) * item,
                x[0].raw() + static_cast<size_t>(at) * item, item);
  }
  return {out};
}

// This is the map of the windows' first elements. An IndexTerm has one dimension of the result, so
// fusion adds the position in a window (fusion/kernels/emit_values.cc).
IndexMapping map_window_view(const OpParams& params, std::span<const Type> operands,
                             std::span<const Type>) {
  const auto& p = params.as<WindowViewParams>();
  const auto rank = static_cast<int>(operands[0].rank());
  IndexPiece piece;
  for (int d = 0; d < rank; ++d)
    piece.terms.push_back({.result_dim = rank + d, .stride = p.strides[d]});
  return {.pieces = {piece}};
}

// The op is made after the program was partitioned.
Factors window_view_factors(std::span<const Type> operands, std::span<const Type> results,
                            const WindowViewParams&) {
  Factors out;
  TensorFactors x, y;
  for (int64_t n : operands[0].shape) x.push_back({out.add(n, FactorKind::kNeedReplication)});
  for (int64_t n : results[0].shape) y.push_back({out.add(n, FactorKind::kNeedReplication)});
  out.operands = {x};
  out.results = {y};
  return out;
}

std::vector<Sample> window_view_samples() {
  const auto sample = [](DType dtype, Shape shape, Dims size, Dims strides, Dims dilation) {
    return Sample{
        .operands = {Type{.dtype = dtype, .shape = std::move(shape)}},
        .params = WindowViewParams{std::move(size), std::move(strides), std::move(dilation)}};
  };
  return {sample(float32, {10}, {3}, {1}, {1}),
          sample(int8, {12}, {3}, {2}, {3}),
          sample(float64, {6, 7}, {2, 3}, {1, 2}, {1, 1}),
          sample(complex64, {2, 6}, {1, 2}, {1, 3}, {1, 2}),
          sample(bool_, {4, 5}, {4, 1}, {1, 1}, {1, 1}),
          sample(float32, {3}, {4}, {1}, {1}),
          sample(float32, {}, {}, {}, {})};
}

}  // namespace

const WindowViewParams* as_window_view(const Op& op) {
  return op.def == &window_view_op ? &op.params.as<WindowViewParams>() : nullptr;
}

const OpDef& window_view_op = define<WindowViewParams>({
    .name = "window_view",
    .dialect = "tessera",
    .attributes = {"size", "strides", "dilation"},
    .infer = infer_window_view,
    .evaluate = evaluate_window_view,
    .factors = window_view_factors,
    .lower = IndexMap{map_window_view},
    .flops = [](std::span<const Type>, std::span<const Type>,
                const WindowViewParams&) { return 0.0; },
    .jvp = absent("folds of windows become it after they are differentiated"),
    .transpose = absent("folds of windows become it after they are differentiated"),
    .batch = absent("folds of windows become it after they are mapped"),
    .samples = window_view_samples,
});

}  // namespace tessera::ops

namespace tessera::lax {

Array window_view(const Array& x, const Dims& size, const Dims& strides, const Dims& dilation) {
  return bind_op1(ops::window_view_op, ops::WindowViewParams{size, strides, dilation}, {x});
}

}  // namespace tessera::lax
