#include "tessera/interchange/programs/known_scalars.h"

#include "tests/pass_text.h"

namespace tessera::known_scalars_test {

using namespace interchange;

namespace {

TEST(KnownScalars, InEveryLane) {
  const Function f = parse_mlir(R"(
func.func @main(%i: tensor<i32>, %u: tensor<i32>, %x: tensor<f32>) -> (tensor<i32>, tensor<i32>, tensor<i1>, tensor<i64>, tensor<f32>) {
  %c = stablehlo.constant dense<4> : tensor<i32>
  %0 = stablehlo.subtract %c, %i : tensor<i32>
  %1 = stablehlo.add %0, %u : tensor<i32>
  %2 = stablehlo.compare LT, %i, %0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %3 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
  %4 = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
  return %0, %1, %2, %3, %4 : tensor<i32>, tensor<i32>, tensor<i1>, tensor<i64>, tensor<f32>
})");
  const KnownScalars known(f, 3, {counted_lanes(int32, 1, 2, 3), std::nullopt, std::nullopt});
  using Numbers = std::vector<int64_t>;
  EXPECT_EQ(known.numbers(f.inputs[0]), (Numbers{1, 3, 5}));
  EXPECT_EQ(known.numbers(f.outputs[0]), (Numbers{3, 1, -1}));
  EXPECT_EQ(known.numbers(f.outputs[1]), std::nullopt) << "one operand is not known";
  EXPECT_EQ(known.numbers(f.outputs[2]), (Numbers{1, 0, 0}));
  EXPECT_EQ(known.numbers(f.outputs[3]), (Numbers{3, 1, -1}));
  EXPECT_EQ(known.numbers(f.outputs[4]), std::nullopt) << "floats are not followed";
  EXPECT_EQ(known.number(f.outputs[0]), std::nullopt) << "three lanes";
  const KnownScalars once(f, 1, {counted_lanes(int32, 1, 0, 1), std::nullopt, std::nullopt});
  EXPECT_EQ(once.number(f.outputs[0]), 3);
}

// Lanes wrap around as the arithmetic of the dtype does.
TEST(KnownScalars, LanesWrapAround) {
  EXPECT_EQ(numbers_of(counted_lanes(int8, 126, 1, 4)),
            (std::vector<int64_t>{126, 127, -128, -127}));
  EXPECT_EQ(numbers_of(counted_lanes(uint8, 1, -1, 3)), (std::vector<int64_t>{1, 0, 255}));
  EXPECT_EQ(numbers_of(counted_lanes(uint64, -1, 1, 1)), std::nullopt) << "above 2^63";
}

}  // namespace
}  // namespace tessera::known_scalars_test
