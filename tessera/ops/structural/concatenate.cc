#include "tessera/ops/structural/concatenate.h"

#include <cstring>

#include "tessera/base/array_size.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {
namespace {

std::vector<Type> infer_concatenate(std::span<const Type> operands, const ConcatenateParams& p) {
  if (operands.empty()) type_error("concatenate", "expected at least one operand (C3), got none");
  const Type& first = operands[0];
  if (p.dimension < 0 || p.dimension >= first.rank())
    shape_error("concatenate", "expected a dimension in [0, {}) (C4), got {} for {}", first.rank(),
                p.dimension, describe(first));
  Type out{
      .dtype = first.dtype, .shape = first.shape, .weak = true, .varying = varying_union(operands)};
  out.shape[p.dimension] = 0;
  for (const Type& t : operands) {
    if (t.dtype != first.dtype)
      type_error("concatenate",
                 "expected operands of one dtype (C1), got {} and {}; convert one of them",
                 describe(first), describe(t));
    Shape other = t.shape;
    if (t.rank() == first.rank()) other[p.dimension] = first.shape[p.dimension];
    if (other != first.shape)
      shape_error("concatenate",
                  "expected shapes that differ in dimension {} only (C2), got {} and {}",
                  p.dimension, describe(first), describe(t));
    out.shape[p.dimension] =
        checked_sum("concatenate", out.shape[p.dimension], t.shape[p.dimension]);
    out.weak = out.weak && t.weak;
  }
  return {out};
}

std::vector<Literal> evaluate_concatenate(std::span<const Literal> x, const ConcatenateParams& p) {
  Shape shape = x[0].shape();
  shape[p.dimension] = 0;
  for (const Literal& l : x) shape[p.dimension] += l.shape()[p.dimension];
  Literal out(x[0].dtype(), shape);
  // The result consists of rows, which hold everything from the dimension on: each is a row of
  // every operand in turn.
  int64_t rows = 1;
  for (int64_t d = 0; d < p.dimension; ++d) rows *= shape[d];
  std::byte* to = out.mutable_raw();
  for (int64_t r = 0; r < rows; ++r) {
    for (const Literal& l : x) {
      const auto row = static_cast<size_t>(l.bytes() / rows);
      std::memcpy(to, l.raw() + r * row, row);
      to += row;
    }
  }
  return {out};
}

Factors concatenate_factors(std::span<const Type> operands, std::span<const Type> results,
                            const ConcatenateParams& p) {
  Factors out = pointwise_factors(operands, results);
  out.factors[p.dimension].kind = FactorKind::kNeedReplication;
  return out;
}

IndexMapping map_concatenate(const OpParams& params, std::span<const Type> operands,
                             std::span<const Type> results) {
  const int64_t dim = params.as<ConcatenateParams>().dimension;
  IndexMapping out;
  int64_t begin = 0;
  for (size_t k = 0; k < operands.size(); ++k) {
    IndexPiece piece{.operand = static_cast<int>(k)};
    const int64_t end = begin + operands[k].shape[dim];
    for (int64_t d = 0; d < operands[k].rank(); ++d) {
      piece.terms.push_back({.result_dim = static_cast<int>(d), .offset = d == dim ? -begin : 0});
      piece.start.push_back(d == dim ? begin : 0);
      piece.stop.push_back(d == dim ? end : results[0].shape[d]);
    }
    out.pieces.push_back(piece);
    begin = end;
  }
  return out;
}

JvpResult concatenate_jvp(std::span<const Array> x, std::span<const Array> t,
                          const ConcatenateParams& p) {
  const Array z = lax::concatenate(x, p.dimension);
  std::vector<Array> tangents;
  bool any = false;
  for (size_t k = 0; k < x.size(); ++k) {
    any = any || t[k].defined();
    tangents.push_back(t[k]);
  }
  if (!any) return {{z}, {Array()}};
  for (size_t k = 0; k < x.size(); ++k)
    if (!t[k].defined()) tangents[k] = lax::full_like(x[k], 0);
  return {{z}, {lax::concatenate(tangents, p.dimension)}};
}

std::vector<Array> concatenate_transpose(std::span<const Array> ct, std::span<const Array> x,
                                         const std::vector<bool>& linear,
                                         const ConcatenateParams& p) {
  std::vector<Array> out(x.size());
  int64_t begin = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    const int64_t end = begin + x[k].shape(p.dimension);
    if (linear[k]) out[k] = lax::slice_in_dim(ct[0], begin, end, 1, p.dimension);
    begin = end;
  }
  return out;
}

BatchResult concatenate_batch(std::span<const Array> x, std::span<const int> dims,
                              const ConcatenateParams& p) {
  int64_t size = 0;
  for (size_t k = 0; k < x.size(); ++k)
    if (dims[k] >= 0) size = x[k].shape(dims[k]);
  std::vector<Array> fronts;
  for (size_t k = 0; k < x.size(); ++k)
    fronts.push_back(lax::with_batch_first(x[k], dims[k], size));
  return {{lax::concatenate(fronts, p.dimension + 1)}, {0}};
}

std::vector<Sample> concatenate_samples() {
  auto sample = [](DType dtype, std::vector<Shape> shapes, int64_t dimension) {
    Sample out{.operands = {}, .params = ConcatenateParams{dimension}};
    for (const Shape& shape : shapes) out.operands.push_back(Type{.dtype = dtype, .shape = shape});
    return out;
  };
  return {sample(float32, {{3}, {2}, {4}}, 0),
          sample(float32, {{2, 3}, {2, 1}}, 1),
          sample(float32, {{2, 3}, {4, 3}}, 0),
          sample(int16, {{2, 0, 2}, {2, 3, 2}, {2, 1, 2}}, 1),
          sample(bool_, {{4}}, 0),
          sample(complex128, {{1, 2}, {1, 2}}, 0)};
}

}  // namespace

const OpDef& concatenate_op = define<ConcatenateParams>({
    .name = "concatenate",
    .attributes = {"dimension"},
    .infer = infer_concatenate,
    .evaluate = evaluate_concatenate,
    .factors = concatenate_factors,
    .lower = IndexMap{map_concatenate},
    .flops = [](std::span<const Type>, std::span<const Type>,
                const ConcatenateParams&) { return 0.0; },
    .jvp = {concatenate_jvp},
    .transpose = {concatenate_transpose},
    .batch = {concatenate_batch},
    .samples = concatenate_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

Array concatenate(std::span<const Array> operands, int64_t dimension) {
  if (operands.size() == 1) return operands[0];
  return bind_op(concatenate_op, ConcatenateParams{dimension}, operands)[0];
}

}  // namespace tessera::lax
