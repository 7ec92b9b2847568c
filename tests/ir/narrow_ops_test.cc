// Imported programs with narrow dtypes.
#include "tessera/ir/narrow_ops.h"

#include <gmock/gmock.h>

#include "tessera/base/narrow.h"
#include "tessera/interchange/bytecode/reader.h"
#include "tessera/interchange/bytecode/writer.h"
#include "tessera/interchange/text/parser.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/verifier.h"
#include "tests/evaluate/evaluate.h"

namespace tessera::ir::narrow_ops_test {

using namespace interchange;

namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<int> codes_of(const Literal& literal) {
  std::vector<int> out;
  for (int64_t i = 0; i < literal.bytes(); ++i) out.push_back(static_cast<int>(literal.raw()[i]));
  return out;
}

Function parse_main(const std::string& body, const std::string& result) {
  const Function f = parse_mlir("func.func @main() -> " + result + " {" + body + "}", "test.mlir");
  verify(f);
  EXPECT_TRUE(parse_mlir(to_mlir(f)) == f) << to_mlir(f);
  EXPECT_TRUE(read_bytecode(to_bytecode(f), "test").main == f) << to_mlir(f);
  return f;
}
std::vector<int> result_codes(const std::string& body, const std::string& result) {
  return codes_of(evaluate(parse_main(body, result), {})[0]);
}

TEST(NarrowOps, ConstantsOfEveryKindOfText) {
  EXPECT_EQ(result_codes("%0 = stablehlo.constant dense<[1, -2, -8, 7]> : tensor<4xi4>\n"
                         "return %0 : tensor<4xi4>",
                         "tensor<4xi4>"),
            (std::vector<int>{1, 14, 8, 7}));
  EXPECT_EQ(result_codes("%0 = stablehlo.constant dense<[1.0, -0.3, 0x7F]> : tensor<3xf8E4M3FN>\n"
                         "return %0 : tensor<3xf8E4M3FN>",
                         "tensor<3xf8E4M3FN>"),
            (std::vector<int>{0x38, 0xaa, 0x7f}));
  EXPECT_EQ(result_codes("%0 = stablehlo.constant dense<\"0x0FF1\"> : tensor<2xui4>\n"
                         "return %0 : tensor<2xui4>",
                         "tensor<2xui4>"),
            (std::vector<int>{15, 1}));
  EXPECT_EQ(result_codes("%0 = stablehlo.constant dense<3> : tensor<ui2>\n"
                         "return %0 : tensor<ui2>",
                         "tensor<ui2>"),
            (std::vector<int>{3}));
}

TEST(NarrowOps, NumbersThatDoNotFitAreErrors) {
  for (const auto& [number, type] : std::vector<std::pair<std::string, std::string>>{
           {"16", "i4"}, {"-9", "i4"}, {"-1", "ui4"}, {"4", "ui2"}, {"0x1FF", "f8E5M2"}}) {
    try {
      parse_mlir("func.func @main() -> tensor<" + type + "> {\n%0 = stablehlo.constant dense<" +
                 number + "> : tensor<" + type + ">\nreturn %0 : tensor<" + type + ">\n}");
      ADD_FAILURE() << number << " of " << type;
    } catch (const UserError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kParse);
      EXPECT_THAT(error.what(), HasSubstr(":2:"));
    }
  }
}

TEST(NarrowOps, ArithmeticIsOfWideDtypes) {
  const std::string body = R"(
    %x = stablehlo.constant dense<[7, -8, 3]> : tensor<3xi4>
    %0 = stablehlo.add %x, %x : tensor<3xi4>
    return %0 : tensor<3xi4>)";
  const Function f = parse_main(body, "tensor<3xi4>");
  EXPECT_THAT(to_mlir(f), HasSubstr("stablehlo.add"));
  EXPECT_THAT(to_mlir(f), HasSubstr("tensor<3xi8>"));
  EXPECT_EQ(codes_of(evaluate(f, {})[0]), (std::vector<int>{14, 0, 6}));
}

TEST(NarrowOps, ElementsAreMovedAsTheyAre) {
  const Function f = parse_main(R"(
    %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf8E5M2>
    %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x2xf8E5M2>) -> tensor<2x2xf8E5M2>
    %1 = stablehlo.concatenate %0, %x, dim = 0 : (tensor<2x2xf8E5M2>, tensor<2x2xf8E5M2>) -> tensor<4x2xf8E5M2>
    %2 = stablehlo.slice %1 [1:3, 0:2] : (tensor<4x2xf8E5M2>) -> tensor<2x2xf8E5M2>
    return %2 : tensor<2x2xf8E5M2>)",
                                "tensor<2x2xf8E5M2>");
  EXPECT_THAT(to_mlir(f), Not(HasSubstr("convert")));
  EXPECT_EQ(codes_of(evaluate(f, {})[0]), (std::vector<int>{0x40, 0x44, 0x3c, 0x40}));
}

TEST(NarrowOps, FoldsAreNamedOnesOfWideDtypes) {
  const std::string generic = R"(
    %x = stablehlo.constant dense<[0.5, 0.25, 4.0]> : tensor<3xf8E4M3FN>
    %z = stablehlo.constant dense<0.0> : tensor<f8E4M3FN>
    %0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f8E4M3FN>, %b: tensor<f8E4M3FN>):
      %s = stablehlo.add %a, %b : tensor<f8E4M3FN>
      stablehlo.return %s : tensor<f8E4M3FN>
    }) : (tensor<3xf8E4M3FN>, tensor<f8E4M3FN>) -> tensor<f8E4M3FN>
    return %0 : tensor<f8E4M3FN>)";
  const std::string pretty = R"(
    %x = stablehlo.constant dense<[0.5, 0.25, 4.0]> : tensor<3xf8E4M3FN>
    %z = stablehlo.constant dense<0.0> : tensor<f8E4M3FN>
    %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3xf8E4M3FN>, tensor<f8E4M3FN>) -> tensor<f8E4M3FN>
    return %0 : tensor<f8E4M3FN>)";
  for (const std::string& body : {generic, pretty}) {
    const Function f = parse_main(body, "tensor<f8E4M3FN>");
    EXPECT_THAT(to_mlir(f), HasSubstr("applies stablehlo.add"));
    EXPECT_EQ(codes_of(evaluate(f, {})[0]), (std::vector<int>{narrow_bits(float8_e4m3fn, 4.75)}));
  }
}

TEST(NarrowOps, RegionsThatRoundTwiceDoSo) {
  // (a + b) * 0.5 in float8_e5m2: each step is rounded.
  const Function f = parse_main(R"(
    %x = stablehlo.constant dense<[9.0, 1.0]> : tensor<2xf8E5M2>
    %z = stablehlo.constant dense<0.0> : tensor<f8E5M2>
    %0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f8E5M2>, %b: tensor<f8E5M2>):
      %s = stablehlo.add %a, %b : tensor<f8E5M2>
      %t = stablehlo.multiply %s, %s : tensor<f8E5M2>
      stablehlo.return %t : tensor<f8E5M2>
    }) : (tensor<2xf8E5M2>, tensor<f8E5M2>) -> tensor<f8E5M2>
    return %0 : tensor<f8E5M2>)",
                                "tensor<f8E5M2>");
  // 9 is rounded to 8, squared is 64, plus 1 is 64 after rounding, squared is 4096.
  EXPECT_EQ(codes_of(evaluate(f, {})[0]), (std::vector<int>{narrow_bits(float8_e5m2, 4096)}));
}

TEST(NarrowOps, SortsByTheUsualOrder) {
  EXPECT_EQ(result_codes(R"(
    %x = stablehlo.constant dense<[3.0, -1.0, 0x7E, 0.5]> : tensor<4xf8E5M2>
    %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f8E5M2>, %b: tensor<f8E5M2>):
      %c = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f8E5M2>, tensor<f8E5M2>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }) : (tensor<4xf8E5M2>) -> tensor<4xf8E5M2>
    return %0 : tensor<4xf8E5M2>)",
                         "tensor<4xf8E5M2>"),
            (std::vector<int>{0xbc, 0x38, 0x42, 0x7e}));
}

TEST(NarrowOps, LoopsCarryThem) {
  EXPECT_EQ(result_codes(R"(
    %x = stablehlo.constant dense<1> : tensor<i4>
    %i = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%a = %i, %b = %x) : tensor<i32>, tensor<i4>
    cond {
      %n = stablehlo.constant dense<5> : tensor<i32>
      %c = stablehlo.compare LT, %a, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.add %a, %one : tensor<i32>
      %d = stablehlo.add %b, %b : tensor<i4>
      stablehlo.return %n, %d : tensor<i32>, tensor<i4>
    }
    return %0#1 : tensor<i4>)",
                         "tensor<i4>"),
            (std::vector<int>{0}));
}

TEST(NarrowOps, ProductsSayTheirDtype) {
  EXPECT_EQ(result_codes(R"(
    %x = stablehlo.constant dense<[[1, 2], [3, -4]]> : tensor<2x2xi4>
    %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<2x2xi4>, tensor<2x2xi4>) -> tensor<2x2xi4>
    %1 = stablehlo.iota dim = 0 : tensor<2x2xi4>
    %2 = stablehlo.add %0, %1 : tensor<2x2xi4>
    return %2 : tensor<2x2xi4>)",
                         "tensor<2x2xi4>"),
            (std::vector<int>{7, 10, 8, 7}));
}

}  // namespace
}  // namespace tessera::ir::narrow_ops_test
