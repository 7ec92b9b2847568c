// Loops and branches in damaged text: errors with their position and cause.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/interchange/text/parser.h"
#include "tessera/ir/verifier.h"
#include "tests/errors.h"

namespace tessera::control_flow_errors_test {

using namespace interchange;

namespace {

using tessera::test::error_of;
using ::testing::HasSubstr;

// Returns the error of a function of %a, %i, %p and %v with this body.
std::string failure(std::string_view body) {
  return error_of([&] {
    verify(parse_mlir(
        fmt::format("func.func @main(%a: tensor<f32>, %i: tensor<i32>, %p: tensor<i1>, %v: "
                    "tensor<4xf32>) {{\n{}\n  return\n}}\n",
                    body),
        "loop.mlir"));
  });
}

void fails(std::string_view body, std::string_view what) {
  const std::string message = failure(body);
  EXPECT_THAT(message, ::testing::StartsWith("[parse] loop.mlir:")) << body;
  EXPECT_THAT(message, HasSubstr(std::string(what))) << body;
}

constexpr std::string_view kCond = " cond {\n  stablehlo.return %p : tensor<i1>\n}";
constexpr std::string_view kBody = " do {\n  stablehlo.return %x : tensor<f32>\n}";

// Returns %0 = stablehlo.while(carries) with these regions.
std::string loop(std::string_view carries, std::string_view cond, std::string_view body) {
  return fmt::format("%0 = stablehlo.while({}){}{}", carries, cond, body);
}

TEST(ControlFlowErrors, ErrorsSayWhereAndWhat) {
  EXPECT_EQ(
      failure("%0 = stablehlo.while(%x = %a) : tensor<f32> cond {\n"
              "  stablehlo.return %x : tensor<f32>\n"
              "} do {\n"
              "  stablehlo.return %x : tensor<f32>\n"
              "}"),
      "[parse] loop.mlir:2:6: [while] expected cond to return one bool scalar, got float32[]\n"
      "  %0 = stablehlo.while(%x = %a) : tensor<f32> cond {\n"
      "       ^");
}

TEST(ControlFlowErrors, WhileOfOtherRegions) {
  const std::string one = "%x = %a) : tensor<f32>";
  const auto whole = [&](std::string_view regions) {
    return fmt::format("%0 = stablehlo.while({}{}", one, regions);
  };
  EXPECT_EQ(failure(whole(fmt::format("{}{}", kCond, kBody))), "");
  fails(whole(kBody), "expected 'cond', got 'do'");
  fails(whole(kCond), "expected 'do', got 'return'");
  fails(whole(fmt::format("{}{}", kBody, kCond)), "expected 'cond', got 'do'");
  fails(whole(fmt::format("{} do {{\n}}", kCond)), "expected an op, as stablehlo.add, got '}'");
  fails(whole(fmt::format(" cond {{\n}}{}", kBody)), "expected an op, as stablehlo.add, got '}'");
  fails(whole(fmt::format("{} do {{\n  %y = stablehlo.sine %x : tensor<f32>\n}}", kCond)),
        "expected an op, as stablehlo.add, got '}'");
  fails("%0 = \"stablehlo.while\"(%a) : (tensor<f32>) -> tensor<f32>",
        "[while] expected the regions cond and body, got 0");
  fails(
      "%0 = \"stablehlo.while\"(%a) ({\n^bb0(%x: tensor<f32>):\n  stablehlo.return %p : "
      "tensor<i1>\n}) : (tensor<f32>) -> tensor<f32>",
      "[while] expected the regions cond and body, got 1");
}

TEST(ControlFlowErrors, WhileOfOtherNumbersOfCarries) {
  const auto body = [](std::string_view values) {
    return fmt::format(" do {{\n  stablehlo.return {}\n}}", values);
  };
  const std::string one = "%x = %a";
  const std::string typed = fmt::format(" : tensor<f32>{}", kCond);
  fails(loop(one, typed, body("")),
        "[while] expected the body to return 1 value, one a carry, got 0");
  fails(loop(one, typed, body("%x, %x : tensor<f32>, tensor<f32>")),
        "[while] expected the body to return 1 value, one a carry, got 2");
  // The same if the body uses the outer value %v.
  fails(loop(one, typed, body("%x, %v : tensor<f32>, tensor<4xf32>")),
        "[while] expected the body to return 1 value, one a carry, got 2");
  fails(loop("%x = %a, %y = %a", fmt::format(" : tensor<f32>, tensor<f32>{}", kCond),
             body("%x : tensor<f32>")),
        "expected the types of 1 results, got 2");
  fails("%0:2 = stablehlo.while(%x = %a, %y = %a) : tensor<f32>, tensor<f32>" + std::string(kCond) +
            body("%x : tensor<f32>"),
        "[while] expected the body to return 2 values, one a carry, got 1");
  fails(loop(one, fmt::format(" : tensor<f32>, tensor<f32>{}", kCond), kBody),
        "expected the types of 1 results, got 2");
  fails("%0:2 = stablehlo.while(%x = %a) : tensor<f32>" + std::string(kCond) + std::string(kBody),
        "expected the types of 2 results, got 1");
  fails("%0:2 = stablehlo.while(%x = %a) : tensor<f32>, tensor<f32>" + std::string(kCond) +
            std::string(kBody),
        "expected the types of 1 results, got 2");
  fails(loop(one, kCond, kBody), "expected ':', got 'cond'");
  fails(loop("", typed, kBody), "expected 'cond', got ':'");
  fails(loop("%x = %a, ", typed, kBody), "expected a new value, as %iterArg, got ')'");
  fails(loop("%x %a", typed, kBody), "expected '=', got '%a'");
  fails(loop("%x = %w", typed, kBody), "expected a value that is defined above, got %w");
  fails("%0:2 = stablehlo.while(%x = %a, %x = %a) : tensor<f32>, tensor<f32>" + std::string(kCond) +
            std::string(kBody),
        "expected arguments of different names, got %x twice");
  const auto generic = [](std::string_view cond, std::string_view body) {
    return fmt::format(
        "%0 = \"stablehlo.while\"(%a) ({{\n{}  stablehlo.return %p : tensor<i1>\n}}, {{\n{}  "
        "stablehlo.return %a : tensor<f32>\n}}) : (tensor<f32>) -> tensor<f32>",
        cond, body);
  };
  const std::string_view bb1 = "^bb0(%x: tensor<f32>):\n",
                         bb2 = "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n";
  EXPECT_EQ(failure(generic(bb1, bb1)), "");
  fails(generic("", bb1), "[while] expected a cond of 1 argument, one a carry, got one of 0");
  fails(generic(bb2, bb1), "[while] expected a cond of 1 argument, one a carry, got one of 2");
  fails(generic(bb1, ""), "[while] expected a body of 1 argument, one a carry, got one of 0");
  fails(generic(bb1, bb2), "[while] expected a body of 1 argument, one a carry, got one of 2");
}

TEST(ControlFlowErrors, WhileOfOtherTypes) {
  const auto returns = [](std::string_view word, std::string_view values) {
    return fmt::format(
        " {} {{\n  %c = stablehlo.constant dense<true> : tensor<4xi1>\n"
        "  stablehlo.return {}\n}}",
        word, values);
  };
  const auto with_cond = [&](std::string_view values) {
    return loop("%x = %a", " : tensor<f32>" + returns("cond", values), kBody);
  };
  const auto with_body = [&](std::string_view values) {
    return loop("%x = %a", fmt::format(" : tensor<f32>{}", kCond), returns("do", values));
  };
  const std::string cond = "[while] expected cond to return one bool scalar, got ";
  fails(with_cond("%x : tensor<f32>"), cond + "float32[]");
  fails(with_cond("%i : tensor<i32>"), cond + "int32[]");
  fails(with_cond("%c : tensor<4xi1>"), cond + "bool[4]");
  fails(with_cond(""), cond + "0 values");
  fails(with_cond("%p, %p : tensor<i1>, tensor<i1>"), cond + "2 values");
  fails(with_cond("%p : tensor<i32>"), "expected type 0 to be tensor<i1>, got tensor<i32>");
  const std::string keep = "[while] expected carry 0 to keep its type float32[], got ";
  fails(with_body("%i : tensor<i32>"), keep + "int32[] from the body; convert it in the body");
  fails(with_body("%v : tensor<4xf32>"), keep + "float32[4] from the body");
  fails(loop("%x = %a", fmt::format(" : tensor<i32>{}", kCond), kBody),
        "expected result 0 to be tensor<f32>, which the op gives for its operands, got "
        "tensor<i32>");
  fails(
      "%0 = \"stablehlo.while\"(%a) ({\n^bb0(%x: tensor<f32>):\n  stablehlo.return %p : "
      "tensor<i1>\n}, {\n^bb0(%x: tensor<i32>):\n  stablehlo.return %x : tensor<i32>\n}) : "
      "(tensor<f32>) -> tensor<f32>",
      "[while] expected operand 0 of type int32[], as the body takes it, got float32[]");
  fails(
      loop("%x = %a", fmt::format(" : tensor<f32> attributes {{frob = 1 : i64}}{}", kCond), kBody),
      "expected attributes that stablehlo.while has, got 'frob'");
}

// Returns %0 = "stablehlo.case"(operands) ({regions}) : types.
std::string branches(std::string_view op, std::string_view operands,
                     std::vector<std::string_view> returned, std::string_view types) {
  std::string regions;
  for (std::string_view values : returned)
    regions += fmt::format("{}{{\n  stablehlo.return {}\n}}", regions.empty() ? "" : ", ", values);
  return fmt::format("%0 = \"stablehlo.{}\"({}) ({}) : {}", op, operands, regions, types);
}

TEST(ControlFlowErrors, CaseOfOtherOperandsAndRegions) {
  const std::string_view a = "%a : tensor<f32>", to_a = "(tensor<i32>) -> tensor<f32>";
  EXPECT_EQ(failure(branches("case", "%i", {a, a}, to_a)), "");
  fails(branches("case", "", {a, a}, "() -> tensor<f32>"),
        "[case] expected one operand, which says what branch to take, got 0; branches use values "
        "around them by name");
  // The first value that the branch uses has the type of an index.
  fails(branches("case", "", {"%i : tensor<i32>"}, "() -> tensor<i32>"),
        "[case] expected one operand, which says what branch to take, got 0");
  fails(branches("case", "%i, %a", {a, a}, "(tensor<i32>, tensor<f32>) -> tensor<f32>"),
        "[case] expected one operand, which says what branch to take, got 2");
  fails(branches("case", "%a", {a, a}, "(tensor<f32>) -> tensor<f32>"),
        "[case] expected a scalar of type int32, got float32[]");
  fails(branches("case", "%p", {a, a}, "(tensor<i1>) -> tensor<f32>"),
        "[case] expected a scalar of type int32, got bool[]; stablehlo.if takes a bool");
  fails(branches("case", "%v", {a, a}, "(tensor<4xf32>) -> tensor<f32>"),
        "[case] expected a scalar of type int32, got float32[4]");
  fails("%0 = \"stablehlo.case\"(%i) : (tensor<i32>) -> tensor<f32>",
        "[case] expected at least one branch");
  fails("%0 = \"stablehlo.case\"(%i) () : (tensor<i32>) -> tensor<f32>", "expected '{', got ')'");
  fails("%0 = \"stablehlo.case\"(%i) ({\n}) : (tensor<i32>) -> tensor<f32>",
        "expected an op, as stablehlo.add, got '}'");
  fails(
      "%0 = \"stablehlo.case\"(%i) ({\n  stablehlo.return %a : tensor<f32>\n}, {\n^bb0(%x: "
      "tensor<f32>):\n  stablehlo.return %x : tensor<f32>\n}) : (tensor<i32>) -> tensor<f32>",
      "[case] expected branches without arguments, got 1 in branch 1");
  fails("%0 = stablehlo.case %i : tensor<i32>", "expected the generic form of this op");
}

TEST(ControlFlowErrors, CaseOfOtherResults) {
  const std::string_view a = "%a : tensor<f32>", i = "%i : tensor<i32>", v = "%v : tensor<4xf32>",
                         both = "%a, %i : tensor<f32>, tensor<i32>",
                         to_a = "(tensor<i32>) -> tensor<f32>";
  const std::string like = "as that of branch 0, got ";
  fails(branches("case", "%i", {a, a, i}, to_a),
        "[case] expected result 0 of branch 2 to be float32[] " + like + "int32[]");
  fails(branches("case", "%i", {a, v}, to_a),
        "[case] expected result 0 of branch 1 to be float32[] " + like + "float32[4]");
  fails(branches("case", "%i", {a, both}, to_a),
        "[case] expected every branch to return 1 values as branch 0, got 2 from branch 1");
  fails(branches("case", "%i", {both, a}, to_a),
        "[case] expected every branch to return 2 values as branch 0, got 1 from branch 1");
  fails(branches("case", "%i", {a, ""}, to_a),
        "[case] expected every branch to return 1 values as branch 0, got 0 from branch 1");
  fails(branches("case", "%i", {a, a}, "(tensor<i32>) -> tensor<i32>"),
        "expected result 0 to be tensor<f32>, which the op gives for its operands");
  fails(branches("case", "%i", {a, a}, "(tensor<i32>) -> (tensor<f32>, tensor<f32>)"),
        "expected the types of 1 results, got 2");
  fails(branches("case", "%i", {a, a}, "(tensor<i1>) -> tensor<f32>"),
        "expected operand 0 to be tensor<i32>, as it is defined, got tensor<i1>");
}

TEST(ControlFlowErrors, IfOfOtherOperandsRegionsAndResults) {
  const std::string_view a = "%a : tensor<f32>", i = "%i : tensor<i32>",
                         both = "%a, %i : tensor<f32>, tensor<i32>",
                         to_a = "(tensor<i1>) -> tensor<f32>";
  EXPECT_EQ(failure(branches("if", "%p", {a, a}, to_a)), "");
  fails(branches("if", "%i", {a, a}, "(tensor<i32>) -> tensor<f32>"),
        "[if] expected a scalar of type bool, got int32[]; stablehlo.case takes an int32");
  fails(branches("if", "", {a, a}, "() -> tensor<f32>"),
        "[if] expected one operand, which says what branch to take, got 0");
  fails(branches("if", "", {"%p : tensor<i1>", "%p : tensor<i1>"}, "() -> tensor<i1>"),
        "[if] expected one operand, which says what branch to take, got 0");
  fails(branches("if", "%p, %a", {a, a}, "(tensor<i1>, tensor<f32>) -> tensor<f32>"),
        "[if] expected one operand, which says what branch to take, got 2");
  fails(branches("if", "%p", {a}, to_a), "[if] expected the regions for true and for false, got 1");
  fails(branches("if", "%p", {a, a, a}, to_a),
        "[if] expected the regions for true and for false, got 3");
  fails("%0 = stablehlo.if %p : tensor<i1>",
        "[if] expected the regions for true and for false, got 0");
  fails(branches("if", "%p", {a, i}, to_a),
        "[if] expected both regions to return values of the same types, got (tensor<f32>) for true "
        "and (tensor<i32>) for false");
  fails(branches("if", "%p", {both, a}, to_a),
        "got (tensor<f32>, tensor<i32>) for true and (tensor<f32>) for false");
}

struct ScanText {
  std::string_view length = "4 : i64", num_consts = "0 : i64", num_carry = "1 : i64",
                   reverse = "false", operands = "%a, %v",
                   arguments = "%x: tensor<f32>, %y: tensor<f32>",
                   returned = "%x, %x : tensor<f32>, tensor<f32>",
                   types = "(tensor<f32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)";
  std::string text() const {
    return fmt::format(
        "%0:2 = \"tessera.scan\"({}) <{{length = {}, num_consts = {}, num_carry = {}, reverse = "
        "{}}}> ({{\n^bb0({}):\n  stablehlo.return {}\n}}) : {}",
        operands, length, num_consts, num_carry, reverse, arguments, returned, types);
  }
};

TEST(ControlFlowErrors, ScanOfOtherNumbers) {
  EXPECT_EQ(failure(ScanText{}.text()), "");
  const std::string numbers = "[scan] expected length, num_consts and num_carry of 0 or more, got ";
  fails(ScanText{.length = "-4 : i64"}.text(), numbers + "-4, 0 and 1");
  fails(ScanText{.num_consts = "-1 : i64"}.text(), numbers + "4, -1 and 1");
  // Two carries, the first of them before the operands.
  fails(ScanText{.num_consts = "-1 : i64", .num_carry = "2 : i64"}.text(), numbers + "4, -1 and 2");
  fails(ScanText{.num_carry = "-1 : i64"}.text(), numbers + "4, 0 and -1");
  const std::string operands = "[scan] expected operands for ";
  fails(ScanText{.num_carry = "3 : i64"}.text(), operands + "0 constants and 3 carries, got 2");
  fails(ScanText{.num_consts = "2 : i64"}.text(), operands + "2 constants and 1 carries, got 2");
  const std::string_view most = "9223372036854775807 : i64";
  fails(ScanText{.num_consts = most, .num_carry = most}.text(),
        "constants and 9223372036854775807");
  fails(ScanText{.num_carry = "2 : i64"}.text(),
        "[scan] expected operand 1 of type float32[], as the body takes it, got float32[4]");
  fails(ScanText{.length = "5 : i64"}.text(),
        "[scan] expected scanned operand 1 to have leading dimension 5, got float32[4]");
  fails(ScanText{.operands = "%a, %a",
                 .types = "(tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<4xf32>)"}
            .text(),
        "[scan] expected scanned operand 1 to have leading dimension 4, got float32[]");
  fails(ScanText{.length = "\"4\""}.text(), "expected 'length' to be an integer");
  fails(ScanText{.reverse = "1 : i64"}.text(), "expected 'reverse' to be true or false");
}

TEST(ControlFlowErrors, ScanOfAnotherBody) {
  fails(ScanText{.arguments = "%x: tensor<f32>"}.text(),
        "[scan] expected a body of 2 arguments, got one of 1");
  fails(ScanText{.arguments = "%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>"}.text(),
        "[scan] expected a body of 2 arguments, got one of 3");
  fails(ScanText{.arguments = "%x: tensor<f32>, %y: tensor<4xf32>"}.text(),
        "[scan] expected operand 1 of type float32[4], as the body takes it, got float32[]");
  fails(ScanText{.returned = ""}.text(),
        "[scan] expected the body to return 1 carries first, got 0 values");
  fails(ScanText{.returned = "%x : tensor<f32>"}.text(), "expected the types of 1 results, got 2");
  fails(ScanText{.arguments = "%x: tensor<f32>, %y: tensor<f32>",
                 .returned = "%a, %x : tensor<f32>, tensor<f32>"}
            .text(),
        "expected a value of this region, got %a of the outer scope; pass it to the op as an "
        "operand");
  const std::string doubled = "(tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)";
  fails(ScanText{.operands = "%i, %v",
                 .arguments = "%x: tensor<i32>, %y: tensor<f32>",
                 .returned = "%y, %y : tensor<f32>, tensor<f32>",
                 .types = doubled}
            .text(),
        "[scan] expected carry 0 to keep its type int32[], got float32[] from the body");
  const auto call = [](std::string_view body) {
    return fmt::format(
        "%0:2 = stablehlo.custom_call @tessera.scan(%a, %v) {{api_version = 4 : i32, "
        "backend_config = {{{}length = 4 : i64, num_consts = 0 : i64, num_carry = 1 : i64, "
        "reverse = false}}}} : (tensor<f32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)",
        body);
  };
  fails(call(""), "expected region 0 ('body'), got 0 of them");
  fails(call("body = 3 : i64, "), "expected 'body' to be a function");
  fails(call("body = @other, "), "expected the name of a function of this module, got @other");
  fails(call("body = @main, "), "expected functions that do not call themselves");
}

}  // namespace
}  // namespace tessera::control_flow_errors_test
