// collective_broadcast and collective_reduce in forms that other libraries write: with groups that
// leave devices out, with several operands, and with computed roots. The expected values are those
// of StableHLO's interpreter tests and of the examples in its specification; for other groups they
// follow from its formulas.
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <complex>

#include "tessera/interchange/text/parser.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/verifier.h"
#include "tests/evaluate/evaluate.h"
#include "tests/interchange/foreign_text.h"

namespace tessera::interchange::rooted_collectives_test {
namespace {

using foreign_text::expect_error;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Groups = std::vector<std::vector<int64_t>>;

std::string dense(const Groups& groups) {
  size_t width = 0;
  for (const auto& group : groups) width = std::max(width, group.size());
  std::string rows;
  for (auto group : groups) {
    group.resize(width, -1);
    rows += fmt::format("{}[{}]", rows.empty() ? "" : ", ", fmt::join(group, ", "));
  }
  return fmt::format("dense<[{}]> : tensor<{}x{}xi64>", rows, groups.size(), width);
}

std::string attributes(const Groups& groups, const std::string& more = "") {
  return fmt::format(
      "replica_groups = {}, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>{}",
      dense(groups), more);
}

// Returns a program in which each device of a mesh ('x', 'y') has a row of %x and all of %roots.
// Its result is the row that `op` returns.
std::string program(int64_t x, int64_t y, const std::string& op, const std::string& type = "i64",
                    const std::string& result = "") {
  const std::string from = type, to = result.empty() ? type : result;
  return fmt::format(R"(
    sdy.mesh @mesh = <["x"={0}, "y"={1}]>
    func.func @main(%x: tensor<{2}x2x{3}>, %roots: tensor<1xi32>) -> tensor<{2}x2x{4}> {{
      %0 = sdy.manual_computation(%x, %roots) in_shardings=[<@mesh, [{{"x", "y"}}, {{}}]>, <@mesh, [{{}}]>] out_shardings=[<@mesh, [{{"x", "y"}}, {{}}]>] manual_axes={{"x", "y"}} (%a: tensor<1x2x{3}>, %root: tensor<1xi32>) {{
        %1 = {5} -> tensor<1x2x{4}>
        sdy.return %1 : tensor<1x2x{4}>
      }} : (tensor<{2}x2x{3}>, tensor<1xi32>) -> tensor<{2}x2x{4}>
      return %0 : tensor<{2}x2x{4}>
    }})",
                     x, y, x * y, from, to, op);
}
std::string broadcast(const Groups& groups, const std::string& type = "i64") {
  return fmt::format("\"stablehlo.collective_broadcast\"(%a) {{{}}} : (tensor<1x2x{}>)",
                     attributes(groups), type);
}
std::string broadcast_from_root(const Groups& groups, const std::string& type = "i64") {
  return fmt::format(
      "\"stablehlo.collective_broadcast\"(%a, %root) {{{}}} : (tensor<1x2x{}>, tensor<1xi32>)",
      attributes(groups, ", has_dynamic_root"), type);
}
std::string reduce(const Groups& groups, const std::string& op = "add", bool root = false,
                   const std::string& type = "i64", const std::string& of = "") {
  return fmt::format(R"("stablehlo.collective_reduce"(%a{0}) ({{
        ^bb0(%c: tensor<{4}>, %d: tensor<{4}>):
          %2 = stablehlo.{1} %c, %d : tensor<{4}>
          stablehlo.return %2 : tensor<{4}>
        }}) {{{2}}} : (tensor<1x2x{3}>{5}))",
                     root ? ", %root" : "", op,
                     attributes(groups, root ? ", has_dynamic_root = true, use_global_device_ids"
                                             : ", has_dynamic_root = false"),
                     type, of.empty() ? type : of, root ? ", tensor<1xi32>" : "");
}

Function parsed(const std::string& text) {
  Function f = parse_mlir(text, "test.mlir");
  verify(f);
  EXPECT_TRUE(parse_mlir(to_mlir(f)) == f) << to_mlir(f);
  return f;
}
template <class T>
std::vector<T> run(const std::string& text, const std::vector<T>& x, int32_t root = 0) {
  const auto rows = static_cast<int64_t>(x.size()) / 2;
  const Literal out = evaluate(
      parsed(text), std::vector{Literal::from<T>(x, {rows, 2}),
                                Literal::from<int32_t>(std::vector<int32_t>{root}, {1})})[0];
  return {out.data<T>(), out.data<T>() + out.elements()};
}
std::vector<int64_t> numbers(int64_t devices) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < 2 * devices; ++i) out.push_back(i + 1);
  return out;
}
// Returns the expected values: a device of a group has the row of the group's root, and any other
// device has zeros.
std::vector<int64_t> broadcast_of(int64_t devices, const Groups& groups, size_t root = 0) {
  std::vector<int64_t> out(static_cast<size_t>(2 * devices), 0);
  for (const auto& group : groups)
    for (int64_t device : group)
      for (int64_t i : {0, 1}) out[2 * device + i] = 2 * group[root] + i + 1;
  return out;
}

TEST(CollectiveBroadcast, DevicesInNoGroupGetZeros) {
  EXPECT_THAT(run(program(4, 1, broadcast({{2, 1}})), numbers(4)),
              ElementsAre(0, 0, 5, 6, 5, 6, 0, 0));
  EXPECT_THAT(run(program(1, 4, broadcast({{2, 1, 0}})), numbers(4)),
              ElementsAre(5, 6, 5, 6, 5, 6, 0, 0));
}

TEST(CollectiveBroadcast, OfAnyGroups) {
  for (const Groups& groups :
       {Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}, Groups{{3, 7}, {2, 6}}, Groups{{2, 1, 0}, {5}, {7, 6}},
        Groups{{0, 2}, {4, 6}}, Groups{{0}, {2}, {3}}, Groups{{7, 0}}, Groups{{1}}})
    EXPECT_EQ(run(program(2, 4, broadcast(groups)), numbers(8)), broadcast_of(8, groups))
        << dense(groups);
}

TEST(CollectiveBroadcast, OfGroupsThatHoldEachDeviceIsOneOp) {
  const auto text = [](const Groups& groups) {
    return to_mlir(parsed(program(2, 2, broadcast(groups))));
  };
  EXPECT_THAT(text({{0, 2}, {1, 3}}), Not(HasSubstr("stablehlo.select")));
  EXPECT_THAT(text({{0, 2, 1}, {3}}), Not(HasSubstr("stablehlo.select")));
  EXPECT_THAT(text({{0, 2}}), HasSubstr("stablehlo.select"));
}

TEST(CollectiveBroadcast, FromRootsThatAreAnOperand) {
  EXPECT_THAT(run(program(2, 1, broadcast_from_root({{0, 1}})), numbers(2), 1),
              ElementsAre(3, 4, 3, 4));
  for (const Groups& groups : {Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}, Groups{{2, 1, 0}, {7, 6}}})
    EXPECT_EQ(run(program(2, 4, broadcast_from_root(groups)), numbers(8), 1),
              broadcast_of(8, groups, 1))
        << dense(groups);
  // All bits of any number, and bools.
  using Complex = std::complex<float>;
  const std::vector<Complex> z =
      run<Complex>(program(2, 1, broadcast_from_root({{0, 1}}, "complex<f32>"), "complex<f32>"),
                   {{1, 2}, {3, 4}, {-0.F, -0.F}, {0.F, -0.F}}, 1);
  for (const size_t i : {0, 2}) {
    EXPECT_TRUE(std::signbit(z[i].real()) && std::signbit(z[i].imag())) << z[i];
    EXPECT_TRUE(!std::signbit(z[i + 1].real()) && std::signbit(z[i + 1].imag())) << z[i + 1];
  }
  const std::string bools = program(2, 1, broadcast_from_root({{1, 0}}, "i1"), "i1");
  const Literal out = evaluate(
      parsed(bools), std::vector{Literal::from<bool>(
                                     std::initializer_list<bool>{true, false, false, true}, {2, 2}),
                                 Literal::from<int32_t>(std::vector<int32_t>{1}, {1})})[0];
  EXPECT_THAT(std::vector<bool>(out.data<bool>(), out.data<bool>() + 4),
              ElementsAre(true, false, true, false));
}

// Each operand has a root of its own.
TEST(CollectiveBroadcast, OfSeveralOperands) {
  const Function f = parsed(fmt::format(R"(
    sdy.mesh @mesh = <["x"=2]>
    func.func @main(%x: tensor<2x2xi64>, %y: tensor<2x2xi64>) -> (tensor<2x2xi64>, tensor<2x2xi64>) {{
      %0:2 = sdy.manual_computation(%x, %y) in_shardings=[<@mesh, [{{"x"}}, {{}}]>, <@mesh, [{{"x"}}, {{}}]>] out_shardings=[<@mesh, [{{"x"}}, {{}}]>, <@mesh, [{{"x"}}, {{}}]>] manual_axes={{"x"}} (%a: tensor<1x2xi64>, %b: tensor<1x2xi64>) {{
        %root = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
        %1:2 = "stablehlo.collective_broadcast"(%a, %b, %root) {{{0}, has_dynamic_root}} : (tensor<1x2xi64>, tensor<1x2xi64>, tensor<2xi32>) -> (tensor<1x2xi64>, tensor<1x2xi64>)
        %2:2 = "stablehlo.collective_broadcast"(%1#0, %1#1) {{{0}}} : (tensor<1x2xi64>, tensor<1x2xi64>) -> (tensor<1x2xi64>, tensor<1x2xi64>)
        sdy.return %2#0, %2#1 : tensor<1x2xi64>, tensor<1x2xi64>
      }} : (tensor<2x2xi64>, tensor<2x2xi64>) -> (tensor<2x2xi64>, tensor<2x2xi64>)
      return %0#0, %0#1 : tensor<2x2xi64>, tensor<2x2xi64>
    }})",
                                        attributes({{0, 1}})));
  const std::vector<int64_t> x = {1, 2, 3, 4}, y = {5, 6, 7, 8};
  const std::vector<Literal> out = evaluate(
      f, std::vector{Literal::from<int64_t>(x, {2, 2}), Literal::from<int64_t>(y, {2, 2})});
  EXPECT_THAT(std::vector<int64_t>(out[0].data<int64_t>(), out[0].data<int64_t>() + 4),
              ElementsAre(1, 2, 1, 2));
  EXPECT_THAT(std::vector<int64_t>(out[1].data<int64_t>(), out[1].data<int64_t>() + 4),
              ElementsAre(7, 8, 7, 8));
}

TEST(CollectiveReduce, TheRootAloneHasTheResult) {
  EXPECT_THAT(run(program(4, 1, reduce({{0, 1, 2, 3}})), numbers(4)),
              ElementsAre(16, 20, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(run(program(4, 1, reduce({{0, 1, 2, 3}}, "add", true)), numbers(4), 3),
              ElementsAre(0, 0, 0, 0, 0, 0, 16, 20));
  EXPECT_THAT(run(program(2, 2, reduce({{3, 1}, {2}}, "maximum")), numbers(4)),
              ElementsAre(0, 0, 0, 0, 5, 6, 7, 8));
  EXPECT_THAT(run(program(2, 2, reduce({{3, 1}, {0}}, "multiply", true)), numbers(4), 1),
              ElementsAre(0, 0, 21, 32, 0, 0, 0, 0));
}

// The region may have a wider dtype, which is also that of the result.
TEST(CollectiveReduce, OfPromotedOperands) {
  const Function f =
      parsed(program(2, 1, reduce({{0, 1}}, "add", false, "f32", "f64"), "f32", "f64"));
  const std::vector<float> x = {1, 2, 0x1p-30F, 4};
  const Literal out =
      evaluate(f, std::vector{Literal::from<float>(x, {2, 2}),
                              Literal::from<int32_t>(std::vector<int32_t>{0}, {1})})[0];
  EXPECT_THAT(std::vector<double>(out.data<double>(), out.data<double>() + 4),
              ElementsAre(1 + 0x1p-30, 6, 0, 0));
}

TEST(RootedCollectives, Errors) {
  expect_error(
      program(2, 2, broadcast({{0, 1}, {1, 2}})),
      "expected each of the 4 devices of AbstractMesh('x': 2, 'y': 2) in one group at most");
  expect_error(program(2, 2, broadcast({{0, 4}})), "in 'replica_groups', got 4");
  expect_error(
      program(2, 1, "\"stablehlo.collective_broadcast\"() {" + attributes({{0, 1}}) + "} : ()"),
      "expected 1 operands or more, got 0");
  expect_error(program(2, 1,
                       "\"stablehlo.collective_broadcast\"(%root) {" +
                           attributes({{0, 1}}, ", has_dynamic_root") + "} : (tensor<1xi32>)"),
               "expected 2 operands or more, got 1");
  expect_error(program(2, 1,
                       "\"stablehlo.collective_broadcast\"(%a, %a) {" +
                           attributes({{0, 1}}, ", has_dynamic_root") +
                           "} : (tensor<1x2xi64>, tensor<1x2xi64>)"),
               "expected the roots as the last operand, tensor<1xi32>, got tensor<1x2xi64>");
  expect_error(program(2, 2, reduce({{0, 1}}, "subtract")), "expected a region that adds");
  expect_error(program(2, 1,
                       "\"stablehlo.collective_reduce\"(%a) {" + attributes({{0, 1}}) +
                           "} : (tensor<1x2xi64>)"),
               "expected the region that combines two values");
}

}  // namespace
}  // namespace tessera::interchange::rooted_collectives_test
