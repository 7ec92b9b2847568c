// Scatters of several arrays with one body, in text and in bytecode.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/interchange/bytecode/reader.h"
#include "tessera/interchange/bytecode/writer.h"
#include "tessera/interchange/text/parser.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ops/indexing/scatter.h"
#include "tests/evaluate/evaluate.h"

namespace tessera::scatter_format_test {

using namespace interchange;

namespace {

// Returns the text of a scatter with this body, into the arrays %x, f32, and %y, i32, of three
// elements.
std::string scatter_text(std::string_view operands, std::string_view body) {
  return fmt::format(
      R"(func.func @main(%x: tensor<3xf32>, %y: tensor<3xi32>, %u: tensor<4xf32>,
                         %v: tensor<4xi32>) -> (tensor<3xf32>, tensor<3xi32>) {{
  %i = stablehlo.constant dense<[[2], [0], [2], [7]]> : tensor<4x1xi32>
  %r:2 = "stablehlo.scatter"({}) <{{indices_are_sorted = false,
      scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
      {}
  }}) : (tensor<3xf32>, tensor<3xi32>, tensor<4x1xi32>, tensor<4xf32>, tensor<4xi32>)
      -> (tensor<3xf32>, tensor<3xi32>)
  return %r#0, %r#1 : tensor<3xf32>, tensor<3xi32>
}})",
      operands, body);
}

constexpr std::string_view kOperands = "%x, %y, %i, %u, %v";

std::vector<Literal> inputs() {
  const auto of = []<class T>(std::initializer_list<T> values) {
    return Literal::from<T>(std::span<const T>(values.begin(), values.size()),
                            {static_cast<int64_t>(values.size())});
  };
  return {of({0.5F, 0.5F, 0.5F}), of({1, 2, 3}), of({1.0F, 2.0F, 4.0F, 8.0F}), of({9, -1, 5, 99})};
}

void expect_results(std::string_view body, const std::vector<float>& x,
                    const std::vector<int32_t>& y) {
  const Function f = parse_mlir(scatter_text(kOperands, body));
  const std::string text = to_mlir(f);
  EXPECT_TRUE(parse_mlir(text) == f) << text;
  EXPECT_TRUE(read_bytecode(to_bytecode(f), "scatter").main == f);
  const std::vector<Literal> got = evaluate(f, inputs());
  EXPECT_EQ(std::vector<float>(got[0].data<float>(), got[0].data<float>() + 3), x);
  EXPECT_EQ(std::vector<int32_t>(got[1].data<int32_t>(), got[1].data<int32_t>() + 3), y);
}

TEST(ScatterFormat, EachResultTakesItsOwnUpdate) {
  expect_results("stablehlo.return %c, %d : tensor<f32>, tensor<i32>", {2, 0.5, 4}, {-1, 2, 5});
}

TEST(ScatterFormat, BodiesFoldEachArrayInItsManner) {
  expect_results(R"(%s = stablehlo.add %a, %c : tensor<f32>
      %m = stablehlo.maximum %b, %d : tensor<i32>
      stablehlo.return %s, %m : tensor<f32>, tensor<i32>)",
                 {2.5, 0.5, 5.5}, {1, 2, 9});
}

// Each result reads the other array's update.
TEST(ScatterFormat, BodiesMixTheArrays) {
  expect_results(R"(%e = stablehlo.convert %d : (tensor<i32>) -> tensor<f32>
      %s = stablehlo.add %a, %e : tensor<f32>
      %g = stablehlo.convert %c : (tensor<f32>) -> tensor<i32>
      %m = stablehlo.maximum %b, %g : tensor<i32>
      stablehlo.return %s, %m : tensor<f32>, tensor<i32>)",
                 {-0.5, 0.5, 14.5}, {2, 2, 4});
}

TEST(ScatterFormat, OperandsWithoutUpdatesAreRefused) {
  try {
    parse_mlir(scatter_text("%x, %y, %i, %u", "stablehlo.return %c, %d : tensor<f32>, tensor<i32>"),
               "scatter.mlir");
    FAIL() << "it was read";
  } catch (const UserError& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kParse);
  }
}

}  // namespace
}  // namespace tessera::scatter_format_test
