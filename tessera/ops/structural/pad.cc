#include "tessera/ops/structural/pad.h"

#include <algorithm>
#include <cstring>

#include "tessera/base/array_size.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/core/unroll_rule.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/ops/structural/unroll_pad.h"

namespace tessera::ops {
namespace {

int64_t padded_extent(int64_t extent, const PadParams& p, int64_t d) {
  const int64_t between = checked_product("pad", std::max<int64_t>(extent - 1, 0), p.interior[d]);
  return checked_sum("pad", checked_sum("pad", p.low[d], p.high[d]),
                     checked_sum("pad", extent, between));
}
bool changes(const PadParams& p, int64_t d) {
  return p.low[d] != 0 || p.high[d] != 0 || p.interior[d] != 0;
}

std::vector<Type> infer_pad(std::span<const Type> operands, const PadParams& p) {
  expect_operands("pad", operands, 2);
  const Type &x = operands[0], &value = operands[1];
  if (value.rank() != 0)
    shape_error("pad", "expected a scalar padding value, got {}", describe(value));
  if (value.dtype != x.dtype)
    type_error("pad",
               "expected a padding value of the operand's dtype (C1), got {} for {}; convert it",
               describe(value), describe(x));
  if (p.low.rank() != x.rank() || p.high.rank() != x.rank() || p.interior.rank() != x.rank())
    shape_error("pad",
                "expected {} amounts of each kind (C2), got low {}, high {}, interior {} for {}",
                x.rank(), p.low, p.high, p.interior, describe(x));
  Shape shape;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (p.interior[d] < 0)
      shape_error("pad", "expected interior amounts >= 0 (C3), got {}", p.interior);
    shape.push_back(padded_extent(x.shape[d], p, d));
    if (shape.back() < 0)
      shape_error("pad",
                  "expected a result of extent >= 0 in dimension {} (C4), got {} from low {}, high "
                  "{} for {}",
                  d, shape.back(), p.low, p.high, describe(x));
  }
  return {Type{.dtype = x.dtype,
               .shape = shape,
               .weak = x.weak && value.weak,
               .varying = varying_union(operands)}};
}

std::vector<Literal> evaluate_pad(std::span<const Literal> x, const PadParams& p) {
  const Shape& from = x[0].shape();
  Shape shape;
  for (int64_t d = 0; d < from.rank(); ++d) shape.push_back(padded_extent(from[d], p, d));
  Literal out(x[0].dtype(), shape);
  const auto item = static_cast<size_t>(itemsize(out.dtype()));
  std::byte* to = out.mutable_raw();
  for (int64_t i = 0; i < out.elements(); ++i) std::memcpy(to + i * item, x[1].raw(), item);
  const Dims sources = row_major_strides(from), strides = row_major_strides(shape);
  for (int64_t i = 0; i < x[0].elements(); ++i) {
    int64_t at = 0;
    bool inside = true;
    for (int64_t d = 0; d < from.rank(); ++d) {
      const int64_t index = p.low[d] + i / sources[d] % from[d] * (p.interior[d] + 1);
      inside = inside && index >= 0 && index < shape[d];
      at += index * strides[d];
    }
    if (inside) std::memcpy(to + at * item, x[0].raw() + i * item, item);
  }
  return {out};
}

Factors pad_factors(std::span<const Type> operands, std::span<const Type> results,
                    const PadParams& p) {
  Factors out;
  out.operands.resize(2);
  out.results.resize(1);
  for (int64_t d = 0; d < operands[0].rank(); ++d) {
    const int64_t size = std::max(operands[0].shape[d], results[0].shape[d]);
    const int factor = out.add(size, changes(p, d) ? FactorKind::kPermutation : FactorKind::kPass);
    out.operands[0].push_back({factor});
    out.results[0].push_back({factor});
  }
  return out;
}

IndexMapping map_pad(const OpParams& params, std::span<const Type> operands,
                     std::span<const Type>) {
  const auto& p = params.as<PadParams>();
  IndexPiece piece;
  for (int64_t d = 0; d < operands[0].rank(); ++d) {
    const int64_t step = p.interior[d] + 1, extent = operands[0].shape[d];
    piece.terms.push_back(
        {.result_dim = static_cast<int>(d), .offset = step == 1 ? -p.low[d] : 0, .divisor = step});
    piece.start.push_back(p.low[d]);
    piece.stop.push_back(extent == 0 ? p.low[d] : p.low[d] + (extent - 1) * step + 1);
  }
  return {.pieces = {piece}, .fill = 1};
}

Array zero_scalar(const Array& like) { return lax::full({}, 0, like.dtype(), like.weak_type()); }

JvpResult pad_jvp(std::span<const Array> x, std::span<const Array> t, const PadParams& p) {
  const Array z = lax::pad(x[0], x[1], p.low, p.high, p.interior);
  if (!t[0].defined() && !t[1].defined()) return {{z}, {Array()}};
  return {{z},
          {lax::pad(t[0].defined() ? t[0] : lax::full_like(x[0], 0),
                    t[1].defined() ? t[1] : zero_scalar(x[1]), p.low, p.high, p.interior)}};
}

// The operand's cotangent is the cotangent at the positions of its elements, and zero for removed
// ones. The padding value's is the sum of the cotangent everywhere else.
std::vector<Array> pad_transpose(std::span<const Array> ct, std::span<const Array> x,
                                 const std::vector<bool>& linear, const PadParams& p) {
  Dims low, high, strides;
  for (int64_t d = 0; d < x[0].ndim(); ++d) {
    low.push_back(-p.low[d]);
    high.push_back(-p.high[d]);
    strides.push_back(p.interior[d] + 1);
  }
  const Array uncut = lax::pad(ct[0], zero_scalar(ct[0]), low, high);
  const Array own = lax::slice(uncut, Dims(x[0].shape().size(), 0), uncut.shape(), strides);
  std::vector<Array> out(2);
  if (linear[0]) out[0] = own;
  if (linear[1])
    out[1] = lax::sub(lax::reduce_sum(ct[0], iota_dims(ct[0].ndim())),
                      lax::reduce_sum(own, iota_dims(own.ndim())));
  return out;
}

BatchResult pad_batch(std::span<const Array> x, std::span<const int> dims, const PadParams& p) {
  auto with_dim = [&](int at) {
    PadParams q = p;
    for (Dims* amounts : {&q.low, &q.high, &q.interior}) amounts->insert(amounts->begin() + at, 0);
    return q;
  };
  if (dims[1] < 0) {
    const PadParams q = with_dim(dims[0]);
    return {{lax::pad(x[0], x[1], q.low, q.high, q.interior)}, {dims[0]}};
  }
  // If each example has its own padding value, pad with zeros, and select that value where a mask
  // shows padding.
  const int64_t size = x[1].shape(0);
  const PadParams q = with_dim(0);
  const Array front = lax::with_batch_first(x[0], dims[0], size);
  const Array padded = lax::pad(front, zero_scalar(front), q.low, q.high, q.interior);
  const Array own = lax::pad(lax::full(front.shape(), 1, bool_), lax::full({}, 0, bool_), q.low,
                             q.high, q.interior);
  return {{lax::select(own, padded, lax::broadcast_in_dim(x[1], padded.shape(), {0}))}, {0}};
}

std::vector<Sample> pad_samples() {
  auto sample = [](DType dtype, Shape shape, Dims low, Dims high, Dims interior) {
    return Sample{
        .operands = {Type{.dtype = dtype, .shape = shape}, Type{.dtype = dtype, .shape = {}}},
        .params = PadParams{low, high, interior}};
  };
  return {sample(float32, {5}, {2}, {1}, {0}),
          sample(float32, {5}, {-1}, {-2}, {0}),
          sample(float32, {5}, {1}, {0}, {2}),
          sample(float32, {5}, {-2}, {-4}, {2}),
          sample(int8, {3, 4}, {1, 0}, {0, 2}, {0, 1}),
          sample(float32, {3, 0}, {1, 2}, {0, 1}, {1, 3}),
          sample(complex64, {2, 2}, {0, 0}, {0, 0}, {0, 0}),
          sample(float16, {}, {}, {}, {})};
}

}  // namespace

const OpDef& pad_op = define<PadParams>({
    .name = "pad",
    .attributes = {"edge_padding_low", "edge_padding_high", "interior_padding"},
    .infer = infer_pad,
    .evaluate = evaluate_pad,
    .factors = pad_factors,
    .lower = IndexMap{map_pad},
    .flops = [](std::span<const Type>, std::span<const Type>, const PadParams&) { return 0.0; },
    .jvp = {pad_jvp},
    .transpose = {pad_transpose},
    .batch = {pad_batch},
    .samples = pad_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

namespace {

[[maybe_unused]] const bool kUnrollsPads = register_unroll_rule(pad_op, unrolled_pad);

}  // namespace

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

Array pad(const Array& x, const Array& value, const Dims& low, const Dims& high,
          const Dims& interior) {
  return bind_op1(pad_op,
                  PadParams{low, high, interior.empty() ? Dims(x.shape().size(), 0) : interior},
                  {x, value});
}

}  // namespace tessera::lax
