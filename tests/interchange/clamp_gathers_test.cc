#include "tessera/interchange/programs/clamp_gathers.h"

#include "tessera/trace/trace.h"
#include "tessera/transform/derivative.h"
#include "tests/evaluate/evaluate.h"
#include "tests/pass_text.h"

namespace tessera::clamp_gathers_test {

using namespace interchange;

namespace {

constexpr const char* kTake = R"(
func.func @main(%x: tensor<6x2xf32>, %i: tensor<3x1xi32>) -> tensor<3x2xf32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<6x2xf32>, tensor<3x1xi32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
})";

Literal ones(const Shape& shape) {
  Literal out(float32, shape);
  std::fill_n(out.mutable_data<float>(), out.elements(), 1.0f);
  return out;
}

// The derivative of a window that is moved inside goes to the elements that were read.
TEST(ClampGathers, ValuesStayAndDerivativesReachWhatWasRead) {
  const Function before = parse_mlir(kTake), after = clamp_gathers(before);
  verify(after);
  Literal x(float32, {6, 2});
  for (int i = 0; i < 12; ++i) x.mutable_data<float>()[i] = static_cast<float>(i);
  const std::vector<Literal> inputs{x,
                                    Literal::from<int32_t>(std::vector<int32_t>{9, -2, 3}, {3, 1})};
  EXPECT_EQ(evaluate(before, inputs), evaluate(after, inputs));
  const Function pulled =
      trace_function(
          [&](const std::vector<Array>& in) {
            const LinearizedFunction at =
                linearize_function(after, std::vector{in[0], in[1]}, {true, false});
            std::vector<Array> operands(1);
            operands.insert(operands.end(), at.residuals.begin(), at.residuals.end());
            std::vector<bool> linear(operands.size(), false);
            linear[0] = true;
            return std::vector{
                transpose_function(at.linear, linear, operands, std::vector{in[2]})[0]};
          },
          std::vector<Type>{{float32, {6, 2}}, {int32, {3, 1}}, {float32, {3, 2}}})
          .function;
  const Literal back = evaluate(pulled, std::vector{inputs[0], inputs[1], ones({3, 2})})[0];
  const std::vector<float> want{1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1};
  EXPECT_EQ(back, Literal::from<float>(want, {6, 2}));
}

TEST(ClampGathers, InsideRegions) {
  const Function f = parse_mlir(R"(
func.func @main(%p: tensor<i1>, %x: tensor<6xf32>, %i: tensor<1xi32>) -> tensor<f32> {
  %r = "stablehlo.if"(%p) ({
    %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1>}> : (tensor<6xf32>, tensor<1xi32>) -> tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }, {
    %0 = stablehlo.constant dense<0.0> : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  return %r : tensor<f32>
})");
  EXPECT_EQ(to_mlir(f).find("stablehlo.minimum"), std::string::npos);
  EXPECT_NE(to_mlir(clamp_gathers(f)).find("stablehlo.minimum"), std::string::npos);
}

}  // namespace
}  // namespace tessera::clamp_gathers_test
