#include "tessera/interchange/programs/guard_infinities.h"

#include <limits>

#include "tests/evaluate/evaluate.h"
#include "tests/pass_text.h"

namespace tessera::guard_infinities_test {

using namespace interchange;

namespace {

TEST(GuardInfinities, OfWhatIsChosen) {
  const Function before = parse_mlir(R"(
func.func @main(%p: tensor<3xi1>, %x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %inf = stablehlo.constant dense<0x7F800000> : tensor<3xf32>
  %0 = stablehlo.multiply %x, %inf : tensor<3xf32>
  %1 = stablehlo.select %p, %0, %y : tensor<3xi1>, tensor<3xf32>
  %2 = stablehlo.multiply %inf, %y : tensor<3xf32>
  %3 = stablehlo.select %p, %x, %2 : tensor<3xi1>, tensor<3xf32>
  return %1, %3 : tensor<3xf32>, tensor<3xf32>
})");
  const Function after = guard_infinities(before);
  EXPECT_EQ(test::text_of(after), R"(
func.func public @main(%arg0: tensor<3xi1>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = stablehlo.constant dense<0x7F800000> : tensor<3xf32>
  %1 = stablehlo.constant dense<1.000000e+00> : tensor<3xf32>
  %2 = stablehlo.select %arg0, %arg1, %1 : tensor<3xi1>, tensor<3xf32>
  %3 = stablehlo.multiply %2, %0 : tensor<3xf32>
  %4 = stablehlo.select %arg0, %3, %arg2 : tensor<3xi1>, tensor<3xf32>
  %5 = stablehlo.constant dense<1.000000e+00> : tensor<3xf32>
  %6 = stablehlo.select %arg0, %5, %arg2 : tensor<3xi1>, tensor<3xf32>
  %7 = stablehlo.multiply %6, %0 : tensor<3xf32>
  %8 = stablehlo.select %arg0, %arg1, %7 : tensor<3xi1>, tensor<3xf32>
  return %4, %8 : tensor<3xf32>, tensor<3xf32>
}
)");
  Literal p(bool_, Shape{3});
  p.mutable_data<bool>()[1] = true;
  const std::vector<Literal> inputs{p, Literal::from<float>(std::vector<float>{1, -2, 0}, {3}),
                                    Literal::from<float>(std::vector<float>{4, 5, -6}, {3})};
  EXPECT_EQ(evaluate(before, inputs), evaluate(after, inputs));
}

// A product that is also read by other ops, and one with a number.
TEST(GuardInfinities, WhatStays) {
  const Function f = parse_mlir(R"(
func.func @main(%p: tensor<i1>, %x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %inf = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = stablehlo.multiply %x, %inf : tensor<f32>
  %1 = stablehlo.select %p, %0, %y : tensor<i1>, tensor<f32>
  %2 = stablehlo.multiply %x, %two : tensor<f32>
  %3 = stablehlo.select %p, %2, %y : tensor<i1>, tensor<f32>
  return %0, %1, %3 : tensor<f32>, tensor<f32>, tensor<f32>
})");
  EXPECT_TRUE(guard_infinities(f) == f);
}

}  // namespace
}  // namespace tessera::guard_infinities_test
