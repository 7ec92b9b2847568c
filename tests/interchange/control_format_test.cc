#include <gmock/gmock.h>

#include "tessera/interchange/text/parser.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/verifier.h"
#include "tests/interchange/foreign_text.h"

namespace tessera::interchange::control_format_test {
namespace {

using foreign_text::expect_error;

using testing::HasSubstr;
using testing::Not;

// Returns a computation that is manual over x, with operands of the shardings `in` and results of
// the shardings `out`.
std::string program(const std::string& in, const std::string& out) {
  return fmt::format(R"(
    module {{
      sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
      func.func @main(%arg0: tensor<8x4xf32>, %arg1: tensor<8x4xf32>) -> tensor<8x4xf32> {{
        %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[{}, <@mesh, [{{"x"}}, {{}}]>] out_shardings=[{}] manual_axes={{"x"}} (%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) {{
          %1 = stablehlo.add %a, %b : tensor<4x4xf32>
          sdy.return %1 : tensor<4x4xf32>
        }} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
        return %0 : tensor<8x4xf32>
      }}
    }})",
                     in, out);
}
const std::string kPlain = R"(<@mesh, [{"x"}, {}]>)";

std::string printed(const std::string& text) { return to_mlir(foreign_text::parsed(text)); }

TEST(ControlFormat, ShardingsOverManualAxesAreAsTheyWere) {
  const std::string text = printed(program(kPlain, kPlain));
  EXPECT_THAT(text, HasSubstr("in_shardings=[<@mesh, [{\"x\"}, {}]>, <@mesh, [{\"x\"}, {}]>] "
                              "out_shardings=[<@mesh, [{\"x\"}, {}]>] manual_axes={\"x\"}"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("sharding_constraint")), Not(HasSubstr("func.call"))));
}

// JAX writes a shard_map over some axes of a mesh in this form if the other axes are explicit.
TEST(ControlFormat, FreeAxesConstrainTheValuesOfTheRegion) {
  for (const std::string dim : {R"({"x", "y"}, {"z"})", R"({"x"}, {"y", "z"})", R"({"x", "y"}, {})",
                                R"({"x", ?}, {"y", ?})"}) {
    const std::string text = printed(program(fmt::format("<@mesh, [{}]>", dim), kPlain));
    EXPECT_THAT(text, HasSubstr(dim.find('?') == std::string::npos
                                    ? "in_shardings=[<@mesh, [{\"x\"}, {}]>, <@mesh"
                                    : "in_shardings=[<@mesh, [{\"x\", ?}, {?}]>, <@mesh"));
    EXPECT_THAT(text, HasSubstr("(%arg2: tensor<4x4xf32>, %arg3: tensor<4x4xf32>)"));
  }
  EXPECT_THAT(printed(program(R"(<@mesh, [{"x", "y"}, {"z"}]>)", kPlain)),
              HasSubstr(R"(sdy.sharding_constraint %arg2 <@mesh, [{"y"}, {"z"}]>)"));
  EXPECT_THAT(printed(program(R"(<@mesh, [{"x", "y"}, {}]>)", kPlain)),
              HasSubstr(R"(sdy.sharding_constraint %arg2 <@mesh, [{"y"}, {?}]>)"));
  EXPECT_THAT(printed(program(R"(<@mesh, [{"x", ?}, {"y", ?}]>)", kPlain)),
              HasSubstr(R"(sdy.sharding_constraint %arg2 <@mesh, [{?}, {"y", ?}]>)"));
  const std::string result = printed(program(kPlain, R"(<@mesh, [{"x"}, {"z"}]>)"));
  EXPECT_THAT(result, HasSubstr("out_shardings=[<@mesh, [{\"x\"}, {}]>]"));
  EXPECT_THAT(result, HasSubstr("<@mesh, [{?}, {\"z\"}]>"));
}

TEST(ControlFormat, Errors) {
  const std::string late =
      "expected the manual axes of a dimension before the others, got 'y' before 'x'";
  expect_error(program(R"(<@mesh, [{"y", "x"}, {}]>)", kPlain), late);
  expect_error(program(kPlain, R"(<@mesh, [{"y", "x"}, {}]>)"), late);
}

}  // namespace
}  // namespace tessera::interchange::control_format_test
