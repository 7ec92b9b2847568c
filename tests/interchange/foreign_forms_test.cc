// Forms of StableHLO text that Tessera represents by other ops: tuples, shapes given by constants,
// element-wise maps, and collectives that are custom calls.
#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

#include "tessera/ops/core/elementwise.h"
#include "tests/interchange/foreign_text.h"

namespace tessera::interchange::foreign_forms_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using foreign_text::expect_error;
using foreign_text::parsed;
using foreign_text::values;

TEST(Tuples, AreNamesForTheirParts) {
  const std::string text = R"(
    func.func @main() -> (tensor<i32>, tensor<2xf32>) {
      %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
      %b = stablehlo.constant dense<3> : tensor<i32>
      %inner = stablehlo.tuple %b : tuple<tensor<i32>>
      %t = "stablehlo.tuple"(%a, %inner) : (tensor<2xf32>, tuple<tensor<i32>>) -> tuple<tensor<2xf32>, tuple<tensor<i32>>>
      %u = func.call @twice(%t) : (tuple<tensor<2xf32>, tuple<tensor<i32>>>) -> tuple<tensor<2xf32>, tuple<tensor<i32>>>
      %0 = stablehlo.get_tuple_element %u[1] : (tuple<tensor<2xf32>, tuple<tensor<i32>>>) -> tuple<tensor<i32>>
      %1 = "stablehlo.get_tuple_element"(%0) <{index = 0 : i32}> : (tuple<tensor<i32>>) -> tensor<i32>
      %2 = stablehlo.get_tuple_element %u[0] : (tuple<tensor<2xf32>, tuple<tensor<i32>>>) -> tensor<2xf32>
      return %1, %2 : tensor<i32>, tensor<2xf32>
    }
    func.func private @twice(%t: tuple<tensor<2xf32>, tuple<tensor<i32>>>) -> tuple<tensor<2xf32>, tuple<tensor<i32>>> {
      %0 = stablehlo.get_tuple_element %t[0] : (tuple<tensor<2xf32>, tuple<tensor<i32>>>) -> tensor<2xf32>
      %1 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<2xf32>, tuple<tensor<i32>>>) -> tuple<tensor<i32>>
      %2 = stablehlo.add %0, %0 : tensor<2xf32>
      %3 = stablehlo.tuple %2, %1 : tuple<tensor<2xf32>, tuple<tensor<i32>>>
      return %3 : tuple<tensor<2xf32>, tuple<tensor<i32>>>
    })";
  EXPECT_THAT(values<int32_t>(text, 0), ElementsAre(3));
  EXPECT_THAT(values<float>(text, 1), ElementsAre(2, 4));
}

TEST(Tuples, ArgumentsAreNamedByTheirPlaces) {
  const ParsedModule module = parse_module(R"(
    func.func @main(%t: tuple<tensor<2xf32>, tensor<i32>>) -> tensor<i32> {
      %0 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<i32>
      return %0 : tensor<i32>
    })",
                                           "test.mlir");
  EXPECT_THAT(module.input_names, ElementsAre("t.0", "t.1"));
}

TEST(Tuples, WrongOnesAreErrors) {
  const auto program = [](const std::string& line) {
    return "func.func @main(%a: tensor<i32>) -> tensor<i32> {\n"
           "%t = stablehlo.tuple %a, %a : tuple<tensor<i32>, tensor<i32>>\n" +
           line + "\nreturn %a : tensor<i32>\n}";
  };
  expect_error(program("%0 = stablehlo.get_tuple_element %t[2] : (tuple<tensor<i32>, tensor<i32>>) "
                       "-> tensor<i32>"),
               "one of the 2 parts");
  expect_error(program("%0 = stablehlo.get_tuple_element %a[0] : (tensor<i32>) -> tensor<i32>"),
               "expected a tuple");
  expect_error(program("%0 = stablehlo.get_tuple_element %t[0] : (tuple<tensor<i32>, tensor<i32>>) "
                       "-> tensor<f32>"),
               "the type of what the op gives");
  expect_error(program("%0 = stablehlo.negate %t : tensor<i32>"), "expected 1 operand");
}

TEST(DynamicShapes, ThatConstantsGiveAreStatic) {
  EXPECT_THAT(values<int64_t>(R"(
    func.func @main() -> tensor<2x3xi64> {
      %shape = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
      %0 = stablehlo.dynamic_iota %shape, dim = 1 : (tensor<2xi64>) -> tensor<2x3xi64>
      return %0 : tensor<2x3xi64>
    })"),
              ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(values<int32_t>(R"(
    func.func @main() -> tensor<2x3xi32> {
      %x = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
      %shape = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
      %0 = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [0, 1] : (tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x3xi32>
      return %0 : tensor<2x3xi32>
    })"),
              ElementsAre(1, 1, 1, 2, 2, 2));
  // A shape may also be computed from constants.
  EXPECT_THAT(values<int32_t>(R"(
    func.func @main() -> tensor<5xi32> {
      %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
      %v = stablehlo.constant dense<7> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<1xi64>
      %two = stablehlo.add %one, %one : tensor<1xi64>
      %none = stablehlo.subtract %one, %one : tensor<1xi64>
      %0 = stablehlo.dynamic_pad %x, %v, %one, %two, %none : (tensor<2xi32>, tensor<i32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<5xi32>
      return %0 : tensor<5xi32>
    })"),
              ElementsAre(7, 1, 2, 7, 7));
  EXPECT_THAT(values<int32_t>(R"(
    func.func @main() -> tensor<2xi32> {
      %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
      %start = stablehlo.constant dense<1> : tensor<1xi64>
      %limit = stablehlo.constant dense<4> : tensor<1xi64>
      %stride = stablehlo.constant dense<2> : tensor<1xi64>
      %0 = stablehlo.real_dynamic_slice %x, %start, %limit, %stride : (tensor<4xi32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xi32>
      return %0 : tensor<2xi32>
    })"),
              ElementsAre(2, 4));
  EXPECT_THAT(values<int32_t>(R"(
    func.func @main() -> tensor<i32> {
      %x = stablehlo.constant dense<0.0> : tensor<4x7xf32>
      %0 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<4x7xf32>) -> tensor<i32>
      return %0 : tensor<i32>
    })"),
              ElementsAre(7));
}

TEST(DynamicShapes, ThatArgumentsGiveAreErrors) {
  expect_error(R"(
    func.func @main(%x: tensor<2xi32>, %n: tensor<1xi64>) -> tensor<5xi32> {
      %v = stablehlo.constant dense<7> : tensor<i32>
      %0 = stablehlo.dynamic_pad %x, %v, %n, %n, %n : (tensor<2xi32>, tensor<i32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<5xi32>
      return %0 : tensor<5xi32>
    })",
               "expected edge_padding_low to be integers that constants give");
  expect_error(R"(
    func.func @main(%x: tensor<2x2xi32>) -> tensor<i32> {
      %0 = stablehlo.get_dimension_size %x, dim = 2 : (tensor<2x2xi32>) -> tensor<i32>
      return %0 : tensor<i32>
    })",
               "expected a dimension in [0, 2), got 2");
}

TEST(Maps, AreElementwise) {
  EXPECT_THAT(values<int32_t>(R"(
    func.func @main() -> tensor<3xi32> {
      %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
      %0 = "stablehlo.map"(%x, %x) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %c = stablehlo.constant dense<10> : tensor<i32>
        %1 = stablehlo.multiply %a, %b : tensor<i32>
        %2 = stablehlo.add %1, %c : tensor<i32>
        stablehlo.return %2 : tensor<i32>
      }) : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
      return %0 : tensor<3xi32>
    })"),
              ElementsAre(11, 14, 19));
  expect_error(R"(
    func.func @main(%x: tensor<3xi32>) -> tensor<3xi32> {
      %0 = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<i32>):
        %1 = stablehlo.reshape %a : (tensor<i32>) -> tensor<1xi32>
        %2 = stablehlo.reshape %1 : (tensor<1xi32>) -> tensor<i32>
        stablehlo.return %2 : tensor<i32>
      }) : (tensor<3xi32>) -> tensor<3xi32>
      return %0 : tensor<3xi32>
    })",
               "expected a region of elementwise ops");
}

TEST(UpperHalves, AreThoseOfTheProduct) {
  const auto mulhi = [](const std::string& x, const std::string& y, const std::string& type) {
    return "func.func @main() -> " + type + " {\n%x = stablehlo.constant dense<" + x +
           "> : " + type + "\n%y = stablehlo.constant dense<" + y + "> : " + type +
           "\n%0 = chlo.mulhi %x, %y : " + type + ", " + type + " -> " + type +
           "\nreturn %0 : " + type + "\n}";
  };
  EXPECT_THAT(values<int8_t>(mulhi("[64, -64, -128]", "[4, 4, -128]", "tensor<3xi8>")),
              ElementsAre(1, -1, 64));
  EXPECT_THAT(values<uint32_t>(mulhi("4294967295", "4294967295", "tensor<ui32>")),
              ElementsAre(4294967294U));
  const std::vector<int64_t> x = {INT64_MIN, INT64_MAX, -1, 0x123456789abcdef, -0x7edcba987654321},
                             y = {INT64_MIN, INT64_MIN, 1, -0x7000000000000001, -3};
  std::vector<int64_t> expected;
  std::string xs, ys;
  for (size_t i = 0; i < x.size(); ++i) {
    expected.push_back(static_cast<int64_t>((static_cast<__int128>(x[i]) * y[i]) >> 64));
    xs += (i ? ", " : "[") + std::to_string(x[i]);
    ys += (i ? ", " : "[") + std::to_string(y[i]);
  }
  EXPECT_EQ(values<int64_t>(mulhi(xs + "]", ys + "]", "tensor<5xi64>")), expected);
  EXPECT_THAT(values<uint64_t>(mulhi("[18446744073709551615, 9223372036854775808]",
                                     "[18446744073709551615, 6]", "tensor<2xui64>")),
              ElementsAre(18446744073709551614ULL, 3));
}

TEST(RealParts, OfRealNumbersAreThese) {
  const std::string text = R"(
    func.func @main() -> (tensor<2xf32>, tensor<2xf32>) {
      %x = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
      %0 = stablehlo.real %x : tensor<2xf32>
      %1 = stablehlo.imag %x : tensor<2xf32>
      return %0, %1 : tensor<2xf32>, tensor<2xf32>
    })";
  EXPECT_THAT(values<float>(text, 0), ElementsAre(1, -2));
  EXPECT_THAT(values<float>(text, 1), ElementsAre(0, 0));
}

TEST(Halves, AreSolvedAsFloat32) {
  const Function f = parsed(R"(
    func.func @main() -> tensor<2x1xbf16> {
      %a = stablehlo.constant dense<[[2.0, 0.0], [1.0, 4.0]]> : tensor<2x2xbf16>
      %b = stablehlo.constant dense<[[2.0], [9.0]]> : tensor<2x1xbf16>
      %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x2xbf16>, tensor<2x1xbf16>) -> tensor<2x1xbf16>
      return %0 : tensor<2x1xbf16>
    })");
  const Literal out = evaluate(f, {})[0];
  EXPECT_EQ(static_cast<float>(out.data<Bfloat16>()[0]), 1);
  EXPECT_EQ(static_cast<float>(out.data<Bfloat16>()[1]), 2);
}

TEST(Products, OfBoolsSayWhetherAnyPairIsTrue) {
  const std::string text = R"(
    func.func @main() -> (tensor<2x2xi1>, tensor<2x2xi32>) {
      %a = stablehlo.constant dense<[[true, false], [true, true]]> : tensor<2x2xi1>
      %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<2x2xi1>, tensor<2x2xi1>) -> tensor<2x2xi1>
      %1 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<2x2xi1>, tensor<2x2xi1>) -> tensor<2x2xi32>
      return %0, %1 : tensor<2x2xi1>, tensor<2x2xi32>
    })";
  EXPECT_THAT(values<bool>(text, 0), ElementsAre(true, false, true, true));
  EXPECT_THAT(values<int32_t>(text, 1), ElementsAre(1, 0, 2, 1));
}

// As JAX writes preferred_element_type: 3 * 100 * 100 is no int8.
TEST(Products, OfIntegersMayBeFloats) {
  const std::string text = R"(
    func.func @main() -> (tensor<f32>, tensor<bf16>) {
      %a = stablehlo.constant dense<[100, 100, 100]> : tensor<3xi8>
      %b = stablehlo.constant dense<[1, 2, 3]> : tensor<3xui8>
      %0 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<3xi8>, tensor<3xi8>) -> tensor<f32>
      %1 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<3xi8>, tensor<3xui8>) -> tensor<bf16>
      return %0, %1 : tensor<f32>, tensor<bf16>
    })";
  EXPECT_THAT(values<float>(text, 0), ElementsAre(30000));
  EXPECT_EQ(static_cast<float>(values<Bfloat16>(text, 1)[0]), 600);
}

// From StableHLO's dot_general.mlir. The algorithm tf32 is a lower limit of the precision.
TEST(Products, OfAnAlgorithmAreOfTheOperandsDtype) {
  constexpr const char* kFields =
      "lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, "
      "lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, "
      "allow_imprecise_accumulation = false>";
  const std::string text = fmt::format(R"(
    func.func @main() -> (tensor<2x2x2xi64>, tensor<2x2xf32>) {{
      %a = stablehlo.constant dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi64>
      %b = stablehlo.constant dense<[[[1, 0], [0, 1]], [[1, 0], [0, 1]]]> : tensor<2x2x2xi64>
      %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT], algorithm = <{0} : (tensor<2x2x2xi64>, tensor<2x2x2xi64>) -> tensor<2x2x2xi64>
      %c = stablehlo.constant dense<[[16777215.0, 0.0], [1.0, 1.0]]> : tensor<2x2xf32>
      %d = stablehlo.constant dense<[[1.0, 0.0], [0.0, 1.0]]> : tensor<2x2xf32>
      %1 = "stablehlo.dot_general"(%c, %d) <{{algorithm = #stablehlo.dot_algorithm<{0}, dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
      return %0, %1 : tensor<2x2x2xi64>, tensor<2x2xf32>
    }})",
                                       kFields);
  EXPECT_THAT(values<int64_t>(text, 0), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(values<float>(text, 1), ElementsAre(16777215, 0, 1, 1));
}

// As in StableHLO's convert.mlir and in XLA.
TEST(Conversions, OfComplexNumbersAreOfTheirRealParts) {
  EXPECT_THAT(values<bool>(R"(
    func.func @main() -> tensor<3xi1> {
      %x = stablehlo.constant dense<[(-1.0, 0.0), (0.0, 1.0), (1.0, 0.0)]> : tensor<3xcomplex<f64>>
      %0 = stablehlo.convert %x : (tensor<3xcomplex<f64>>) -> tensor<3xi1>
      return %0 : tensor<3xi1>
    })"),
              ElementsAre(true, false, true));
}

TEST(Functions, OfCHLO) {
  const auto of_one = [](const std::string& op) {
    return values<double>(
        "func.func @main() -> tensor<3xf64> {\n%x = stablehlo.constant dense<[0.5, "
        "-3.0, 20.0]> : tensor<3xf64>\n%0 = chlo." +
        op + " %x : tensor<3xf64> -> tensor<3xf64>\nreturn %0 : tensor<3xf64>\n}");
  };
  // scipy.special.ive(1, x)
  EXPECT_THAT(of_one("bessel_i1e"), ElementsAre(testing::DoubleNear(0.15642080318487167, 1e-15),
                                                testing::DoubleNear(-0.19682671329730086, 1e-15),
                                                testing::DoubleNear(0.08750622218328864, 1e-15)));
  EXPECT_THAT(of_one("tan"), ElementsAre(std::tan(0.5), std::tan(-3.0), std::tan(20.0)));
  const auto of_two = [](const std::string& op, const std::string& first) {
    return values<double>(
        "func.func @main() -> tensor<3xf64> {\n%n = stablehlo.constant dense<" + first +
        "> : tensor<3xf64>\n%x = stablehlo.constant dense<[0.5, 3.0, -1.5]> : tensor<3xf64>\n"
        "%0 = chlo." +
        op +
        " %n, %x : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>\n"
        "return %0 : tensor<3xf64>\n}");
  };
  // digamma(1/2) = -gamma - 2 log 2, psi''(3) = 9/4 - 2 zeta(3), psi'(-3/2) = pi^2 / 2 + 40 / 9.
  const double zeta3 = 1.2020569031595942;
  EXPECT_THAT(of_two("polygamma", "[0.0, 2.0, 1.0]"),
              ElementsAre(testing::DoubleNear(-std::numbers::egamma - 2 * std::log(2), 1e-14),
                          testing::DoubleNear(2.25 - 2 * zeta3, 1e-15),
                          testing::DoubleNear(M_PI * M_PI / 2 + 40.0 / 9, 1e-13)));
  // zeta(2, 1/2) = pi^2 / 2, zeta(3, 3) = zeta(3) - 9/8, and psi'(-3/2) again.
  EXPECT_THAT(of_two("zeta", "[2.0, 3.0, 2.0]"),
              ElementsAre(testing::DoubleNear(M_PI * M_PI / 2, 1e-14),
                          testing::DoubleNear(zeta3 - 1.125, 1e-15),
                          testing::DoubleNear(M_PI * M_PI / 2 + 40.0 / 9, 1e-13)));
}

TEST(Functions, OfCHLORefuseOtherTypes) {
  const auto error = [](const std::string& types, const std::string& result) {
    return test::error_of([&] {
      values<double>("func.func @main(%n: tensor<3xf64>, %x: " + types + ") -> " + result +
                     " {\n%0 = chlo.zeta %n, %x : tensor<3xf64>, " + types + " -> " + result +
                     "\nreturn %0 : " + result + "\n}");
    });
  };
  EXPECT_THAT(error("tensor<3xf32>", "tensor<3xf64>"),
              testing::HasSubstr("expected operands of one floating-point type"));
}

// JAX 0.8 writes them so.
TEST(Functions, OfCHLOAreCalledByTheirNamesInMHLO) {
  const Function f = parsed(R"(
    func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<2xf32>, tensor<2xi32>) {
      %0 = stablehlo.custom_call @mhlo.erf(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<3xf32>) -> tensor<3xf32>
      %1:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 2 : i64}, mhlo.version = 1 : i64} : (tensor<3xf32>) -> (tensor<2xf32>, tensor<2xi32>)
      return %0, %1#0, %1#1 : tensor<3xf32>, tensor<2xf32>, tensor<2xi32>
    })");
  EXPECT_EQ(f.ops[0].def, &ops::erf_op);
  const std::vector<Literal> out =
      evaluate(f, std::vector{Literal::from<float>(std::vector<float>{1, 3, 2}, {3})});
  EXPECT_THAT(std::vector<float>(out[1].data<float>(), out[1].data<float>() + 2),
              ElementsAre(3, 2));
  EXPECT_THAT(std::vector<int32_t>(out[2].data<int32_t>(), out[2].data<int32_t>() + 2),
              ElementsAre(1, 2));
  expect_error(R"(
    func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %0 = stablehlo.custom_call @mhlo.no_such(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<3xf32>) -> tensor<3xf32>
      return %0 : tensor<3xf32>
    })",
               "expected a custom call that Tessera has, got @mhlo.no_such");
  expect_error(R"(
    func.func @main(%x: tensor<3xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
      %0:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 2 : i64, largest = false}, mhlo.version = 1 : i64} : (tensor<3xf32>) -> (tensor<2xf32>, tensor<2xi32>)
      return %0#0, %0#1 : tensor<2xf32>, tensor<2xi32>
    })",
               "expected attributes that chlo.top_k has, got 'largest'");
}

TEST(GenericForm, OfModulesFunctionsAndManualComputations) {
  const std::string text = R"(
    "builtin.module"() <{sym_name = "m"}> ({
      "sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "mesh"}> : () -> ()
      "func.func"() <{arg_attrs = [{}, {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}], function_type = (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>, res_attrs = [{}], sym_name = "main", sym_visibility = "public"}> ({
      ^bb0(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>):
        %0 = "sdy.manual_computation"(%arg0, %arg1) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}> ({
        ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
          %1 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
          "sdy.return"(%1) : (tensor<2xf32>) -> ()
        }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        %5 = "func.call"(%0) <{callee = @f}> : (tensor<4xf32>) -> tensor<4xf32>
        "func.return"(%5) : (tensor<4xf32>) -> ()
      }) : () -> ()
      "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f", sym_visibility = "private"}> ({
      ^bb0(%arg0: tensor<4xf32>):
        "func.return"(%arg0) : (tensor<4xf32>) -> ()
      }) : () -> ()
    }) : () -> ())";
  const ParsedModule module = parse_module(text, "test.mlir");
  verify(module.main);
  EXPECT_EQ(module.name, "m");
  EXPECT_TRUE(module.input_shardings[1].has_value());
  const std::string printed = to_mlir(module.main);
  EXPECT_THAT(printed, HasSubstr("sdy.manual_computation(%arg0, %arg1)"));
  EXPECT_THAT(printed, HasSubstr("func.call @f"));
  EXPECT_TRUE(parse_mlir(printed) == module.main);
}

std::string scan(const std::string& rest) {
  return R"(
    func.func @main() -> (tensor<2x3xi32>, tensor<2xi32>) {
      %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
      %init = stablehlo.constant dense<10> : tensor<2xi32>
      %0:2 = )" +
         rest + R"(
      return %0#0, %0#1 : tensor<2x3xi32>, tensor<2xi32>
    })";
}
const std::string kScanBody = R"({
      ^bb0(%a: tensor<2xi32>, %c: tensor<2xi32>):
        %s = stablehlo.add %a, %c : tensor<2xi32>
        %d = stablehlo.subtract %a, %c : tensor<2xi32>
        stablehlo.return %d, %s : tensor<2xi32>, tensor<2xi32>
      })";
const std::string kScanTypes =
    " : (tensor<2x3xi32>, tensor<2xi32>) -> (tensor<2x3xi32>, tensor<2xi32>)";

TEST(Scans, RunAlongAnyDimension) {
  const std::string forward =
      scan("chlo.scan(%x) inits(%init) dimension=1 " + kScanBody + kScanTypes);
  EXPECT_THAT(values<int32_t>(forward, 0), ElementsAre(-9, -9, -10, -6, -9, -13));
  EXPECT_THAT(values<int32_t>(forward, 1), ElementsAre(16, 25));
  const std::string reverse = scan(
      "chlo.scan(%x) inits(%init) dimension=1 attributes {is_reverse = true, scan_dim_size = "
      "3 : i64, is_associative = false} " +
      kScanBody + kScanTypes);
  EXPECT_THAT(values<int32_t>(reverse, 0), ElementsAre(-14, -11, -7, -17, -11, -4));
  const std::string generic = scan(
      "\"chlo.scan\"(%x, %init) <{dimension = 1 : i64, operandSegmentSizes = array<i32: 1, 1>, "
      "resultSegmentSizes = array<i32: 1, 1>}> (" +
      kScanBody + ")" + kScanTypes);
  EXPECT_THAT(values<int32_t>(generic, 0), ElementsAre(-9, -9, -10, -6, -9, -13));
}

TEST(Scans, Errors) {
  expect_error(scan("chlo.scan(%x) inits(%init) dimension=2 " + kScanBody + kScanTypes),
               "expected a dimension of every input, got 2");
  expect_error(scan("chlo.scan(%x) inits(%init) dimension=1 attributes {scan_dim_size = 4 : i64} " +
                    kScanBody + kScanTypes),
               "expected inputs of one extent 4 along dimension 1, got 3");
  expect_error(scan("chlo.scan(%x) inits(%init, %init) dimension=1 " + kScanBody + kScanTypes),
               "expected the types of 3 operands, got 2");
  expect_error(
      scan("\"chlo.scan\"(%x, %init) <{dimension = 1 : i64}> (" + kScanBody + ")" + kScanTypes),
      "operandSegmentSizes");
  expect_error(scan("chlo.scan() inits(%x, %init) dimension=1 " + kScanBody + kScanTypes),
               "expected an input to scan, or 'scan_dim_size'");
}

TEST(RaggedProducts, Errors) {
  const auto program = [](const std::string& dims, const std::string& sizes) {
    return fmt::format(R"(
    func.func @main(%x: tensor<7x3xf32>, %y: tensor<3x3x4xf32>, %g: {0}) -> tensor<7x4xf32> {{
      %0 = "chlo.ragged_dot"(%x, %y, %g) {{ragged_dot_dimension_numbers = #chlo.ragged_dot<
          lhs_batching_dimensions = [], rhs_batching_dimensions = [], {1}>}}
          : (tensor<7x3xf32>, tensor<3x3x4xf32>, {0}) -> tensor<7x4xf32>
      return %0 : tensor<7x4xf32>
    }})",
                       sizes, dims);
  };
  const std::string contracting =
      "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = "
      "[1], ";
  expect_error(program(contracting + "lhs_ragged_dimensions = [0, 1], rhs_group_dimensions = [0]",
                       "tensor<3xi32>"),
               "expected one ragged dimension of lhs, got 2");
  expect_error(program(contracting + "lhs_ragged_dimensions = [0], rhs_group_dimensions = []",
                       "tensor<3xi32>"),
               "expected one group dimension of rhs");
  expect_error(program(contracting + "lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]",
                       "tensor<3xi32>"),
               "expected no group dimension of rhs");
  expect_error(program(contracting + "lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]",
                       "tensor<2xi32>"),
               "expected the group dimension of rhs to be 2");
  expect_error(program(contracting + "lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]",
                       "tensor<4x3xi32>"),
               "expected group_sizes of shape");
  expect_error(program(contracting + "lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]",
                       "tensor<3xf32>"),
               "expected group_sizes to be integers");
  expect_error(program(contracting + "lhs_ragged_dimensions = [5], rhs_group_dimensions = [0]",
                       "tensor<3xi32>"),
               "expected lhs_ragged_dimensions in [0, 2), got 5");
}

TEST(Collectives, OfSeveralOperandsAreOneEach) {
  const Function f = parsed(R"(
    sdy.mesh @mesh = <["x"=2]>
    func.func @main(%x: tensor<4xf32>, %y: tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>) {
      %0:2 = sdy.manual_computation(%x, %y) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] manual_axes={"x"} (%a: tensor<2xf32>, %b: tensor<1xf32>) {
        %1:2 = "stablehlo.all_reduce"(%a, %b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
        ^bb0(%c: tensor<f32>, %d: tensor<f32>):
          %2 = stablehlo.add %c, %d : tensor<f32>
          stablehlo.return %2 : tensor<f32>
        }) : (tensor<2xf32>, tensor<1xf32>) -> (tensor<2xf32>, tensor<1xf32>)
        sdy.return %1#0, %1#1 : tensor<2xf32>, tensor<1xf32>
      } : (tensor<4xf32>, tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>)
      return %0#0, %0#1 : tensor<4xf32>, tensor<2xf32>
    })");
  const std::vector<float> x = {1, 2, 3, 4}, y = {5, 6};
  const std::vector<Literal> out =
      evaluate(f, std::vector{Literal::from<float>(x, {4}), Literal::from<float>(y, {2})});
  EXPECT_THAT(std::vector<float>(out[0].data<float>(), out[0].data<float>() + 4),
              ElementsAre(4, 6, 4, 6));
  EXPECT_THAT(std::vector<float>(out[1].data<float>(), out[1].data<float>() + 2),
              ElementsAre(11, 11));
}

// Returns a call as JAX writes it, in which each of two devices sends one of its two elements to
// each device.
std::string ragged_call(const std::string& config) {
  std::string shardings;
  for (int k = 0; k < 6; ++k) shardings += std::string(k ? ", " : "") + R"(<@mesh, [{"x"}]>)";
  return R"(
    sdy.mesh @mesh = <["x"=2]>
    func.func @main(%x: tensor<4xf32>, %out: tensor<6xf32>, %in_offsets: tensor<4xi32>, %sizes: tensor<4xi32>, %out_offsets: tensor<4xi32>) -> tensor<6xf32> {
      %0 = sdy.manual_computation(%x, %out, %in_offsets, %sizes, %out_offsets, %sizes) in_shardings=[)" +
         shardings +
         R"(] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%a: tensor<2xf32>, %b: tensor<3xf32>, %c: tensor<2xi32>, %d: tensor<2xi32>, %e: tensor<2xi32>, %f: tensor<2xi32>) {
        %1 = stablehlo.custom_call @ragged_all_to_all(%a, %b, %c, %d, %e, %f) {api_version = 4 : i32, backend_config = {)" +
         config +
         R"(}} : (tensor<2xf32>, tensor<3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<3xf32>
        sdy.return %1 : tensor<3xf32>
      } : (tensor<4xf32>, tensor<6xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<6xf32>
      return %0 : tensor<6xf32>
    })";
}

TEST(RaggedAllToAll, IsReadAsJaxCallsIt) {
  const auto ints = [](const std::vector<int32_t>& x) { return Literal::from<int32_t>(x, {4}); };
  const std::vector<Literal> inputs = {Literal::from<float>(std::vector<float>{1, 2, 3, 4}, {4}),
                                       Literal::from<float>(std::vector<float>(6, -1), {6}),
                                       ints({0, 1, 0, 1}), ints({1, 1, 1, 1}), ints({0, 0, 1, 1})};
  const Function f =
      parsed(ragged_call("channel_id = 1 : i64, replica_groups = dense<[[0, 1]]> : "
                         "tensor<1x2xi64>"));
  const Literal out = evaluate(f, inputs)[0];
  EXPECT_THAT(std::vector<float>(out.data<float>(), out.data<float>() + 6),
              ElementsAre(1, 3, -1, 2, 4, -1));
}

TEST(RaggedAllToAll, SaysWhatItsConfigLacks) {
  expect_error(ragged_call("replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>"),
               "expected a channel_handle");
  expect_error(ragged_call("channel_id = 1 : i64"), "replica_groups");
  expect_error(ragged_call("channel_id = 1 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>"),
               "in exactly one group");
  expect_error(ragged_call("channel_id = 1 : i64, other = 2 : i64, replica_groups = dense<[[0, "
                           "1]]> : tensor<1x2xi64>"),
               "other");
}

// --- Ops about time and memory, which change no value ---

TEST(Async, AFutureIsTheResultOfTheRegion) {
  EXPECT_THAT(values<float>(R"(
    func.func @main() -> tensor<2xf32> {
      %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
      %f = "stablehlo.async_start"(%a) ({
      ^bb0(%x: tensor<2xf32>):
        %0 = stablehlo.multiply %x, %x : tensor<2xf32>
        stablehlo.return %0 : tensor<2xf32>
      }) : (tensor<2xf32>) -> !stablehlo.future<tensor<2xf32>>
      %1 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
      return %1 : tensor<2xf32>
    })"),
              ElementsAre(1, 4));
}

TEST(Async, RegionsThatDoNotFitAreRefused) {
  const auto start = [](const std::string& arguments, const std::string& results) {
    return R"(func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      %f = "stablehlo.async_start"(%a) ({
      ^bb0()" +
           arguments + R"():
        stablehlo.return )" +
           results + R"(
      }) : (tensor<2xf32>) -> !stablehlo.future<tensor<2xf32>>
      return %a : tensor<2xf32>
    })";
  };
  expect_error(start("%x: tensor<2xf32>, %y: tensor<2xf32>", "%x : tensor<2xf32>"),
               "expected a region with an argument for each of 1 operands, got 2");
  expect_error(start("%x: tensor<3xf32>", "%x : tensor<3xf32>"),
               "expected argument 0 of the region to be tensor<2xf32>, got tensor<3xf32>");
  expect_error(start("%x: tensor<2xf32>", "%x, %x : tensor<2xf32>, tensor<2xf32>"),
               "expected a region with one result, got 2");
  expect_error(R"(func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      %f = "stablehlo.async_start"(%a) : (tensor<2xf32>) -> !stablehlo.future<tensor<2xf32>>
      return %a : tensor<2xf32>
    })",
               "expected one region");
}

TEST(Hints, OfTimeAndOfMemoryAreLeftOut) {
  const Function f = parsed(R"(
    func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %0 = stablehlo.custom_call @LayoutConstraint(%a) {backend_config = "", operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
      stablehlo.custom_call @control_dep(%0, %a) {backend_config = "", has_side_effect = true, mhlo.backend_config = {}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], result_layouts = []} : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
      return %0 : tensor<2x3xf32>
    })");
  EXPECT_TRUE(f.ops.empty()) << to_mlir(f);
  expect_error(R"(func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.custom_call @LayoutConstraint(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    })",
               "expected 1 operand, got 2");
}

// The branches become selections, since the body of a reduce has elementwise ops.
TEST(Bodies, OfReduceMayHaveConditionals) {
  EXPECT_THAT(values<float>(R"(
    func.func @main() -> tensor<f32> {
      %x = stablehlo.constant dense<[5.0, 1.0, 4.0, 2.0]> : tensor<4xf32>
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = "stablehlo.reduce"(%x, %z) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %2 = "stablehlo.if"(%1) ({
          stablehlo.return %a : tensor<f32>
        }, {
          %3 = stablehlo.add %b, %b : tensor<f32>
          stablehlo.return %3 : tensor<f32>
        }) : (tensor<i1>) -> tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    })"),
              ElementsAre(10));
}

}  // namespace
}  // namespace tessera::interchange::foreign_forms_test
