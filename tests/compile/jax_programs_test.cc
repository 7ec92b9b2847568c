// Programs in forms that JAX writes: with Shardy's unreduced axes, tokens, donated arguments, and
// products of different floating-point dtypes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../errors.h"
#include "tessera/compile/lowered.h"
#include "tessera/compile/pipeline.h"
#include "tessera/interchange/text/parser.h"
#include "tessera/mesh/scoped_devices.h"
#include "tessera/tessera.h"

namespace tessera::jax_programs_test {
namespace {

using test::expect_error;

std::vector<Array> run(const interchange::ParsedModule& module,
                       const std::vector<Array>& arguments) {
  const Lowered lowered(module.main,
                        {.inputs = module.input_shardings, .outputs = module.output_shardings}, {},
                        devices()[0]);
  return lowered.compile()->run(arguments);
}

std::string doubled(const std::string& in, const std::string& out) {
  return fmt::format(R"(module @m {{
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<8xf32> {{jax.buffer_donor = true, sdy.sharding = #sdy.sharding<{0}>}}, %arg1: tensor<f32>)
      -> (tensor<8xf32> {{sdy.sharding = #sdy.sharding<{1}>}}) {{
    %0 = sdy.manual_computation(%arg0) in_shardings=[<{0}>] out_shardings=[<{1}>] manual_axes={{"x", "y"}} (%arg2: tensor<8xf32>) {{
      %1 = stablehlo.add %arg2, %arg2 : tensor<8xf32>
      sdy.return %1 : tensor<8xf32>
    }} : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }}
}}
)",
                     in, out);
}

TEST(Unreduced, ManualComputationsTakeAndGiveParts) {
  const ScopedDevices devices("cpu:8");
  const std::string parts = R"(@mesh, [{}], unreduced={"x"})",
                    both = R"(@mesh, [{}], unreduced={"x", "y"})", whole = "@mesh, [{}]";
  const Array x = arange(8, float32), one = full({}, 1.0F);
  const Array twice = x * 2.0;
  // All devices hold the same value, which counts as one, 4 or 8 parts of a sum.
  EXPECT_TRUE(array_equal(run(interchange::parse_module(doubled(parts, parts)), {x, one})[0], twice)
                  .item<bool>());
  EXPECT_TRUE(array_equal(run(interchange::parse_module(doubled(both, both)), {x, one})[0], twice)
                  .item<bool>());
  EXPECT_TRUE(
      array_equal(run(interchange::parse_module(doubled(whole, parts)), {x, one})[0], twice * 4.0)
          .item<bool>());
  EXPECT_TRUE(
      array_equal(run(interchange::parse_module(doubled(whole, both)), {x, one})[0], twice * 8.0)
          .item<bool>());
}

TEST(Unreduced, MainSaysWhichAndWhatIsDonated) {
  const interchange::ParsedModule module = interchange::parse_module(
      doubled(R"(@mesh, [{}], unreduced={"x"})", R"(@mesh, [{}], unreduced={"y"})"));
  EXPECT_EQ(module.input_unreduced, (std::vector<ir::AxisNames>{{"x"}, {}}));
  EXPECT_EQ(module.output_unreduced, (std::vector<ir::AxisNames>{{"y"}}));
  EXPECT_EQ(module.donated, (std::vector<bool>{true, false}));
}

TEST(Unreduced, Errors) {
  const auto parse = [](const char* in) {
    return [=] { interchange::parse_module(doubled(in, "@mesh, [{}]")); };
  };
  expect_error(parse(R"(@mesh, [{}], unreduced={"z"})"), "as unreduced ones, got");
  expect_error(parse(R"(@mesh, [{}], unreduced={"x":(1)2})"), "expected whole axes of");
  expect_error(parse(R"(@mesh, [{}], unreduced={"x", "x"})"),
               "expected distinct unreduced axes, got 'x' twice");
}

// Tokens are arrays without elements.
TEST(Tokens, TravelAsValues) {
  const interchange::ParsedModule module = interchange::parse_module(R"(
func.func public @main(%arg0: !stablehlo.token, %arg1: tensor<f32>) -> (!stablehlo.token, tensor<f32>) {
  %0 = stablehlo.create_token : !stablehlo.token
  %1 = stablehlo.after_all %0, %arg0 : !stablehlo.token
  %2 = stablehlo.add %arg1, %arg1 : tensor<f32>
  return %1, %2 : !stablehlo.token, tensor<f32>
}
)");
  const std::vector<Array> out = run(module, {zeros({0}, bool_), full({}, 2.0F)});
  EXPECT_EQ(out[0].shape(), Shape({0}));
  EXPECT_EQ(out[1].item<float>(), 4);
}

// JAX writes products of different floating-point dtypes.
TEST(MixedProducts, AreOfTheWiderDtype) {
  const interchange::ParsedModule module = interchange::parse_module(R"(
func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<2xbf16>) -> tensor<f32> {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0] : (tensor<2xf32>, tensor<2xbf16>) -> tensor<f32>
  return %0 : tensor<f32>
}
)");
  const Array x(Literal::from<float>(std::vector<float>{1.0009765625F, 2}, {2}));
  EXPECT_EQ(run(module, {x, astype(ones({2}), bfloat16)})[0].item<float>(), 3.0009765625F);
}

}  // namespace
}  // namespace tessera::jax_programs_test
