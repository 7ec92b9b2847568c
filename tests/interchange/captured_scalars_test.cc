// Regions that read scalars of the function around them.
#include "tests/interchange/foreign_text.h"

namespace tessera::interchange::captured_scalars_test {
namespace {

using foreign_text::expect_error;
using foreign_text::parsed;
using foreign_text::values;
using testing::ElementsAre;

// Returns a program with this op, whose region uses %s: a scalar 3 that is not a constant.
std::string around(const std::string& op, const std::string& type) {
  return fmt::format(R"(
    func.func @main() -> {1} {{
      %x = stablehlo.constant dense<[5.0, 1.0, 4.0, 2.0]> : tensor<4xf32>
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %three = stablehlo.constant dense<3.0> : tensor<f32>
      %s = func.call @same(%three) : (tensor<f32>) -> tensor<f32>
      {0}
      return %0 : {1}
    }}
    func.func private @same(%x: tensor<f32>) -> tensor<f32> {{
      return %x : tensor<f32>
    }})",
                     op, type);
}
// Returns the same with %s as an argument.
std::string around_argument(const std::string& op, const std::string& type,
                            const std::string& scalar = "tensor<f32>") {
  return fmt::format(R"(
    func.func @main(%x: tensor<4xf32>, %s: {2}) -> {1} {{
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      {0}
      return %0 : {1}
    }})",
                     op, type, scalar);
}
std::vector<float> run(const std::string& text) {
  const std::vector<float> x = {5, 1, 4, 2}, s = {3};
  const Literal out = evaluate(
      parsed(text), std::vector{Literal::from<float>(x, {4}), Literal::from<float>(s, {})})[0];
  return std::vector<float>(out.data<float>(), out.data<float>() + out.elements());
}

const std::string kMap = R"(%0 = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<f32>):
        %1 = stablehlo.subtract %s, %a : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) : (tensor<4xf32>) -> tensor<4xf32>)";
// Sorts by the distance from the scalar.
const std::string kSort = R"(%0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.subtract %a, %s : tensor<f32>
        %2 = stablehlo.subtract %b, %s : tensor<f32>
        %3 = stablehlo.abs %1 : tensor<f32>
        %4 = stablehlo.abs %2 : tensor<f32>
        %5 = stablehlo.compare LT, %3, %4 : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %5 : tensor<i1>
      }) : (tensor<4xf32>) -> tensor<4xf32>)";
const std::string kReduceBody = R"({
        %1 = stablehlo.maximum %a, %b : tensor<f32>
        %2 = stablehlo.minimum %1, %s : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      })";
const std::string kReduce =
    R"(%0 = stablehlo.reduce(%x init: %z) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
      reducer(%a: tensor<f32>, %b: tensor<f32>) )" +
    kReduceBody;
const std::string kGenericReduce =
    R"(%0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):)" +
    kReduceBody.substr(1) + ") : (tensor<4xf32>, tensor<f32>) -> tensor<f32>";

TEST(CapturedScalars, AreOperandsWhoseElementsAreTheScalar) {
  EXPECT_THAT(run(around_argument(kMap, "tensor<4xf32>")), ElementsAre(-2, 2, -1, 1));
  EXPECT_THAT(run(around_argument(kSort, "tensor<4xf32>")), ElementsAre(4, 2, 5, 1));
  EXPECT_THAT(run(around_argument(kReduce, "tensor<f32>")), ElementsAre(3));
  EXPECT_THAT(run(around_argument(kGenericReduce, "tensor<f32>")), ElementsAre(3));
  EXPECT_THAT(values<float>(around(kReduce, "tensor<f32>")), ElementsAre(3));
  EXPECT_THAT(values<float>(around(kMap, "tensor<4xf32>")), ElementsAre(-2, 2, -1, 1));
}

TEST(CapturedScalars, OthersAreRefused) {
  const std::string sliced = R"(%0 = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<f32>):
        %1 = stablehlo.slice %s [0:1] : (tensor<4xf32>) -> tensor<1xf32>
        %2 = stablehlo.reshape %1 : (tensor<1xf32>) -> tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }) : (tensor<4xf32>) -> tensor<4xf32>)";
  expect_error(around_argument(sliced, "tensor<4xf32>", "tensor<4xf32>"),
               "expected a value of this region, got %s of the outer scope; pass it to the op as "
               "an operand");
  const std::string window = R"(%0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions =
          array<i64: 1>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %b, %s : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>)";
  expect_error(around_argument(window, "tensor<4xf32>"),
               "expected a value of this region, got %s of the outer scope; pass it to the op as "
               "an operand");
}

}  // namespace
}  // namespace tessera::interchange::captured_scalars_test
