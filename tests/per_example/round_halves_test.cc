#include "tessera/per_example/round_halves.h"

#include <gtest/gtest.h>

#include "tests/pass_text.h"

namespace tessera::round_halves_test {
namespace {

using per_example::round_halves;

TEST(RoundHalves, RoundsWhatIsComputedAndNotWhatIsMoved) {
  EXPECT_EQ(test::after(round_halves, R"(
func.func @main(%arg0: tensor<2x3xbf16>, %arg1: tensor<2x3xf32>) -> (tensor<3x2xbf16>, tensor<2x3xf32>) {
  %0 = stablehlo.add %arg0, %arg0 : tensor<2x3xbf16>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  %2 = stablehlo.add %arg1, %arg1 : tensor<2x3xf32>
  return %1, %2 : tensor<3x2xbf16>, tensor<2x3xf32>
}
)"),
            R"(
func.func public @main(%arg0: tensor<2x3xbf16>, %arg1: tensor<2x3xf32>) -> (tensor<3x2xbf16>, tensor<2x3xf32>) {
  %0 = stablehlo.add %arg0, %arg0 : tensor<2x3xbf16>
  %1 = stablehlo.reduce_precision %0, format = e8m7 : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  %3 = stablehlo.add %arg1, %arg1 : tensor<2x3xf32>
  return %2, %3 : tensor<3x2xbf16>, tensor<2x3xf32>
}
)");
}

TEST(RoundHalves, RoundsInsideBranches) {
  EXPECT_EQ(test::after(round_halves, R"(
func.func @main(%arg0: tensor<i32>, %arg1: tensor<4xf16>) -> tensor<4xf16> {
  %0 = "stablehlo.case"(%arg0) ({
    %1 = stablehlo.multiply %arg1, %arg1 : tensor<4xf16>
    stablehlo.return %1 : tensor<4xf16>
  }, {
    stablehlo.return %arg1 : tensor<4xf16>
  }) : (tensor<i32>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}
)"),
            R"(
func.func public @main(%arg0: tensor<i32>, %arg1: tensor<4xf16>) -> (tensor<4xf16>) {
  %0 = "stablehlo.case"(%arg0) ({
    %1 = stablehlo.multiply %arg1, %arg1 : tensor<4xf16>
    %2 = stablehlo.reduce_precision %1, format = e5m10 : (tensor<4xf16>) -> tensor<4xf16>
    stablehlo.return %2 : tensor<4xf16>
  }, {
    stablehlo.return %arg1 : tensor<4xf16>
  }) : (tensor<i32>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}
)");
}

}  // namespace
}  // namespace tessera::round_halves_test
