#include "tessera/ops/structural/slice.h"

#include <algorithm>

#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/structural/copy_elements.h"
#include "tessera/ops/structural/pad.h"

namespace tessera::ops {
namespace {

// Returns the factors of an op that changes the extents of some dimensions. Unchanged dimensions
// pass through. A changed one has one factor of kind kPermutation on both sides, of the larger
// extent.
Factors window_factors(const Type& operand, const Type& result) {
  Factors out;
  out.operands = out.results = {TensorFactors{}};
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const bool same = operand.shape[d] == result.shape[d];
    const int factor = out.add(std::max(operand.shape[d], result.shape[d]),
                               same ? FactorKind::kPass : FactorKind::kPermutation);
    out.operands[0].push_back({factor});
    out.results[0].push_back({factor});
  }
  return out;
}

std::vector<Type> infer_slice(std::span<const Type> operands, const SliceParams& p) {
  expect_operands("slice", operands, 1);
  const Type& x = operands[0];
  if (p.start.rank() != x.rank() || p.limit.rank() != x.rank() || p.strides.rank() != x.rank())
    shape_error("slice", "expected {} starts, limits and strides (C2), got {}, {} and {} for {}",
                x.rank(), p.start, p.limit, p.strides, describe(x));
  Shape shape;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (p.start[d] < 0 || p.start[d] > p.limit[d] || p.limit[d] > x.shape[d])
      shape_error("slice",
                  "expected 0 <= start <= limit <= {} in dimension {} (C3), got {}:{} for {}",
                  x.shape[d], d, p.start[d], p.limit[d], describe(x));
    if (p.strides[d] <= 0) shape_error("slice", "expected strides > 0 (C4), got {}", p.strides);
    shape.push_back(ceil_div(p.limit[d] - p.start[d], p.strides[d]));
  }
  return {Type{.dtype = x.dtype, .shape = shape, .weak = x.weak, .varying = x.varying}};
}

std::vector<Literal> evaluate_slice(std::span<const Literal> x, const SliceParams& p) {
  Shape shape;
  for (size_t d = 0; d < p.start.size(); ++d)
    shape.push_back(ceil_div(p.limit[d] - p.start[d], p.strides[d]));
  return {copy_elements(x[0], shape,
                        [&](int64_t d, int64_t i) { return p.start[d] + i * p.strides[d]; })};
}

// Dimensions that the slice takes whole may be sharded: the local slice takes them whole too.
std::vector<Array> localize_slice(std::span<const Array> x, const SliceParams& p,
                                  const LocalContext& context) {
  const Shape& global = context.global_operand(0).shape;
  Dims limit = p.limit;
  for (int64_t d = 0; d < global.rank(); ++d) {
    if (x[0].shape()[d] == global[d]) continue;
    TESSERA_CHECK(p.start[d] == 0 && p.limit[d] == global[d] && p.strides[d] == 1,
                  "slice of a sharded dimension");
    limit[d] = x[0].shape()[d];
  }
  return {lax::slice(x[0], p.start, limit, p.strides)};
}

IndexMapping map_slice(const OpParams& params, std::span<const Type> operands,
                       std::span<const Type>) {
  const auto& p = params.as<SliceParams>();
  IndexPiece piece;
  for (int64_t d = 0; d < operands[0].rank(); ++d)
    piece.terms.push_back(
        {.result_dim = static_cast<int>(d), .stride = p.strides[d], .offset = p.start[d]});
  return {.pieces = {piece}};
}

// Elements that are not in the slice have cotangent zero.
std::vector<Array> slice_transpose(std::span<const Array> ct, std::span<const Array> x,
                                   const std::vector<bool>&, const SliceParams& p) {
  Dims high, interior;
  const Shape& shape = x[0].shape();
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const int64_t count = ct[0].shape()[d];
    const int64_t end = count == 0 ? p.start[d] : p.start[d] + (count - 1) * p.strides[d] + 1;
    high.push_back(shape[d] - end);
    interior.push_back(p.strides[d] - 1);
  }
  return {
      lax::pad(ct[0], lax::full({}, 0, ct[0].dtype(), ct[0].weak_type()), p.start, high, interior)};
}

BatchResult slice_batch(std::span<const Array> x, std::span<const int> dims, const SliceParams& p) {
  SliceParams q = p;
  q.start.insert(q.start.begin() + dims[0], 0);
  q.limit.insert(q.limit.begin() + dims[0], x[0].shape()[dims[0]]);
  q.strides.insert(q.strides.begin() + dims[0], 1);
  return {{lax::slice(x[0], q.start, q.limit, q.strides)}, {dims[0]}};
}

std::vector<Sample> slice_samples() {
  auto sample = [](DType dtype, Shape shape, Dims start, Dims limit, Dims strides) {
    return Sample{.operands = {Type{.dtype = dtype, .shape = shape}},
                  .params = SliceParams{start, limit, strides}};
  };
  return {sample(float32, {10}, {2}, {9}, {3}),
          sample(float32, {4, 6}, {0, 1}, {4, 5}, {1, 1}),
          sample(int16, {4, 6}, {1, 0}, {4, 6}, {2, 5}),
          sample(float32, {4, 6}, {2, 3}, {2, 6}, {1, 1}),
          sample(complex64, {3, 2, 2}, {1, 0, 1}, {2, 2, 2}, {1, 1, 1}),
          sample(float32, {}, {}, {}, {})};
}

}  // namespace

const SliceParams* as_slice(const Op& op) {
  return op.def == &slice_op ? &op.params.as<SliceParams>() : nullptr;
}

const OpDef& slice_op = define<SliceParams>({
    .name = "slice",
    .attributes = {"start_indices", "limit_indices", "strides"},
    .infer = infer_slice,
    .evaluate = evaluate_slice,
    .factors = [](std::span<const Type> x, std::span<const Type> z,
                  const SliceParams&) { return window_factors(x[0], z[0]); },
    .localize = localize_slice,
    .lower = IndexMap{map_slice},
    .flops = [](std::span<const Type>, std::span<const Type>, const SliceParams&) { return 0.0; },
    .jvp = {[](std::span<const Array> x, std::span<const Array> t,
               const SliceParams& p) -> JvpResult {
      return {{lax::slice(x[0], p.start, p.limit, p.strides)},
              {t[0].defined() ? lax::slice(t[0], p.start, p.limit, p.strides) : Array()}};
    }},
    .transpose = {slice_transpose},
    .batch = {slice_batch},
    .samples = slice_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

Array slice(const Array& x, const Dims& start, const Dims& limit, const Dims& strides) {
  const Dims all(x.shape().size(), 0), ones(x.shape().size(), 1),
      steps = strides.empty() ? ones : strides;
  if (start == all && limit == x.shape() && steps == ones) return x;
  return bind_op1(slice_op, SliceParams{start, limit, steps}, {x});
}

Array slice_in_dim(const Array& x, int64_t start, int64_t limit, int64_t stride, int64_t dim) {
  dim = normalize_axis("slice", dim, x.ndim());
  Dims starts(x.shape().size(), 0), limits = x.shape(), strides(x.shape().size(), 1);
  starts[dim] = start;
  limits[dim] = limit;
  strides[dim] = stride;
  return slice(x, starts, limits, strides);
}
}  // namespace tessera::lax
