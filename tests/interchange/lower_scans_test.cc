#include "tessera/interchange/programs/lower_scans.h"

#include <gmock/gmock.h>

#include <numeric>

#include "tessera/control/control_flow_ops.h"
#include "tessera/control/custom_derivative.h"
#include "tessera/interchange/programs/count_loops.h"
#include "tests/evaluate/evaluate.h"
#include "tests/pass_text.h"

namespace tessera::lower_scans_test {

using namespace interchange;

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string scan_text(bool reverse) {
  return fmt::format(
      R"(func.func @main(%w: tensor<3xf32>, %c: tensor<3xf32>, %xs: tensor<5x3xf32>) -> (tensor<3xf32>, tensor<5x3xf32>, tensor<5xf32>) {{
  %r:3 = "tessera.scan"(%w, %c, %xs) <{{length = 5 : i64, num_consts = 1 : i64, num_carry = 1 : i64, reverse = {}}}> ({{
  ^bb0(%cw: tensor<3xf32>, %h: tensor<3xf32>, %x: tensor<3xf32>):
    %n = func.call @step(%h, %x, %cw) : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%n init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %n, %h, %s : tensor<3xf32>, tensor<3xf32>, tensor<f32>
  }}) : (tensor<3xf32>, tensor<3xf32>, tensor<5x3xf32>) -> (tensor<3xf32>, tensor<5x3xf32>, tensor<5xf32>)
  return %r#0, %r#1, %r#2 : tensor<3xf32>, tensor<5x3xf32>, tensor<5xf32>
}}
func.func private @step(%h: tensor<3xf32>, %x: tensor<3xf32>, %w: tensor<3xf32>) -> tensor<3xf32> {{
  %0 = stablehlo.multiply %h, %w : tensor<3xf32>
  %1 = stablehlo.add %0, %x : tensor<3xf32>
  return %1 : tensor<3xf32>
}})",
      reverse);
}

// After lowering and counting again, the results have the same bits, and rows are rows again.
TEST(LowerScans, IsTheInverseOfCountLoops) {
  for (bool reverse : {false, true}) {
    const Function before = parse_mlir(scan_text(reverse)), low = lower_scans(before),
                   again = count_loops(low);
    for (const Function* f : {&low, &again}) verify(*f);
    EXPECT_THAT(to_mlir(low), Not(HasSubstr("tessera")));
    std::vector<Literal> inputs;
    for (const Type& type : before.input_types()) {
      Literal& x = inputs.emplace_back(type.dtype, type.shape);
      std::iota(x.mutable_data<float>(), x.mutable_data<float>() + x.elements(), -2.0f);
    }
    const auto want = evaluate(before, inputs);
    EXPECT_EQ(evaluate(low, inputs), want);
    EXPECT_EQ(evaluate(again, inputs), want);
    for (const Op& op : again.ops) {
      if (op.def != &scan_op) continue;
      const auto& p = op.params.as<ScanParams>();
      EXPECT_EQ(p.reverse, reverse);
      EXPECT_EQ(p.num_consts, 1);
      EXPECT_EQ(p.num_carry, 2) << "a counter beside the carry";
    }
  }
}

// The result is text that any consumer of StableHLO can read.
TEST(LowerScans, WritesOutWhatStandsForAFunction) {
  Function inner = parse_mlir(R"(func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.sine %x : tensor<3xf32>
    return %0 : tensor<3xf32>
  })");
  Function f;
  const ValueId x = f.add_input(inner.type(inner.inputs[0]));
  const Type type = f.type(x);
  f.outputs = {f.add_op(checkpoint_op, CheckpointParams{std::make_shared<const Function>(inner)},
                        {x}, {&type, 1})[0]};
  EXPECT_EQ(test::text_of(lower_scans(f)), R"(
func.func public @main(%arg0: tensor<3xf32>) -> (tensor<3xf32>) {
  %0 = stablehlo.sine %arg0 : tensor<3xf32>
  return %0 : tensor<3xf32>
}
)");
}

}  // namespace
}  // namespace tessera::lower_scans_test
