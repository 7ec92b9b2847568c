#include "tessera/ops/reductions/ordered_fold.h"

#include "tessera/base/contains.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/reductions/reduce_internal.h"

namespace tessera::ops {
namespace {

// The types are those of a reduce of the same operands.
std::vector<Type> infer_ordered_fold(std::span<const Type> operands, const OrderedFoldParams& p) {
  return reduce_op.infer(operands, ReduceParams{p.dims, ReduceKind::kCustom, p.body});
}

Factors ordered_fold_factors(std::span<const Type> operands, std::span<const Type> results,
                             const OrderedFoldParams& p) {
  return reduce_op.factors(operands, results, ReduceParams{p.dims, ReduceKind::kCustom, p.body});
}

Reduction describe_ordered_fold(const OpParams& params, std::span<const Type>) {
  const auto& p = params.as<OrderedFoldParams>();
  return {.dims = p.dims, .kind = ReduceKind::kCustom, .body = p.body};
}

OpParams over_dims_in_order(const OpParams& params, const Dims& dims) {
  OrderedFoldParams p = params.as<OrderedFoldParams>();
  p.dims = dims;
  return p;
}

// 2 acc - x, which is neither associative nor commutative.
FunctionRef sample_body(DType dtype) {
  Function f;
  f.name = "body";
  const Type scalar{dtype, {}};
  const ValueId acc = f.add_input(scalar), x = f.add_input(scalar);
  const ValueId twice = f.add_op(add_op, NoParams{}, {acc, acc}, {&scalar, 1})[0];
  f.outputs = {f.add_op(sub_op, NoParams{}, {twice, x}, {&scalar, 1})[0]};
  return std::make_shared<const Function>(std::move(f));
}

std::vector<Sample> ordered_fold_samples() {
  const auto sample = [](DType dtype, Shape shape, Dims dims) {
    return Sample{.operands = {{dtype, std::move(shape)}, {dtype, {}}},
                  .params = OrderedFoldParams{std::move(dims), sample_body(dtype)}};
  };
  return {sample(float32, {8, 12}, {0}),    sample(float32, {8, 12}, {1}),
          sample(int32, {3, 4, 5}, {0, 2}), sample(float64, {9}, {0}),
          sample(complex64, {4, 3}, {0}),   sample(float32, {0, 4}, {0}),
          sample(float32, {4, 0}, {0})};
}

}  // namespace

const OpDef& ordered_fold_op = define<OrderedFoldParams>({
    .name = "ordered_fold",
    .dialect = "tessera",
    .attributes = {"dims", "body"},
    .infer = infer_ordered_fold,
    .evaluate = [](std::span<const Literal> x,
                   const OrderedFoldParams& p) { return fold_custom(*p.body, x, p.dims); },
    .factors = ordered_fold_factors,
    .lower = Reduce{describe_ordered_fold, over_dims_in_order},
    .flops =
        [](std::span<const Type> operands, std::span<const Type>, const OrderedFoldParams&) {
          return static_cast<double>(operands[0].elements() *
                                     static_cast<int64_t>(operands.size()) / 2);
        },
    .jvp = absent("folds of windows become it after they are differentiated"),
    .transpose = absent("folds of windows become it after they are differentiated"),
    .batch = absent("folds of windows become it after they are mapped"),
    .samples = ordered_fold_samples,
});

std::vector<Array> ordered_fold(const std::vector<Array>& x, const std::vector<Array>& inits,
                                FunctionRef body, const Dims& dims) {
  std::vector<Array> all = x;
  all.insert(all.end(), inits.begin(), inits.end());
  return bind_op(ordered_fold_op, OrderedFoldParams{dims, std::move(body)}, all);
}

bool folds_in_order(const Op& op) { return op.def == &ordered_fold_op; }

}  // namespace tessera::ops
