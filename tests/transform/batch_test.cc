#include "tessera/transform/batch.h"

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/trace/trace.h"
#include "tests/errors.h"
#include "tests/evaluate/evaluate.h"
#include "tests/pass_text.h"

namespace tessera::batch_test {

using namespace transforms;

namespace {

using namespace array_math;
using test::error_of;
using test::text_of;
using Arrays = std::vector<Array>;

Function traced(const FlatFn& body, const std::vector<Type>& types) {
  return trace_function(body, types).function;
}

// Returns `f` over two examples, with operands mapped at `dims`. Sets `out_dims` to the dimensions
// of the results.
Function batched(const Function& f, const std::vector<int>& dims, std::vector<int>& out_dims) {
  std::vector<Type> types = f.types_of(f.inputs);
  for (size_t k = 0; k < types.size(); ++k)
    if (dims[k] >= 0) types[k].shape.insert(types[k].shape.begin() + dims[k], 2);
  return traced(
      [&](const Arrays& x) {
        const BatchAxis::Scope scope({.size = 2});
        BatchResult r = batch_function(f, x, dims);
        out_dims = r.dims;
        return r.results;
      },
      types);
}

// Ops that depend on no mapped operand are computed once.
TEST(Batch, OnlyWhatIsMappedHasExamples) {
  const Function f = traced(
      [](const Arrays& x) {
        return Arrays{lax::dot(x[0], lax::sin(x[1])), lax::cos(x[1])};
      },
      {{float32, {3}}, {float32, {3, 4}}});
  std::vector<int> out_dims;
  EXPECT_EQ(text_of(batched(f, {0, -1}, out_dims)), R"(
func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) -> (tensor<2x4xf32>, tensor<3x4xf32>) {
  %0 = stablehlo.sine %arg1 : tensor<3x4xf32>
  %1 = stablehlo.dot_general %arg0, %0, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %2 = stablehlo.cosine %arg1 : tensor<3x4xf32>
  return %1, %2 : tensor<2x4xf32>, tensor<3x4xf32>
}
)");
  EXPECT_EQ(out_dims, (std::vector<int>{0, -1}));
}

TEST(Batch, OperandsMayBeMappedAnywhere) {
  const Function f = traced([](const Arrays& x) { return Arrays{x[0] - x[1]}; },
                            {{float32, {3, 4}}, {float32, {3, 4}}});
  std::vector<int> out_dims;
  EXPECT_EQ(text_of(batched(f, {2, 0}, out_dims)), R"(
func.func public @main(%arg0: tensor<3x4x2xf32>, %arg1: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>) {
  %0 = stablehlo.transpose %arg0, dims = [2, 0, 1] : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  %1 = stablehlo.subtract %0, %arg1 : tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}
)");
}

// A function without ops: outputs that are inputs are mapped like the inputs.
TEST(Batch, OutputsThatAreInputs) {
  const Function f = traced(
      [](const Arrays& x) {
        return Arrays{x[1], x[0]};
      },
      {{float32, {3}}, {float32, {3}}});
  std::vector<int> out_dims;
  batched(f, {1, -1}, out_dims);
  EXPECT_EQ(out_dims, (std::vector<int>{-1, 1}));
}

TEST(Batch, IsTheLoop) {
  const Function f = traced(
      [](const Arrays& x) {
        const Array h = lax::tanh(lax::dot(x[0], x[1]));
        return Arrays{h, lax::reduce_max(h, {1})};
      },
      {{float64, {2, 3}}, {float64, {3, 2}}});
  const Literal a = Literal::from<double>(
                    std::vector<double>{1, -2, 3, 4, 5, -6, 7, 8, -9, 1, 2, 3}, {2, 2, 3}),
                b = Literal::from<double>(std::vector<double>{.1, .2, .3, -.4, .5, .6}, {3, 2});
  std::vector<int> out_dims;
  const std::vector<Literal> got = evaluate(batched(f, {0, -1}, out_dims), std::vector{a, b});
  ASSERT_EQ(out_dims, (std::vector<int>{0, 0}));
  for (int64_t i = 0; i < 2; ++i) {
    const Literal example = Literal::from<double>(std::span(a.data<double>() + 6 * i, 6), {2, 3});
    const std::vector<Literal> want = evaluate(f, std::vector{example, b});
    for (size_t r = 0; r < want.size(); ++r)
      for (int64_t k = 0; k < want[r].elements(); ++k)
        EXPECT_DOUBLE_EQ(got[r].data<double>()[i * want[r].elements() + k],
                         want[r].data<double>()[k]);
  }
}

std::vector<Type> same_types(std::span<const Type> operands, const NoParams&) {
  return {operands[0]};
}
const OpDef& whole_op = define<NoParams>({.name = "whole",
                                          .dialect = "test",
                                          .infer = same_types,
                                          .batch = absent("it needs all of its examples")});
const OpDef& silent_batch_op =
    define<NoParams>({.name = "silent_batch", .dialect = "test", .infer = same_types});

TEST(Batch, Errors) {
  const auto error = [](const OpDef& op, int dim) {
    const Function f =
        traced([&](const Arrays& x) { return Arrays{bind_op1(op, NoParams{}, {x[0]})}; },
               {{float32, {3}}});
    std::vector<int> out_dims;
    return error_of([&] { batched(f, {dim}, out_dims); });
  };
  EXPECT_EQ(error(whole_op, 0),
            "[whole] expected an op with a batching rule under vmap, got whole: it needs all of "
            "its examples");
  EXPECT_EQ(error(silent_batch_op, 0),
            "[silent_batch] expected an op with a batching rule under vmap, got silent_batch; "
            "apply it outside of vmap");
  EXPECT_EQ(error(whole_op, -1), "") << "nothing is mapped";
}

}  // namespace
}  // namespace tessera::batch_test
