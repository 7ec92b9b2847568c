#include "tessera/ops/structural/broadcast.h"

#include <algorithm>
#include <cstring>

#include "tessera/ops/core/op.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::ops {
namespace {

std::vector<Type> infer_broadcast(std::span<const Type> operands, const BroadcastParams& p) {
  expect_operands("broadcast_in_dim", operands, 1);
  const Type& x = operands[0];
  if (p.dims.rank() != x.rank())
    shape_error("broadcast_in_dim",
                "expected one broadcast dimension for each of the operand's {} (C2), got {}",
                x.rank(), p.dims);
  std::vector<bool> taken(p.shape.size());
  for (int64_t d = 0; d < x.rank(); ++d) {
    const int64_t to = p.dims[d];
    if (to < 0 || to >= p.shape.rank())
      shape_error("broadcast_in_dim", "expected broadcast dimensions in [0, {}) (C3), got {}",
                  p.shape.rank(), p.dims);
    if (taken[to])
      shape_error("broadcast_in_dim", "expected each broadcast dimension once (C4), got {}",
                  p.dims);
    taken[to] = true;
    if (x.shape[d] != 1 && x.shape[d] != p.shape[to])
      shape_error(
          "broadcast_in_dim",
          "expected extent 1 or {} in dimension {} of the operand (C5), got {} for shape {}",
          p.shape[to], d, describe(x), p.shape);
  }
  for (int64_t extent : p.shape)
    if (extent < 0) shape_error("broadcast_in_dim", "expected extents >= 0, got shape {}", p.shape);
  return {Type{.dtype = x.dtype, .shape = p.shape, .weak = x.weak, .varying = x.varying}};
}

bool expands(const Type& x, const BroadcastParams& p, int64_t d) {
  return x.shape[d] == 1 && p.shape[p.dims[d]] != 1;
}

std::vector<Literal> evaluate_broadcast(std::span<const Literal> x, const BroadcastParams& p) {
  Literal out(x[0].dtype(), p.shape);
  const Dims from = row_major_strides(x[0].shape()), strides = row_major_strides(p.shape);
  const auto item = static_cast<size_t>(itemsize(out.dtype()));
  std::byte* to = out.mutable_raw();
  for (int64_t i = 0; i < out.elements(); ++i) {
    int64_t source = 0;
    for (size_t d = 0; d < p.dims.size(); ++d)
      if (x[0].shape()[d] != 1) source += i / strides[p.dims[d]] % p.shape[p.dims[d]] * from[d];
    std::memcpy(to + i * item, x[0].raw() + source * item, item);
  }
  return {out};
}

// Dimensions that are new or expanded have factors that only the result has.
Factors broadcast_factors(std::span<const Type> operands, std::span<const Type> results,
                          const BroadcastParams& p) {
  Factors out;
  TensorFactors result, operand;
  for (int64_t extent : results[0].shape) result.push_back({out.add(extent)});
  for (int64_t d = 0; d < operands[0].rank(); ++d)
    operand.push_back(operands[0].shape[d] == results[0].shape[p.dims[d]] ? result[p.dims[d]]
                                                                          : DimFactors{});
  out.operands = {operand};
  out.results = {result};
  return out;
}

IndexMapping map_broadcast(const OpParams& params, std::span<const Type> operands,
                           std::span<const Type>) {
  const auto& p = params.as<BroadcastParams>();
  IndexPiece piece;
  for (int64_t d = 0; d < operands[0].rank(); ++d)
    piece.terms.push_back(
        {.result_dim = operands[0].shape[d] == 1 ? -1 : static_cast<int>(p.dims[d])});
  return {.pieces = {piece}};
}

// The cotangent of the operand is the sum over all copies.
std::vector<Array> broadcast_transpose(std::span<const Array> ct, std::span<const Array> x,
                                       const std::vector<bool>&, const BroadcastParams& p) {
  const Type& type = x[0].type();
  Dims summed, order;  // result dimensions that are copies; the operand's order of the others
  for (int64_t r = 0; r < p.shape.rank(); ++r) {
    const auto at = std::find(p.dims.begin(), p.dims.end(), r);
    if (at == p.dims.end() || expands(type, p, at - p.dims.begin())) {
      summed.push_back(r);
    } else {
      order.push_back(at - p.dims.begin());
    }
  }
  Array out = summed.empty() ? ct[0] : lax::reduce_sum(ct[0], summed);
  // `out` has the dimensions of the operand that are left, in the result's order.
  Dims permutation(order.size(), 0);
  const std::vector<int64_t> sorted = [&] {
    std::vector<int64_t> s(order.begin(), order.end());
    std::sort(s.begin(), s.end());
    return s;
  }();
  for (size_t i = 0; i < sorted.size(); ++i)
    permutation[i] = std::find(order.begin(), order.end(), sorted[i]) - order.begin();
  if (!std::is_sorted(permutation.begin(), permutation.end()))
    out = lax::transpose(out, permutation);
  return {out.shape() == type.shape ? out : lax::reshape(out, type.shape)};
}

BatchResult broadcast_batch(std::span<const Array> x, std::span<const int> dims,
                            const BroadcastParams& p) {
  const Array front = lax::move_to_front(x[0], dims[0]);
  Shape shape{front.shape(0)};
  shape.insert(shape.end(), p.shape.begin(), p.shape.end());
  Dims into{0};
  for (int64_t d : p.dims) into.push_back(d + 1);
  return {{lax::broadcast_in_dim(front, shape, into)}, {0}};
}

std::vector<Sample> broadcast_samples() {
  auto sample = [](DType dtype, Shape from, Shape to, Dims dims) {
    return Sample{.operands = {Type{.dtype = dtype, .shape = from}},
                  .params = BroadcastParams{to, dims}};
  };
  return {sample(float32, {}, {3, 4}, {}),
          sample(float32, {4}, {3, 4}, {1}),
          sample(float32, {3}, {3, 4}, {0}),
          sample(float32, {3, 1}, {3, 4}, {0, 1}),
          sample(float32, {3, 4}, {4, 2, 3}, {2, 0}),
          sample(int8, {1, 1}, {2, 1, 3}, {0, 2}),
          sample(float16, {2, 3}, {2, 3}, {0, 1}),
          sample(bool_, {2}, {2, 0}, {0}),
          sample(complex64, {2}, {2, 2}, {1})};
}

}  // namespace

const OpDef& broadcast_in_dim_op = define<BroadcastParams>({
    .name = "broadcast_in_dim",
    .attributes = {"shape", "broadcast_dimensions"},
    .infer = infer_broadcast,
    .evaluate = evaluate_broadcast,
    .factors = broadcast_factors,
    .localize =
        [](std::span<const Array> x, const BroadcastParams& p, const LocalContext& context) {
          return std::vector{lax::broadcast_in_dim(x[0], context.local_result(0).shape, p.dims)};
        },
    .lower = IndexMap{map_broadcast},
    .flops = [](std::span<const Type>, std::span<const Type>,
                const BroadcastParams&) { return 0.0; },
    .jvp = {[](std::span<const Array> x, std::span<const Array> t,
               const BroadcastParams& p) -> JvpResult {
      return {{lax::broadcast_in_dim(x[0], p.shape, p.dims)},
              {t[0].defined() ? lax::broadcast_in_dim(t[0], p.shape, p.dims) : Array()}};
    }},
    .transpose = {broadcast_transpose},
    .batch = {broadcast_batch},
    .samples = broadcast_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

Array broadcast_in_dim(const Array& x, const Shape& shape, const Dims& broadcast_dimensions) {
  return bind_op1(broadcast_in_dim_op, BroadcastParams{shape, broadcast_dimensions}, {x});
}

Array with_batch_first(const Array& x, int dim, int64_t size) {
  if (dim >= 0) return move_to_front(x, dim);
  Shape shape{size};
  Dims into;
  for (int64_t d = 0; d < x.ndim(); ++d) {
    shape.push_back(x.shape(d));
    into.push_back(d + 1);
  }
  return broadcast_in_dim(x, shape, into);
}

}  // namespace tessera::lax
