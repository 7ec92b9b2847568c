#include "tessera/ops/structural/reshape.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tessera/ops/core/op.h"

namespace tessera::ops {
namespace {

double no_flops(std::span<const Type>, std::span<const Type>, const ReshapeParams&) { return 0; }

std::vector<Type> infer_reshape(std::span<const Type> operands, const ReshapeParams& p) {
  expect_operands("reshape", operands, 1);
  const Type& x = operands[0];
  for (int64_t extent : p.shape)
    if (extent < 0) shape_error("reshape", "expected extents >= 0, got shape {}", p.shape);
  if (p.shape.elements() != x.elements())
    shape_error("reshape", "expected a shape of {} elements (C2), got {} of {} for {}",
                x.elements(), p.shape, p.shape.elements(), describe(x));
  return {Type{.dtype = x.dtype, .shape = p.shape, .weak = x.weak, .varying = x.varying}};
}

// Takes factors out of a shape, one after the other, beginning with the major dimension.
class FactorWalk {
 public:
  FactorWalk(const Shape& shape, TensorFactors& out) : shape_(shape), out_(out) {
    out_.resize(shape.size());
    skip();
  }
  bool done() const { return dim_ == shape_.rank(); }
  int64_t rest() const { return rest_; }        // what is left of the current dimension; > 1
  int64_t product() const { return product_; }  // of the factors taken
  void take(int factor, int64_t size) {
    out_[dim_].push_back(factor);
    product_ *= size;
    rest_ /= size;
    if (rest_ == 1) {
      ++dim_;
      skip();
    }
  }

 private:
  void skip() {
    while (!done() && shape_[dim_] == 1) ++dim_;
    if (!done()) rest_ = shape_[dim_];
  }
  const Shape& shape_;
  TensorFactors& out_;
  int64_t dim_ = 0, rest_ = 1, product_ = 1;
};

// For (6, 4) -> (2, 12), both begin with gcd(6, 2) = 2, a factor that they share. Of 6 and 12 they
// share 3, and then the 4 that is left of 12. For (2, 3) -> (3, 2), nothing is shared until both
// products are 6, so all factors are those of one side, which cannot be sharded.
Factors reshape_factors(std::span<const Type> operands, std::span<const Type> results,
                        const ReshapeParams&) {
  Factors out;
  out.operands.resize(1);
  out.results.resize(1);
  if (operands[0].elements() == 0) {  // the products of factors are 0
    for (auto [type, factors] :
         {std::pair{&operands[0], &out.operands[0]}, {&results[0], &out.results[0]}})
      for (int64_t extent : type->shape)
        factors->push_back({out.add(extent, FactorKind::kNeedReplication)});
    return out;
  }
  FactorWalk from(operands[0].shape, out.operands[0]), to(results[0].shape, out.results[0]);
  while (!from.done() || !to.done()) {
    if (from.product() == to.product()) {
      if (const int64_t common = std::gcd(from.rest(), to.rest()); common > 1) {
        const int factor = out.add(common);
        from.take(factor, common);
        to.take(factor, common);
        continue;
      }
    }
    FactorWalk& behind = from.product() <= to.product() ? from : to;
    const FactorWalk& ahead = &behind == &from ? to : from;
    // If it divides, the factor is chosen that makes the products equal; otherwise it is all that
    // is left of the dimension.
    const int64_t ratio = ahead.product() / behind.product();
    const bool fits =
        ratio > 1 && ahead.product() % behind.product() == 0 && behind.rest() % ratio == 0;
    const int64_t size = fits ? ratio : behind.rest();
    behind.take(out.add(size, FactorKind::kNeedReplication), size);
  }
  return out;
}

BatchResult reshape_batch(std::span<const Array> x, std::span<const int> dims,
                          const ReshapeParams& p) {
  const Array front = lax::move_to_front(x[0], dims[0]);
  Shape shape{front.shape(0)};
  shape.insert(shape.end(), p.shape.begin(), p.shape.end());
  return {{lax::reshape(front, shape)}, {0}};
}

std::vector<Sample> reshape_samples() {
  auto sample = [](DType dtype, Shape from, Shape to) {
    return Sample{.operands = {Type{.dtype = dtype, .shape = from}}, .params = ReshapeParams{to}};
  };
  return {sample(float32, {6, 4}, {2, 12}),   sample(float32, {2, 3}, {3, 2}),
          sample(float32, {4, 6}, {24}),      sample(float32, {24}, {2, 3, 4}),
          sample(float32, {1}, {}),           sample(float32, {}, {1, 1}),
          sample(float32, {4, 1, 6}, {4, 6}), sample(float32, {3, 0}, {0, 5, 2}),
          sample(int16, {4, 3}, {6, 2}),      sample(bool_, {2, 8}, {4, 4}),
          sample(complex64, {2, 2}, {4})};
}

std::vector<Type> infer_transpose(std::span<const Type> operands, const TransposeParams& p) {
  expect_operands("transpose", operands, 1);
  const Type& x = operands[0];
  Dims sorted = p.permutation;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != iota_dims(x.rank()))
    shape_error("transpose", "expected a permutation of {} (C2), got {} for {}",
                iota_dims(x.rank()), p.permutation, describe(x));
  Shape shape;
  for (int64_t d : p.permutation) shape.push_back(x.shape[d]);
  return {Type{.dtype = x.dtype, .shape = shape, .weak = x.weak, .varying = x.varying}};
}

std::vector<Literal> evaluate_transpose(std::span<const Literal> x, const TransposeParams& p) {
  Shape shape;
  for (int64_t d : p.permutation) shape.push_back(x[0].shape()[d]);
  Literal out(x[0].dtype(), shape);
  const Dims from = row_major_strides(x[0].shape()), strides = row_major_strides(shape);
  const auto item = static_cast<size_t>(itemsize(out.dtype()));
  std::byte* to = out.mutable_raw();
  for (int64_t i = 0; i < out.elements(); ++i) {
    int64_t source = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      source += i / strides[d] % shape[d] * from[p.permutation[d]];
    std::memcpy(to + i * item, x[0].raw() + source * item, item);
  }
  return {out};
}

Factors transpose_factors(std::span<const Type> operands, std::span<const Type> results,
                          const TransposeParams& p) {
  Factors out = pointwise_factors({}, results);
  TensorFactors operand(operands[0].shape.size());
  for (size_t d = 0; d < p.permutation.size(); ++d) operand[p.permutation[d]] = out.results[0][d];
  out.operands = {operand};
  return out;
}

Dims inverse(const Dims& permutation) {
  Dims out(permutation.size(), 0);
  for (size_t d = 0; d < permutation.size(); ++d) out[permutation[d]] = static_cast<int64_t>(d);
  return out;
}

IndexMapping map_transpose(const OpParams& params, std::span<const Type> operands,
                           std::span<const Type>) {
  const Dims to = inverse(params.as<TransposeParams>().permutation);
  IndexPiece piece;
  for (int64_t d = 0; d < operands[0].rank(); ++d)
    piece.terms.push_back({.result_dim = static_cast<int>(to[d])});
  return {.pieces = {piece}};
}

BatchResult transpose_batch(std::span<const Array> x, std::span<const int> dims,
                            const TransposeParams& p) {
  Dims permutation{dims[0]};
  for (int64_t d : p.permutation) permutation.push_back(d + (d >= dims[0]));
  return {{lax::transpose(x[0], permutation)}, {0}};
}

std::vector<Sample> transpose_samples() {
  auto sample = [](DType dtype, Shape from, Dims permutation) {
    return Sample{.operands = {Type{.dtype = dtype, .shape = from}},
                  .params = TransposeParams{permutation}};
  };
  return {sample(float32, {3, 5}, {1, 0}),          sample(float32, {2, 3, 4}, {2, 0, 1}),
          sample(float32, {2, 3, 4}, {0, 2, 1}),    sample(float32, {}, {}),
          sample(float16, {4, 0, 2}, {1, 2, 0}),    sample(complex128, {2, 3}, {1, 0}),
          sample(bool_, {2, 2, 3, 2}, {3, 1, 2, 0})};
}

std::vector<Type> infer_reverse(std::span<const Type> operands, const ReverseParams& p) {
  expect_operands("reverse", operands, 1);
  std::vector<bool> taken(operands[0].shape.size());
  for (int64_t d : p.dims) {
    if (d < 0 || d >= operands[0].rank())
      shape_error("reverse", "expected dimensions in [0, {}) (C3), got {} for {}",
                  operands[0].rank(), p.dims, describe(operands[0]));
    if (taken[d]) shape_error("reverse", "expected each dimension once (C2), got {}", p.dims);
    taken[d] = true;
  }
  Type out = operands[0];
  out.sharding = nullptr;
  return {out};
}

bool reversed(const ReverseParams& p, int64_t d) {
  return std::find(p.dims.begin(), p.dims.end(), d) != p.dims.end();
}

std::vector<Literal> evaluate_reverse(std::span<const Literal> x, const ReverseParams& p) {
  Literal out(x[0].dtype(), x[0].shape());
  const Shape& shape = out.shape();
  const Dims strides = row_major_strides(shape);
  const auto item = static_cast<size_t>(itemsize(out.dtype()));
  std::byte* to = out.mutable_raw();
  for (int64_t i = 0; i < out.elements(); ++i) {
    int64_t source = 0;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      const int64_t index = i / strides[d] % shape[d];
      source += (reversed(p, d) ? shape[d] - 1 - index : index) * strides[d];
    }
    std::memcpy(to + i * item, x[0].raw() + source * item, item);
  }
  return {out};
}

Factors reverse_factors(std::span<const Type> operands, std::span<const Type> results,
                        const ReverseParams& p) {
  Factors out = pointwise_factors(operands, results);
  for (int64_t d : p.dims) out.factors[d].kind = FactorKind::kPermutation;
  return out;
}

IndexMapping map_reverse(const OpParams& params, std::span<const Type> operands,
                         std::span<const Type>) {
  const auto& p = params.as<ReverseParams>();
  IndexPiece piece;
  for (int64_t d = 0; d < operands[0].rank(); ++d) {
    IndexTerm term{.result_dim = static_cast<int>(d)};
    if (reversed(p, d)) {
      term.stride = -1;
      term.offset = operands[0].shape[d] - 1;
    }
    piece.terms.push_back(term);
  }
  return {.pieces = {piece}};
}

BatchResult reverse_batch(std::span<const Array> x, std::span<const int> dims,
                          const ReverseParams& p) {
  Dims shifted;
  for (int64_t d : p.dims) shifted.push_back(d + (d >= dims[0]));
  return {{lax::rev(x[0], shifted)}, {dims[0]}};
}

std::vector<Sample> reverse_samples() {
  auto sample = [](DType dtype, Shape from, Dims dims) {
    return Sample{.operands = {Type{.dtype = dtype, .shape = from}}, .params = ReverseParams{dims}};
  };
  return {sample(float32, {7}, {0}),       sample(float32, {3, 5}, {1}),
          sample(float32, {3, 5}, {0, 1}), sample(int8, {2, 3, 4}, {2, 0}),
          sample(float32, {}, {}),         sample(float32, {0, 2}, {0})};
}

// The jvp rule of a linear map, which is applied to the tangent in the same way as to the primal.
template <class P, Array (*apply)(const Array&, const P&)>
JvpResult linear_jvp(std::span<const Array> x, std::span<const Array> t, const P& p) {
  return {{apply(x[0], p)}, {t[0].defined() ? apply(t[0], p) : Array()}};
}
Array apply_reshape(const Array& x, const ReshapeParams& p) { return lax::reshape(x, p.shape); }
Array apply_transpose(const Array& x, const TransposeParams& p) {
  return lax::transpose(x, p.permutation);
}
Array apply_reverse(const Array& x, const ReverseParams& p) { return lax::rev(x, p.dims); }

}  // namespace

const OpDef& reshape_op = define<ReshapeParams>({
    .name = "reshape",
    .attributes = {"shape"},
    .infer = infer_reshape,
    .evaluate = [](std::span<const Literal> x,
                   const ReshapeParams& p) { return std::vector{x[0].reshaped(p.shape)}; },
    .factors = reshape_factors,
    .localize =
        [](std::span<const Array> x, const ReshapeParams&, const LocalContext& context) {
          return std::vector{lax::reshape(x[0], context.local_result(0).shape)};
        },
    .lower = IndexMap{[](const OpParams&, std::span<const Type>, std::span<const Type>) {
      return IndexMapping{.reshape = true};
    }},
    .flops = no_flops,
    .jvp = {linear_jvp<ReshapeParams, apply_reshape>},
    .transpose = {[](std::span<const Array> ct, std::span<const Array> x, const std::vector<bool>&,
                     const ReshapeParams&) {
      return std::vector{lax::reshape(ct[0], x[0].shape())};
    }},
    .batch = {reshape_batch},
    .samples = reshape_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& transpose_op = define<TransposeParams>({
    .name = "transpose",
    .attributes = {"permutation"},
    .infer = infer_transpose,
    .evaluate = evaluate_transpose,
    .factors = transpose_factors,
    .lower = IndexMap{map_transpose},
    .flops = [](std::span<const Type>, std::span<const Type>,
                const TransposeParams&) { return 0.0; },
    .jvp = {linear_jvp<TransposeParams, apply_transpose>},
    .transpose = {[](std::span<const Array> ct, std::span<const Array>, const std::vector<bool>&,
                     const TransposeParams& p) {
      return std::vector{lax::transpose(ct[0], inverse(p.permutation))};
    }},
    .batch = {transpose_batch},
    .samples = transpose_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& reverse_op = define<ReverseParams>({
    .name = "reverse",
    .attributes = {"dimensions"},
    .infer = infer_reverse,
    .evaluate = evaluate_reverse,
    .factors = reverse_factors,
    .lower = IndexMap{map_reverse},
    .flops = [](std::span<const Type>, std::span<const Type>, const ReverseParams&) { return 0.0; },
    .jvp = {linear_jvp<ReverseParams, apply_reverse>},
    .transpose = {[](std::span<const Array> ct, std::span<const Array>, const std::vector<bool>&,
                     const ReverseParams& p) { return std::vector{lax::rev(ct[0], p.dims)}; }},
    .batch = {reverse_batch},
    .samples = reverse_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

Array reshape(const Array& x, const Shape& shape) {
  return shape == x.shape() ? x : bind_op1(reshape_op, ReshapeParams{shape}, {x});
}
Array transpose(const Array& x, const Dims& permutation) {
  return permutation == iota_dims(x.ndim())
             ? x
             : bind_op1(transpose_op, TransposeParams{permutation}, {x});
}
Array rev(const Array& x, const Dims& dimensions) {
  return bind_op1(reverse_op, ReverseParams{dimensions}, {x});
}

Array move_dim(const Array& x, int64_t from, int64_t to) {
  from = normalize_axis("transpose", from, x.ndim());
  to = normalize_axis("transpose", to, x.ndim());
  Dims permutation;
  for (int64_t d = 0; d < x.ndim(); ++d)
    if (d != from) permutation.push_back(d);
  permutation.insert(permutation.begin() + to, from);
  return transpose(x, permutation);
}

Array expand_dims(const Array& x, const Dims& dimensions) {
  const int64_t rank = x.ndim() + dimensions.rank();
  std::vector<bool> is_new(static_cast<size_t>(rank));
  for (int64_t d : dimensions) {
    const int64_t at = normalize_axis("expand_dims", d, rank);
    if (is_new[at]) shape_error("expand_dims", "expected each dimension once, got {}", dimensions);
    is_new[at] = true;
  }
  Shape shape;
  int64_t source = 0;
  for (int64_t d = 0; d < rank; ++d) shape.push_back(is_new[d] ? 1 : x.shape()[source++]);
  return reshape(x, shape);
}

Array squeeze(const Array& x, const Dims& dimensions) {
  std::vector<bool> removed(x.shape().size());
  for (int64_t d : dimensions) {
    const int64_t at = normalize_axis("squeeze", d, x.ndim());
    if (x.shape()[at] != 1)
      shape_error("squeeze", "expected extent 1 in dimension {}, got {}", d, describe(x.type()));
    removed[at] = true;
  }
  Shape shape;
  for (int64_t d = 0; d < x.ndim(); ++d)
    if (!removed[d]) shape.push_back(x.shape()[d]);
  return reshape(x, shape);
}

}  // namespace tessera::lax
