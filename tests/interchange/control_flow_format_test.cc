// Loops and branches as text: what is printed parses to the same program and prints the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/control/control_flow_ops.h"
#include "tessera/interchange/text/parser.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/verifier.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tests/errors.h"
#include "tests/evaluate/evaluate.h"

namespace tessera::control_flow_format_test {

using namespace interchange;

namespace {

using tessera::test::error_of;
using ::testing::HasSubstr;

const Type kScalar{float32, {}}, kInt{int32, {}}, kVector{float32, {4}};

std::string function_text(std::string_view arguments, std::string_view body,
                          std::string_view results) {
  return fmt::format("func.func public @main({}) -> ({}) {{\n{}\n}}\n", arguments, results, body);
}

// Returns the text of f, and expects that it is the same after it is read and printed again.
std::string round_trip(const Function& f) {
  verify(f);
  const std::string text = to_mlir(f);
  EXPECT_EQ(error_of([&] {
              const Function again = parse_mlir(text);
              verify(again);
              EXPECT_TRUE(again == f) << text;
              EXPECT_EQ(to_mlir(again), text);
            }),
            "");
  return text;
}

std::string round_trip(std::string_view arguments, std::string_view body,
                       std::string_view results) {
  return round_trip(parse_mlir(function_text(arguments, body, results)));
}

FunctionRef share(Function f) { return std::make_shared<const Function>(std::move(f)); }

ValueIds add(Function& f, const OpDef& def, OpParams params, const ValueIds& operands) {
  const std::vector<Type> types = infer_types(def, f.types_of(operands), params);
  return f.add_op(def, std::move(params), operands, types);
}

TEST(ControlFlowFormat, While) {
  const std::string text = round_trip("%x: tensor<f32>, %n: tensor<i32>", R"(
    %0:2 = stablehlo.while(%i = %n, %y = %x) : tensor<i32>, tensor<f32> cond {
      %three = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %z = stablehlo.sine %y : tensor<f32>
      stablehlo.return %j, %z : tensor<i32>, tensor<f32>
    }
    return %0#1 : tensor<f32>)",
                                      "tensor<f32>");
  EXPECT_EQ(
      text,
      R"(module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<f32>, %arg1: tensor<i32>) -> (tensor<f32>) {
    %0:2 = stablehlo.while(%arg2 = %arg1, %arg3 = %arg0) : tensor<i32>, tensor<f32> cond {
      %1 = stablehlo.constant dense<3> : tensor<i32>
      %2 = stablehlo.compare LT, %arg2, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %3 = stablehlo.constant dense<1> : tensor<i32>
      %4 = stablehlo.add %arg2, %3 : tensor<i32>
      %5 = stablehlo.sine %arg3 : tensor<f32>
      stablehlo.return %4, %5 : tensor<i32>, tensor<f32>
    }
    return %0#1 : tensor<f32>
  }
}
)");
}

TEST(ControlFlowFormat, WhileInGenericFormAndWithoutNamesOfResults) {
  const Function pretty = parse_mlir(function_text("%x: tensor<f32>, %p: tensor<i1>", R"(
    stablehlo.while(%y = %x, %q = %p) : tensor<f32>, tensor<i1> cond {
      stablehlo.return %q : tensor<i1>
    } do {
      stablehlo.return %y, %q : tensor<f32>, tensor<i1>
    }
    return)",
                                                   ""));
  const Function generic = parse_mlir(function_text("%x: tensor<f32>, %p: tensor<i1>", R"(
    %0:2 = "stablehlo.while"(%x, %p) ({
    ^bb0(%y: tensor<f32>, %q: tensor<i1>):
      "stablehlo.return"(%q) : (tensor<i1>) -> ()
    }, {
    ^bb0(%y: tensor<f32>, %q: tensor<i1>):
      "stablehlo.return"(%y, %q) : (tensor<f32>, tensor<i1>) -> ()
    }) : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<i1>)
    return)",
                                                    ""));
  EXPECT_TRUE(pretty == generic) << to_mlir(pretty) << to_mlir(generic);
  round_trip(pretty);
}

TEST(ControlFlowFormat, WhileOfNothing) {
  EXPECT_THAT(round_trip("", R"(
    stablehlo.while() cond {
      %c = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      stablehlo.return
    }
    return)",
                         ""),
              HasSubstr("    stablehlo.while() cond {\n"
                        "      %0 = stablehlo.constant dense<false> : tensor<i1>\n"
                        "      stablehlo.return %0 : tensor<i1>\n"
                        "    } do {\n"
                        "      stablehlo.return\n"
                        "    }\n"));
}

// An outer value that a region uses becomes one carry, and has no name among the results.
TEST(ControlFlowFormat, WhileCarriesWhatItsRegionsUse) {
  const std::string body = R"(
    %0:2 = stablehlo.while(%y = %x, %z = %x) : tensor<f32>, tensor<f32> cond {
      %p = stablehlo.compare LT, %y, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %1:1 = stablehlo.while(%w = %y) : tensor<f32> cond {
        %q = stablehlo.compare LT, %w, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %q : tensor<i1>
      } do {
        %v = stablehlo.add %w, %step : tensor<f32>
        stablehlo.return %v : tensor<f32>
      }
      stablehlo.return %1, %z : tensor<f32>, tensor<f32>
    }
    return %0#0, %0#1 : tensor<f32>, tensor<f32>)";
  const Function f =
      parse_mlir(function_text("%x: tensor<f32>, %limit: tensor<f32>, %step: tensor<f32>", body,
                               "tensor<f32>, tensor<f32>"));
  ASSERT_EQ(f.ops.size(), 1u);
  EXPECT_EQ(f.ops[0].operands, (ValueIds{0, 0, 1, 2}));
  EXPECT_EQ(f.ops[0].results.size(), 4u);
  EXPECT_THAT(round_trip(f), HasSubstr("%0:4 = stablehlo.while(%arg3 = %arg0, %arg4 = %arg0, "
                                       "%arg5 = %arg1, %arg6 = %arg2)"));
  const auto scalars = [](float x, float limit, float step) {
    return std::vector{Literal::scalar(x), Literal::scalar(limit), Literal::scalar(step)};
  };
  EXPECT_EQ(evaluate(f, scalars(1, 10, 4))[0], Literal::scalar(13.f));
  EXPECT_EQ(evaluate(f, scalars(1, 10, 4))[1], Literal::scalar(1.f));
  EXPECT_EQ(evaluate(f, scalars(11, 10, 4))[0], Literal::scalar(11.f));
}

// Properties that MLIR cannot represent: weak carries, the axes over which they vary, shardings of
// some results.
TEST(ControlFlowFormat, TypesOfCarriesAndResults) {
  const Mesh mesh = Mesh::abstract({2}, {"x"});
  Function f;
  const ValueId weak = f.add_input({.dtype = float32, .shape = {}, .weak = true});
  const ValueId varying = f.add_input({.dtype = float32, .shape = {4}, .varying = {"x"}});
  const ValueId index = f.add_input(kInt);
  const auto region = [&](bool cond) {
    Function g;
    g.name = "body";
    for (ValueId v : {weak, varying}) g.outputs.push_back(g.add_input(f.type(v)));
    if (cond)
      g.outputs = {add(g, constant_op, ConstantParams{Literal::scalar(false), {}, false}, {})[0]};
    return share(std::move(g));
  };
  const ValueIds loop = add(f, while_op, WhileParams{region(true), region(false)}, {weak, varying});
  const ValueIds chosen =
      add(f, case_op, CaseParams{{region(false), region(false)}}, {index, loop[0], loop[1]});
  f.outputs.assign(chosen.begin(), chosen.end());
  for (ValueId v : {loop[1], chosen[1]})
    f.types[v].sharding = std::make_shared<const NamedSharding>(mesh, P("x"));
  EXPECT_TRUE(f.type(loop[0]).weak && f.type(chosen[0]).weak);
  EXPECT_EQ(f.type(chosen[1]).varying, AxisNames{"x"});
  const std::string text = round_trip(f);
  EXPECT_THAT(text, HasSubstr(") : tensor<f32>, tensor<4xf32> attributes {sdy.sharding = "
                              "#sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{\"x\"}]>]>, "
                              "tessera.unsharded = array<i64: 0>} cond {"));
  EXPECT_THAT(text, HasSubstr("}) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, "
                              "[{\"x\"}]>]>, tessera.unsharded = array<i64: 0>} : (tensor<i32>)"));
  // A result that is not weak, although its op infers a weak one.
  f.types[chosen[0]].weak = false;
  EXPECT_THAT(round_trip(f), HasSubstr("tessera.weak = [false, false]"));
}

TEST(ControlFlowFormat, Case) {
  const std::string text = round_trip("%i: tensor<i32>, %x: tensor<4xf32>, %y: tensor<4xf32>", R"(
    %0:2 = "stablehlo.case"(%i) ({
      stablehlo.return %x, %y : tensor<4xf32>, tensor<4xf32>
    }, {
      %s = stablehlo.sine %y : tensor<4xf32>
      stablehlo.return %s, %s : tensor<4xf32>, tensor<4xf32>
    }, {
      %c = stablehlo.constant dense<1.0> : tensor<4xf32>
      stablehlo.return %c, %x : tensor<4xf32>, tensor<4xf32>
    }) : (tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>)
    return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>)",
                                      "tensor<4xf32>, tensor<4xf32>");
  EXPECT_THAT(text, HasSubstr(R"(
    %0:2 = "stablehlo.case"(%arg0) ({
      stablehlo.return %arg1, %arg2 : tensor<4xf32>, tensor<4xf32>
    }, {
      %1 = stablehlo.sine %arg2 : tensor<4xf32>
      stablehlo.return %1, %1 : tensor<4xf32>, tensor<4xf32>
    }, {
      %2 = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
      stablehlo.return %2, %arg1 : tensor<4xf32>, tensor<4xf32>
    }) : (tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>)
)"));
}

TEST(ControlFlowFormat, CaseOfOneBranchAndOfNoResults) {
  EXPECT_THAT(round_trip("%i: tensor<i32>, %x: tensor<f32>", R"(
    %0 = "stablehlo.case"(%i) ({
      stablehlo.return %x : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>
    "stablehlo.case"(%i) ({
      stablehlo.return
    }, {
      stablehlo.return
    }) : (tensor<i32>) -> ()
    return %0 : tensor<f32>)",
                         "tensor<f32>"),
              HasSubstr("    \"stablehlo.case\"(%arg0) ({\n"
                        "      stablehlo.return\n"
                        "    }, {\n"
                        "      stablehlo.return\n"
                        "    }) : (tensor<i32>) -> ()\n"));
}

// In text the branch for true comes first, in the op the branch for false.
TEST(ControlFlowFormat, If) {
  const Function f =
      parse_mlir(function_text("%p: tensor<i1>, %x: tensor<f32>, %y: tensor<f32>", R"(
    %0 = "stablehlo.if"(%p) ({
      stablehlo.return %x : tensor<f32>
    }, {
      %s = stablehlo.subtract %y, %x : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    return %0 : tensor<f32>)",
                               "tensor<f32>"));
  EXPECT_EQ(f.ops.at(0).def, &case_op);
  EXPECT_EQ(f.ops[0].params.as<CaseParams>().branches.at(0)->ops.size(), 1u);
  EXPECT_THAT(round_trip(f), HasSubstr("    %0 = \"stablehlo.if\"(%arg0) ({\n"
                                       "      stablehlo.return %arg1 : tensor<f32>\n"
                                       "    }, {\n"
                                       "      %1 = stablehlo.subtract %arg2, %arg1 : tensor<f32>\n"
                                       "      stablehlo.return %1 : tensor<f32>\n"
                                       "    }) : (tensor<i1>) -> tensor<f32>\n"));
  for (bool p : {false, true})
    EXPECT_EQ(
        evaluate(f, std::vector{Literal::scalar(p), Literal::scalar(2.f), Literal::scalar(7.f)})[0],
        Literal::scalar(p ? 2.f : 5.f));
}

// Operands of branches that text does not preserve: a constant, one that no branch uses, one that
// is passed twice, and an order other than that of use. The program that is read back computes the
// same, and then its text stays the same.
TEST(ControlFlowFormat, OperandsOfBranchesAreWhatTheyUse) {
  Function branch;
  branch.name = "body";
  std::vector<ValueId> in;
  for (int i = 0; i < 5; ++i) in.push_back(branch.add_input(kScalar));
  ValueId sum = add(branch, sub_op, NoParams{}, {in[3], in[0]})[0];
  for (int i : {1, 4}) sum = add(branch, mul_op, NoParams{}, {sum, in[i]})[0];
  branch.outputs = {sum};
  Function f;
  const ValueId index = f.add_input(kInt), x = f.add_input(kScalar), y = f.add_input(kScalar),
                unused = f.add_input(kScalar);
  const ValueId two = add(f, constant_op, ConstantParams{Literal::scalar(2.f), {}, false}, {})[0];
  f.outputs = {add(f, case_op, CaseParams{{share(branch)}}, {index, x, two, unused, y, x})[0]};
  verify(f);
  const Function read = parse_mlir(to_mlir(f));
  round_trip(read);
  EXPECT_EQ(read.ops.back().operands, (ValueIds{index, y, x}));
  const std::vector<Literal> inputs = {Literal::scalar(0), Literal::scalar(3.f),
                                       Literal::scalar(10.f), Literal::scalar(0.f)};
  EXPECT_EQ(evaluate(f, inputs)[0], Literal::scalar(42.f));
  EXPECT_EQ(evaluate(read, inputs)[0], Literal::scalar(42.f));
}

TEST(ControlFlowFormat, LoopsAndBranchesInEachOther) {
  const std::string text = round_trip("%i: tensor<i32>, %x: tensor<f32>", R"(
    %0 = "stablehlo.case"(%i) ({
      %1 = stablehlo.while(%y = %x) : tensor<f32> cond {
        %p = stablehlo.compare LT, %y, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %q = "stablehlo.if"(%p) ({
          stablehlo.return %p : tensor<i1>
        }, {
          %c = stablehlo.constant dense<false> : tensor<i1>
          stablehlo.return %c : tensor<i1>
        }) : (tensor<i1>) -> tensor<i1>
        stablehlo.return %q : tensor<i1>
      } do {
        %z = "stablehlo.case"(%i) ({
          stablehlo.return %y : tensor<f32>
        }, {
          %s = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }) : (tensor<i32>) -> tensor<f32>
        stablehlo.return %z : tensor<f32>
      }
      stablehlo.return %1 : tensor<f32>
    }, {
      stablehlo.return %x : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>
    return %0 : tensor<f32>)",
                                      "tensor<f32>");
  EXPECT_THAT(text, HasSubstr("        %5 = \"stablehlo.case\"("));
}

// Returns (c, s, x) -> (c s + x, s). It is referred to by name, because a custom call has no
// regions.
Function scan_body(bool weak = false) {
  Type carry = kScalar;
  carry.weak = weak;
  Function body;
  body.name = "step";
  const ValueId c = body.add_input(carry), s = body.add_input(carry), x = body.add_input(kScalar);
  const ValueId product = add(body, mul_op, NoParams{}, {c, s})[0];
  body.outputs = {add(body, add_op, NoParams{}, {product, x})[0], s};
  return body;
}

TEST(ControlFlowFormat, Scan) {
  Function f;
  const ValueId c = f.add_input(kScalar), xs = f.add_input(kVector);
  const ValueIds forward = add(f, scan_op, ScanParams{share(scan_body()), 4, 1, 1}, {c, c, xs});
  const ValueIds back =
      add(f, scan_op, ScanParams{share(scan_body()), 4, 1, 1, true}, {c, forward[0], forward[1]});
  f.outputs = {back[0], back[1]};
  EXPECT_EQ(
      round_trip(f),
      R"(module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<f32>, %arg1: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
    %0:2 = stablehlo.custom_call @tessera.scan(%arg0, %arg0, %arg1) {api_version = 4 : i32, backend_config = {body = @step, length = 4 : i64, num_consts = 1 : i64, num_carry = 1 : i64, reverse = false}} : (tensor<f32>, tensor<f32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
    %1:2 = stablehlo.custom_call @tessera.scan(%arg0, %0#0, %0#1) {api_version = 4 : i32, backend_config = {body = @step, length = 4 : i64, num_consts = 1 : i64, num_carry = 1 : i64, reverse = true}} : (tensor<f32>, tensor<f32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
    return %1#0, %1#1 : tensor<f32>, tensor<4xf32>
  }
  func.func private @step(%arg0: tensor<f32>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %0 = stablehlo.multiply %arg0, %arg1 : tensor<f32>
    %1 = stablehlo.add %0, %arg2 : tensor<f32>
    return %1, %arg1 : tensor<f32>, tensor<f32>
  }
}
)");
}

// A body's inputs are as weak as the operands.
TEST(ControlFlowFormat, ScanInGenericForm) {
  const Function generic =
      parse_mlir(function_text("%c: tensor<f32> {tessera.weak}, %xs: tensor<4xf32>", R"(
    %0:2 = "tessera.scan"(%c, %c, %xs) <{length = 4 : i64, num_consts = 1 : i64, num_carry = 1 : i64, reverse = false}> ({
    ^bb0(%k: tensor<f32>, %s: tensor<f32>, %x: tensor<f32>):
      %1 = stablehlo.multiply %k, %s : tensor<f32>
      %2 = stablehlo.add %1, %x : tensor<f32>
      stablehlo.return %2, %s : tensor<f32>, tensor<f32>
    }) : (tensor<f32>, tensor<f32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
    return %0#0, %0#1 : tensor<f32>, tensor<4xf32>)",
                               "tensor<f32>, tensor<4xf32>"));
  Function f;
  const ValueId c = f.add_input({.dtype = float32, .shape = {}, .weak = true}),
                xs = f.add_input(kVector);
  const ValueIds out = add(f, scan_op, ScanParams{share(scan_body(true)), 4, 1, 1}, {c, c, xs});
  f.outputs.assign(out.begin(), out.end());
  EXPECT_TRUE(generic == f) << to_mlir(generic) << to_mlir(f);
  round_trip(generic);
}

// A scan without iterations, carries and slices.
TEST(ControlFlowFormat, ScanOfNothing) {
  Function body, f;
  body.name = "step";
  for (int64_t length : {0, 3}) add(f, scan_op, ScanParams{share(body), length, 0, 0}, {});
  EXPECT_THAT(round_trip(f),
              HasSubstr("    stablehlo.custom_call @tessera.scan() {api_version = 4 : i32, "
                        "backend_config = {body = @step, length = 0 : i64, num_consts = 0 : i64, "
                        "num_carry = 0 : i64, reverse = false}} : () -> ()\n"));
}

}  // namespace
}  // namespace tessera::control_flow_format_test
