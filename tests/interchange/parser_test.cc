#include "tessera/interchange/text/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "tessera/control/control.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tests/evaluate/evaluate.h"

namespace tessera::parser_test {

using namespace interchange;

namespace {

using ::testing::HasSubstr;

// Returns the text of a function with these arguments and this body.
std::string function_text(std::string_view arguments, std::string_view body,
                          std::string_view results) {
  return fmt::format("func.func public @main({}) -> ({}) {{\n{}\n}}\n", arguments, results, body);
}

Function parse_body(std::string_view arguments, std::string_view body, std::string_view results) {
  return parse_mlir(function_text(arguments, body, results));
}

// Returns the elements of the constant `text`, as values of T.
template <class T>
std::vector<T> constant_values(std::string_view text, std::string_view type) {
  const Function f = parse_body(
      "", fmt::format("%0 = stablehlo.constant {} : {}\n return %0 : {}", text, type, type), type);
  const Literal value = f.ops.at(0).params.as<ConstantParams>().dense();
  return std::vector<T>(value.data<T>(), value.data<T>() + value.elements());
}

std::string parse_failure(std::string_view text) {
  try {
    parse_mlir(text, "model.mlir");
  } catch (const UserError& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kParse);
    return e.what();
  }
  return "no error";
}

std::string body_failure(std::string_view arguments, std::string_view body,
                         std::string_view results) {
  return parse_failure(function_text(arguments, body, results));
}

TEST(Parser, Constants) {
  EXPECT_THAT(constant_values<float>("dense<1.5>", "tensor<3xf32>"),
              testing::ElementsAre(1.5f, 1.5f, 1.5f));
  EXPECT_THAT(constant_values<float>("dense<[1.0, -2.5e-1]>", "tensor<2xf32>"),
              testing::ElementsAre(1.0f, -0.25f));
  EXPECT_THAT(constant_values<int64_t>("dense<[[1, -2], [0x10, 4]]>", "tensor<2x2xi64>"),
              testing::ElementsAre(1, -2, 16, 4));
  EXPECT_THAT(constant_values<int8_t>("dense<[-128, 127]>", "tensor<2xi8>"),
              testing::ElementsAre(-128, 127));
  EXPECT_THAT(constant_values<uint64_t>("dense<18446744073709551615>", "tensor<ui64>"),
              testing::ElementsAre(~uint64_t{0}));
  EXPECT_THAT(constant_values<bool>("dense<[true, false]>", "tensor<2xi1>"),
              testing::ElementsAre(true, false));
  EXPECT_THAT(
      constant_values<std::complex<float>>("dense<[(1.0,2.0), (0x7F800000,-0.0)]>",
                                           "tensor<2xcomplex<f32>>"),
      testing::ElementsAre(std::complex<float>(1, 2), std::complex<float>(INFINITY, -0.0f)));
  EXPECT_THAT(constant_values<float>("dense<\"0x0000803F000000C0\">", "tensor<2xf32>"),
              testing::ElementsAre(1.0f, -2.0f));
  EXPECT_THAT(constant_values<float>("dense<\"0x0000803F\">", "tensor<3xf32>"),
              testing::ElementsAre(1.0f, 1.0f, 1.0f));
  EXPECT_THAT(constant_values<float>("dense<>", "tensor<0x4xf32>"), testing::IsEmpty());
  EXPECT_TRUE(std::isnan(constant_values<float>("dense<0x7FC00000>", "tensor<f32>")[0]));
  EXPECT_EQ(constant_values<Float16>("dense<0x7C00>", "tensor<f16>")[0].bits, 0x7C00);
  EXPECT_EQ(constant_values<Bfloat16>("dense<1.0>", "tensor<bf16>")[0].bits, 0x3F80);
  EXPECT_EQ(constant_values<float>("dense<1.0e400>", "tensor<f32>")[0], INFINITY);
  EXPECT_EQ(constant_values<double>("dense<1.0e-400>", "tensor<f64>")[0], 0.0);
  EXPECT_EQ(constant_values<double>("dense<0xFFF0000000000000>", "tensor<f64>")[0], -INFINITY);
}

TEST(Parser, GenericFormEqualsPrettyForm) {
  const Function pretty = parse_body("%x: tensor<4x8xf32>, %y: tensor<8x2xf32>", R"(
    %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    %cst = stablehlo.constant dense<0.0> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<4xf32>) -> tensor<4x2xf32>
    %3 = stablehlo.compare GT, %0, %2, FLOAT : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xi1>
    %4 = stablehlo.select %3, %0, %2 : tensor<4x2xi1>, tensor<4x2xf32>
    %5 = stablehlo.slice %4 [0:4:2, 1:2] : (tensor<4x2xf32>) -> tensor<2x1xf32>
    return %5 : tensor<2x1xf32>)",
                                     "tensor<2x1xf32>");
  const Function generic = parse_body("%x: tensor<4x8xf32>, %y: tensor<8x2xf32>", R"(
    %0 = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    %cst = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.reduce"(%0, %cst) <{dimensions = array<i64: 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) : (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xf32>) -> tensor<4x2xf32>
    %3 = "stablehlo.compare"(%0, %2) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xi1>
    %4 = "stablehlo.select"(%3, %0, %2) : (tensor<4x2xi1>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    %5 = "stablehlo.slice"(%4) <{limit_indices = array<i64: 4, 2>, start_indices = array<i64: 0, 1>, strides = array<i64: 2, 1>}> : (tensor<4x2xf32>) -> tensor<2x1xf32>
    "func.return"(%5) : (tensor<2x1xf32>) -> ())",
                                      "tensor<2x1xf32>");
  EXPECT_TRUE(pretty == generic) << to_mlir(generic);
}

TEST(Parser, AWholeModuleInGenericForm) {
  const Function generic = parse_mlir(R"(
    "builtin.module"() <{sym_name = "jit_f"}> ({
      "sdy.mesh"() <{mesh = #sdy.mesh<["x"=2, "y"=4]>, sym_name = "mesh"}> {tessera.abstract} : () -> ()
      "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, {}], function_type = (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
      ^bb0(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>):
        %0 = "func.call"(%arg0) <{callee = @g}> : (tensor<4xf32>) -> tensor<4xf32>
        %1 = "stablehlo.add"(%0, %arg1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        "func.return"(%1) : (tensor<4xf32>) -> ()
      }) : () -> ()
      "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "g", sym_visibility = "private"}> ({
      ^bb0(%arg0: tensor<4xf32>):
        %0 = "stablehlo.sine"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
        "func.return"(%0) : (tensor<4xf32>) -> ()
      }) : () -> ()
    }) {mhlo.num_partitions = 8 : i32} : () -> ()
  )");
  const Function pretty = parse_mlir(R"(module @jit_f {
    sdy.mesh @mesh = <["x"=2, "y"=4]> {tessera.abstract}
    func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<4xf32>) -> tensor<4xf32> {
      %0 = call @g(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = stablehlo.add %0, %arg1 : tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    func.func private @g(%arg0: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.sine %arg0 : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  })");
  EXPECT_TRUE(generic == pretty) << to_mlir(generic);
}

TEST(Parser, OpsOfOtherDialectsAreSaidWithOurs) {
  const Function f = parse_mlir(R"(module {
    func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = chlo.square %x : tensor<4xf32> -> tensor<4xf32>
      %1:2 = stablehlo.optimization_barrier %0, %x : tensor<4xf32>, tensor<4xf32>
      %2 = stablehlo.composite "my.sine" %1#0 {composite_attributes = {k = 1 : i64}, decomposition = @g, version = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
      %3 = stablehlo.add %2, %1#1 : tensor<4xf32>
      return %3 : tensor<4xf32>
    }
    func.func private @g(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.sine %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  })");
  const std::vector<float> x = {0, 1, 2, 3};
  const Literal out = evaluate(f, std::vector{Literal::from<float>(x, {4})})[0];
  for (int i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(out.data<float>()[i], std::sin(x[i] * x[i]) + x[i]);
}

// JAX writes functions as composites with an approximation. Here the approximation is another
// function, so that a use of it would show.
TEST(Parser, CompositesOfKnownFunctionsAreTheseFunctions) {
  const auto value = [](const std::string& name, const std::string& more = "") {
    const Function f = parse_mlir(fmt::format(R"(module {{
      func.func public @main(%x: tensor<3xf32>) -> tensor<3xf32> {{
        %0 = stablehlo.composite "{}" %x {{decomposition = @g{}}} : (tensor<3xf32>) -> tensor<3xf32>
        return %0 : tensor<3xf32>
      }}
      func.func private @g(%x: tensor<3xf32>) -> tensor<3xf32> {{
        %0 = stablehlo.sine %x : tensor<3xf32>
        return %0 : tensor<3xf32>
      }}
    }})",
                                              name, more));
    const std::vector<float> x{0.5f, 1, 2};
    return evaluate(f, std::vector{Literal::from<float>(x, {3})})[0].data<float>()[1];
  };
  EXPECT_FLOAT_EQ(value("chlo.erf"), std::erf(1.0f));
  EXPECT_FLOAT_EQ(value("chlo.erf", ", composite_attributes = {}, version = 1 : i32"),
                  std::erf(1.0f));
  EXPECT_FLOAT_EQ(value("stablehlo.logistic"), 1 / (1 + std::exp(-1.0f)));
  EXPECT_FLOAT_EQ(value("chlo.bessel_i0e"), 0.46575960759364043f);
  EXPECT_FLOAT_EQ(value("chlo.bessel_i1e"), 0.20791041534970845f);
  for (const char* other : {"erf", "my.erf", "chlo.unknown", "stablehlo.transpose"})
    EXPECT_FLOAT_EQ(value(other), std::sin(1.0f)) << other;
}

TEST(Parser, AliasesLocationsAndComments) {
  const ParsedModule m = parse_module(R"(
    #loc1 = loc("x")
    #dims = array<i64: 1, 0>
    !t = tensor<2x3xf32>
    module @jit_f attributes {mhlo.num_partitions = 1 : i32} {
      // a comment
      func.func public @main(%arg0: !t loc("x")) -> (tensor<3x2xf32> {jax.result_info = "result"}) {
        %0 = "stablehlo.transpose"(%arg0) <{permutation = #dims}> : (!t) -> tensor<3x2xf32> loc("jit(f)/transpose"(#loc1))
        return %0 : tensor<3x2xf32> loc(#loc1)
      } loc(#loc1)
    } loc(#loc)
    #loc = loc(unknown)
  )");
  EXPECT_EQ(m.name, "jit_f");
  ASSERT_EQ(m.main.ops.size(), 1u);
  EXPECT_EQ(m.main.ops[0].source, "jit(f)/transpose");
}

// Errors after parsing can name the position of the op.
TEST(Parser, OpsWithoutALocationHaveTheirLine) {
  const ParsedModule m = parse_module(R"(
func.func @g(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.sine %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.cosine
    %x : tensor<2xf32>
  %1 = stablehlo.tanh %0 : tensor<2xf32> loc("f/tanh")
  %2 = call @g(%1) : (tensor<2xf32>) -> tensor<2xf32>
  %3 = stablehlo.negate %2 : tensor<2xf32>
  return %3 : tensor<2xf32>
}
)",
                                      "a.mlir");
  std::vector<std::string> sources;
  for (const Op& op : m.main.ops) sources.push_back(op.source);
  ASSERT_EQ(sources.size(), 4u);
  EXPECT_EQ(sources[0], "a.mlir:7");
  EXPECT_EQ(sources[1], "f/tanh");
  EXPECT_EQ(sources[2], "a.mlir:10");
  EXPECT_EQ(sources[3], "a.mlir:11");
}

TEST(Parser, ConstantsOfOutsideAreCopiedIntoRegions) {
  const Function f = parse_body("%x: tensor<4xf32>", R"(
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %zero) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
     reducer(%a: tensor<f32>, %b: tensor<f32>) {
      %1 = stablehlo.maximum %a, %b : tensor<f32>
      %2 = stablehlo.minimum %1, %two : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }
    return %0 : tensor<f32>)",
                                "tensor<f32>");
  const std::vector<float> x = {1, 5, 3, 0};
  EXPECT_EQ(evaluate(f, std::vector{Literal::from<float>(x, {4})})[0], Literal::scalar(2.0f));
}

TEST(Parser, ShardingsOfArgumentsAndResults) {
  const ParsedModule m = parse_module(R"(module @m {
    sdy.mesh @mesh = <["x"=2, "y"=4]>
    func.func public @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y":(1)2}, {?}], replicated={"y":(2)2}>}, %b: tensor<8x8xf32>)
        -> (tensor<8x8xf32> {jax.result_info = "", sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) {
      %0 = stablehlo.add %a, %b {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x8xf32>
      return %0 : tensor<8x8xf32>
    }})");
  ASSERT_EQ(m.meshes.size(), 1u);
  EXPECT_EQ(m.meshes[0].axis_sizes(), (Shape{2, 4}));
  const PartitionSpec spec = m.input_shardings.at(0).value().spec();
  EXPECT_EQ(spec,
            PartitionSpec({DimSpec({{"x"}, {"y", 1, 2}}), DimSpec(UNCONSTRAINED)}, {{"y", 2, 2}}));
  EXPECT_FALSE(m.input_shardings.at(1).has_value());
  EXPECT_EQ(m.output_shardings.at(0).value().spec(), P(None, "y"));
  EXPECT_EQ(m.main.type(m.main.outputs[0]).sharding->spec(), P("x", None));
}

TEST(Parser, ErrorsSayWhereAndWhat) {
  const std::string text =
      "module @m {\n  func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n    %0 = "
      "stablehlo.add %a, %b : tensor<4xf32>\n    return %0 : tensor<4xf32>\n  }\n}\n";
  EXPECT_EQ(parse_failure(text),
            "[parse] model.mlir:3:28: expected a value that is defined above, got %b\n"
            "      %0 = stablehlo.add %a, %b : tensor<4xf32>\n"
            "                             ^");
}

TEST(Parser, RefusesWhatItCannotRead) {
  auto fails = [](std::string_view text, std::string_view what) {
    EXPECT_THAT(parse_failure(text), HasSubstr(what)) << text;
  };
  fails("", "expected a function");
  fails("module @m {", "expected '}' at the end of the module, got the end of the text");
  fails("module @m { foo }", "expected sdy.mesh, func.func or '}', got 'foo'");
  fails("func.func @main(%a: tensor<?xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }",
        "expected static extents of %a, or its shape, got tensor<?xf32>; give arguments");
  fails("func.func @main(%a: tensor<*xf32>) { return }", "expected a static extent");
  fails("func.func @main(%a: tensor<4xtf32>) { return }",
        "expected an element type that Tessera has");
  fails("func.func @main(%a: memref<4xf32>) { return }",
        "expected a type, as tensor<4x8xf32>, got 'memref'");
  fails("func.func @main(%a: tensor<99999999999999x99999999999999xf32>) { return }",
        "at most 2^46 elements");
  fails("func.func @main(%a: tensor<4xf32>, %a: tensor<4xf32>) { return }",
        "expected arguments of different names, got %a twice");
  fails("func.func @main() -> tensor<4xf32> { return }",
        "expected @main to return 1 values, got 0");
  fails("func.func @main(%a: tensor<4xf32>) -> tensor<4xi32> { return %a : tensor<4xf32> }",
        "expected result 0 of @main to be tensor<4xi32>, got tensor<4xf32>");
  fails("func.func @main() { return } func.func @main() { return }",
        "expected one function @main, got a second one");
  fails("func.func @main() { call @main() : () -> () return }",
        "expected functions that do not call themselves");
  fails("func.func @main() { call @f() : () -> () return }",
        "expected the name of a function of this module");
  fails("func.func @a() { return } func.func @b() { return }",
        "expected a function @main or one public function, got 2");
  fails("sdy.mesh @m = <[\"x\"=0]> func.func @main() { return }",
        "expected axes of sizes from 1 on");
  fails("sdy.mesh @m = <[\"x\"=2, \"x\"=2]> func.func @main() { return }", "x");
  fails("func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}) { return }",
        "expected the name of a mesh of this module, got @m");
  fails(
      "sdy.mesh @m = <[\"x\"=2]> func.func @main(%a: tensor<4xf32> {sdy.sharding = "
      "#sdy.sharding<@m, [{\"z\"}]>}) { return }",
      "z");
  fails(
      "sdy.mesh @m = <[\"x\"=2]> func.func @main(%a: tensor<4xf32> {sdy.sharding = "
      "#sdy.sharding<@m, [{}, {}]>}) { return }",
      "sdy.sharding");
  fails("func.func @main(%a: tensor<4xf32> {mhlo.sharding = \"{manual}\"}) { return }",
        "manual ones are shard_map's");
  fails("func.func @main() { return } \"", "expected a closing '\"'");
  fails("#a = #a\nfunc.func @main() attributes {x = #a} { return }",
        "expected an alias that does not name itself");
}

TEST(Parser, RefusesOpsThatDoNotFit) {
  auto fails = [](std::string_view body, std::string_view what) {
    EXPECT_THAT(
        body_failure("%a: tensor<4xf32>, %b: tensor<4xi32>", fmt::format("{}\n return", body), ""),
        HasSubstr(what))
        << body;
  };
  fails("%0 = stablehlo.frobnicate %a : tensor<4xf32>",
        "expected an op that Tessera has, got 'stablehlo.frobnicate'");
  fails("%0 = \"stablehlo.frobnicate\"(%a) : (tensor<4xf32>) -> tensor<4xf32>",
        "expected an op that Tessera has");
  fails("%0 = stablehlo.custom_call @foo(%a) : (tensor<4xf32>) -> tensor<4xf32>",
        "expected a custom call that Tessera has, got @foo");
  fails("%0 = stablehlo.add %a, %b : tensor<4xf32>", "[add]");
  fails("%0 = stablehlo.sine %a : tensor<5xf32>",
        "expected result 0 to be tensor<4xf32>, which the op gives for its operands");
  fails("%0 = stablehlo.convert %b : (tensor<4xf32>) -> tensor<4xf32>",
        "expected operand 0 to be tensor<4xi32>, as it is defined");
  fails("%0:2 = stablehlo.sine %a : tensor<4xf32>", "expected the types of 2 results, got 1");
  fails("%a = stablehlo.sine %a : tensor<4xf32>", "expected a new name, got %a a second time");
  fails("%0 = stablehlo.sine %a#1 : tensor<4xf32>", "expected a result below 1 of %a, got 1");
  fails("%0 = stablehlo.sine %a {frob = 1 : i64} : tensor<4xf32>",
        "expected attributes that stablehlo.sine has, got 'frob'");
  fails("%0 = \"stablehlo.transpose\"(%a) : (tensor<4xf32>) -> tensor<4xf32>",
        "expected attribute 'permutation', got none");
  fails(
      "%0 = \"stablehlo.transpose\"(%a) <{permutation = \"x\"}> : (tensor<4xf32>) -> tensor<4xf32>",
      "expected 'permutation' to be a list of integers");
  fails("%0 = stablehlo.transpose %a, perm = [0] : (tensor<4xf32>) -> tensor<4xf32>",
        "expected 'dims', got 'perm'");
  fails("%0 = stablehlo.compare XX, %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>",
        "expected one of the enumeration's names");
  fails("%0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<3xf32>",
        "expected elements of shape (3,), got (2,)");
  fails("%0 = stablehlo.constant dense<[[1.0], 2.0]> : tensor<2xf32>",
        "expected lists of one depth");
  fails("%0 = stablehlo.constant dense<[[1.0], [2.0, 3.0]]> : tensor<2x1xf32>",
        "expected lists of one length");
  fails("%0 = stablehlo.constant dense<300> : tensor<i8>", "expected an integer that fits i8");
  fails("%0 = stablehlo.constant dense<\"0x00\"> : tensor<2xf32>", "expected 8 bytes");
  fails("%0 = stablehlo.constant dense_resource<x> : tensor<2xf32>",
        "expected the constant's values in the text");
  fails(
      "%0 = stablehlo.reduce(%a init: %a) applies stablehlo.add across dimensions = [0] : "
      "(tensor<4xf32>, tensor<4xf32>) -> tensor<f32>",
      "[reduce]");
  fails(
      "%0 = stablehlo.reduce(%a init: %a) across dimensions = [0] : (tensor<4xf32>, tensor<4xf32>) "
      "-> tensor<f32> reducer(%x: tensor<f32>, %y: tensor<f32>) { %1 = stablehlo.add %x, %a : "
      "tensor<f32> stablehlo.return %1 : tensor<f32> }",
      "expected a value of this region, got %a of the outer scope");
}

TEST(Parser, DeepNestingIsAnError) {
  EXPECT_THAT(parse_failure("func.func @main() attributes {x = " + std::string(100000, '[') +
                            "} { return }"),
              HasSubstr("at most 100 levels of nesting"));
  EXPECT_THAT(body_failure("",
                           "%0 = stablehlo.constant dense<" + std::string(100000, '[') +
                               "> : tensor<f32>\n return",
                           ""),
              HasSubstr("at most 100 levels of nesting"));
}

// Returns a program in which f0 calls f1 `calls` times, f1 calls f2, and so on. main is f0.
std::string chain(int functions, int calls) {
  std::string text;
  for (int f = 0; f < functions; ++f) {
    text += fmt::format("func.func {} @{}(%x: tensor<f32>) -> tensor<f32> {{\n",
                        f == 0 ? "public" : "private", f == 0 ? "main" : fmt::format("f{}", f));
    std::string last = "%x";
    for (int c = 0; c < calls; ++c) {
      const std::string next = fmt::format("%{}", c);
      text += f + 1 < functions ? fmt::format("{} = call @f{}({}) : (tensor<f32>) -> tensor<f32>\n",
                                              next, f + 1, last)
                                : fmt::format("{} = stablehlo.sine {} : tensor<f32>\n", next, last);
      last = next;
    }
    text += fmt::format("return {} : tensor<f32> }}\n", last);
  }
  return text;
}

// Calls do not count as nesting of the text, however long a chain of calls is.
TEST(Parser, CallsThatCall) {
  const Function f = parse_mlir(chain(200, 1));
  EXPECT_TRUE(parse_mlir(to_mlir(f)) == f);
  EXPECT_THAT(parse_failure(chain(300, 1)),
              testing::AllOf(HasSubstr("model.mlir:"), HasSubstr("at most 250 levels of calls")));
  // The called function may come before or after its caller.
  for (const char* text :
       {"func.func @main() { call @f() : () -> () return } func.func private @f() { return }",
        "func.func private @f() { return } func.func @main() { call @f() : () -> () return }"})
    EXPECT_EQ(parse_mlir(text).ops.size(), 1u);
  EXPECT_THAT(
      parse_failure("func.func @main() { call @f() : () -> () return }\n"
                    "func.func @f() { call @g() : () -> () return }\n"
                    "func.func @g() { call @f() : () -> () return }"),
      testing::AllOf(HasSubstr("model.mlir:2:"), HasSubstr("do not call themselves, got @g")));
}

// Calls are inlined, so thirty functions may become 2^30 ops.
TEST(Parser, CallsThatStandForTooManyOps) {
  EXPECT_EQ(parse_mlir(chain(15, 2)).ops.size(), 2u);
  EXPECT_THAT(
      parse_failure(chain(30, 2)),
      testing::AllOf(HasSubstr("model.mlir:"), HasSubstr("at most 1048576 ops once every")));
}

std::string sum_with(std::string_view reducer, std::string_view before = "") {
  return fmt::format(
      "func.func @main(%a: tensor<2x4xf32>, %z: tensor<f32>) -> tensor<2xf32> {{ {}\n"
      "%0 = stablehlo.reduce(%a init: %z) across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) "
      "-> tensor<2xf32> reducer(%x: tensor<f32>, %y: tensor<f32>) {{ {} }}\n"
      "return %0 : tensor<2xf32> }}\n",
      before, reducer);
}

// JAX writes a reducer in this form if it is a jitted function.
TEST(Parser, ReducersThatCall) {
  const std::string callee =
      "func.func private @f(%p: tensor<f32>, %q: tensor<f32>) -> tensor<f32> { %1 = call @g(%p, "
      "%q) "
      ": (tensor<f32>, tensor<f32>) -> tensor<f32> return %1 : tensor<f32> }\n"
      "func.func private @g(%p: tensor<f32>, %q: tensor<f32>) -> tensor<f32> { %1 = stablehlo.add "
      "%p, %q : tensor<f32> return %1 : tensor<f32> }\n";
  const std::string call =
      "%1 = func.call @f(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n";
  const std::string end = "stablehlo.return %1 : tensor<f32>";
  const Function sum = parse_mlir(sum_with(call + end) + callee);
  EXPECT_EQ(sum.ops.at(0).params.as<ReduceParams>().kind, ReduceKind::kSum);
  const Function custom = parse_mlir(
      sum_with(call + "%2 = stablehlo.sine %1 : tensor<f32> stablehlo.return %2 : tensor<f32>") +
      callee);
  const auto& params = custom.ops.at(0).params.as<ReduceParams>();
  ASSERT_EQ(params.kind, ReduceKind::kCustom);
  EXPECT_EQ(params.body->ops.size(), 2u);
  EXPECT_TRUE(parse_mlir(to_mlir(custom)) == custom);
}

TEST(Parser, ReducersThatUseConstantsOfOutside) {
  const std::string reducer =
      "%1 = stablehlo.add %x, %y : tensor<f32> %2 = stablehlo.minimum %1, %k : tensor<f32> "
      "stablehlo.return %2 : tensor<f32>";
  const std::string constant = "%c = stablehlo.constant dense<5> : tensor<i32>\n";
  const std::string computed =
      "%h = stablehlo.convert %c : (tensor<i32>) -> tensor<f32>\n"
      "%k = stablehlo.add %h, %h : tensor<f32>";
  const Literal a =
      Literal::from<float>(std::initializer_list<float>{1, 2, 3, 4, 5, 6, 7, 8}, {2, 4});
  const auto run = [&](const std::string& before) {
    return evaluate(parse_mlir(sum_with(reducer, before)), std::vector{a, Literal::scalar(0.0f)})
        .at(0);
  };
  EXPECT_EQ(run("%k = stablehlo.constant dense<9.0> : tensor<f32>"),
            Literal::from<float>(std::initializer_list<float>{9, 9}, {2}));
  EXPECT_EQ(run(constant + computed),
            Literal::from<float>(std::initializer_list<float>{10, 10}, {2}));
  EXPECT_EQ(run("%k = stablehlo.exponential %z : tensor<f32>"),
            Literal::from<float>(std::initializer_list<float>{1, 1}, {2}));
  EXPECT_THAT(parse_failure(sum_with(reducer, "%k = stablehlo.sine %a : tensor<2x4xf32>")),
              HasSubstr("expected a value of this region, got %k of the outer scope"));
}

// Errors of type rules of ops inside custom assembly also have a line.
TEST(Parser, ErrorsOfAssemblyHaveALine) {
  EXPECT_THAT(
      parse_failure("func.func @main(%a: tensor<4xf32>, %z: tensor<f32>) -> tensor<f32> {\n"
                    "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.xor across dimensions = "
                    "[0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>\nreturn %0 : tensor<f32> }"),
      testing::AllOf(HasSubstr("[parse] model.mlir:2:6: [xor]"), HasSubstr("stablehlo.reduce")));
}

TEST(Parser, MeshesTakeTheDevicesOfTheProcess) {
  initialize({.devices = "cpu:4"});
  const auto mesh_of = [](std::string_view mesh) {
    return parse_module(fmt::format("sdy.mesh @m = {} func.func @main() {{ return }}", mesh))
        .meshes.at(0);
  };
  EXPECT_FALSE(mesh_of("<[\"x\"=4]>").is_abstract());
  EXPECT_THAT(mesh_of("<[\"x\"=2, \"y\"=2], device_ids=[0, 2, 1, 3]>").device_ids(),
              testing::ElementsAre(0, 2, 1, 3));
  EXPECT_TRUE(mesh_of("<[\"x\"=4]> {tessera.abstract}").is_abstract());
  EXPECT_TRUE(mesh_of("<[\"x\"=8]>").is_abstract());
  EXPECT_THAT(mesh_of("<[\"x\"=2]> {tessera.device_ids = array<i64: 2, 3>}").device_ids(),
              testing::ElementsAre(2, 3));
  EXPECT_EQ(mesh_of("<[]>"), Mesh());
  EXPECT_THAT(parse_failure("sdy.mesh @m = <[\"x\"=8], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]> "
                            "func.func @main() { return }"),
              HasSubstr("start with devices cpu:8"));
  initialize({});
}

}  // namespace
}  // namespace tessera::parser_test
