#include "tessera/interchange/programs/unroll_loops.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/control/control_flow_ops.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/structural/slice.h"
#include "tests/evaluate/evaluate.h"
#include "tests/interchange/loop_programs.h"
#include "tests/pass_text.h"

namespace tessera::unroll_loops_test {

using namespace interchange;
using namespace interchange::loop_programs;

namespace {

// Returns the program after the pass, without dead ops. It must have the same results.
Function unrolled(const std::string& text) {
  const Function before = parse_mlir(text), after = unroll_loops(before);
  expect_same_results(before, after);
  return remove_dead_ops(after);
}

// A loop that counts %i from `start` by `step` while it is below `bound`.
struct Loop {
  std::string start = "0", step = "1", bound = "5";
  std::string body = "%next = stablehlo.sine %c : tensor<3xf32>";
};
std::string loop_text(const Loop& loop) {
  return fmt::format(R"(
    %start = stablehlo.constant dense<{}> : tensor<i32>
    %r:2 = stablehlo.while(%i = %start, %c = %x) : tensor<i32>, tensor<3xf32> cond {{
      %bound = stablehlo.constant dense<{}> : tensor<i32>
      %less = stablehlo.compare LT, %i, %bound, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    }} do {{
      %step = stablehlo.constant dense<{}> : tensor<i32>
      %j = stablehlo.add %i, %step : tensor<i32>
      {}
      stablehlo.return %j, %next : tensor<i32>, tensor<3xf32>
    }})",
                     loop.start, loop.bound, loop.step, loop.body);
}
std::string text_of(const Loop& loop) {
  return "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {" + loop_text(loop) +
         "\n    return %r#1 : tensor<3xf32>\n  }";
}

void expect_kept(const std::string& text) {
  const Function f = unrolled(text);
  EXPECT_EQ(count(f, while_op), 1) << to_mlir(f);
  EXPECT_TRUE(remove_dead_ops(parse_mlir(text)) == f) << to_mlir(f);
}

TEST(UnrollLoops, ShortLoopsBecomeTheirTrips) {
  for (const auto& [loop, trips] :
       std::vector<std::pair<Loop, int64_t>>{{{}, 5},
                                             {{.bound = "8"}, 8},
                                             {{.bound = "0"}, 0},
                                             {{.start = "-3", .step = "2", .bound = "4"}, 4}}) {
    const Function f = unrolled(text_of(loop));
    EXPECT_EQ(count(f, while_op), 0) << to_mlir(f);
    EXPECT_EQ(count(f, sin_op), trips) << to_mlir(f);
    EXPECT_EQ(static_cast<int64_t>(f.ops.size()), trips) << to_mlir(f);
  }
}

TEST(UnrollLoops, OtherLoopsAreKept) {
  expect_kept(text_of({.bound = "9"}));
  // A trip reverses an array, which kernels do not compute in registers.
  expect_kept(text_of({.body = "%next = stablehlo.reverse %c, dims = [0] : tensor<3xf32>"}));
  // The trips have more than 512 ops.
  std::string body = "%v0 = stablehlo.sine %c : tensor<3xf32>\n";
  for (int k = 1; k < 110; ++k)
    body += fmt::format("%v{} = stablehlo.sine %v{} : tensor<3xf32>\n", k, k - 1);
  expect_kept(text_of({.body = body + "%next = stablehlo.sine %v109 : tensor<3xf32>"}));
  // The number of trips is an argument.
  expect_kept(R"(func.func @main(%x: tensor<3xf32>, %n: tensor<i32>) -> tensor<3xf32> {
    %r:2 = stablehlo.while(%i = %n, %c = %x) : tensor<i32>, tensor<3xf32> cond {
      %bound = stablehlo.constant dense<5> : tensor<i32>
      %less = stablehlo.compare LT, %i, %bound, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    } do {
      %step = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %step : tensor<i32>
      %next = stablehlo.sine %c : tensor<3xf32>
      stablehlo.return %j, %next : tensor<i32>, tensor<3xf32>
    }
    return %r#1 : tensor<3xf32>
  })");
}

// The loop of JAX's random bits: the numbers by which bits are rotated alternate between two lists.
TEST(UnrollLoops, ListsOfIntegersBecomeConstants) {
  const Function f = unrolled(R"(func.func @main(%x: tensor<3xui32>) -> tensor<3xui32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<[13, 15]> : tensor<2xui32>
    %other = stablehlo.constant dense<[17, 29]> : tensor<2xui32>
    %r:4 = stablehlo.while(%i = %zero, %c = %x, %a = %one, %b = %other) : tensor<i32>, tensor<3xui32>, tensor<2xui32>, tensor<2xui32> cond {
      %bound = stablehlo.constant dense<3> : tensor<i32>
      %less = stablehlo.compare LT, %i, %bound, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    } do {
      %r:2 = func.call @trip(%i, %c, %a) : (tensor<i32>, tensor<3xui32>, tensor<2xui32>) -> (tensor<i32>, tensor<3xui32>)
      stablehlo.return %r#0, %r#1, %b, %a : tensor<i32>, tensor<3xui32>, tensor<2xui32>, tensor<2xui32>
    }
    return %r#1 : tensor<3xui32>
  }
  func.func private @trip(%i: tensor<i32>, %c: tensor<3xui32>, %a: tensor<2xui32>) -> (tensor<i32>, tensor<3xui32>) {
    %step = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %step : tensor<i32>
    %s = stablehlo.slice %a [1:2] : (tensor<2xui32>) -> tensor<1xui32>
    %t = stablehlo.reshape %s : (tensor<1xui32>) -> tensor<ui32>
    %b = stablehlo.broadcast_in_dim %t, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %k = stablehlo.convert %j : (tensor<i32>) -> tensor<ui32>
    %l = stablehlo.broadcast_in_dim %k, dims = [] : (tensor<ui32>) -> tensor<3xui32>
    %d = stablehlo.shift_left %c, %b : tensor<3xui32>
    %e = stablehlo.xor %d, %c : tensor<3xui32>
    %f = stablehlo.add %e, %l : tensor<3xui32>
    return %j, %f : tensor<i32>, tensor<3xui32>
  })");
  EXPECT_EQ(count(f, while_op), 0);
  EXPECT_EQ(count(f, slice_op), 0) << to_mlir(f);
  // Three ops and two constants in each trip.
  EXPECT_EQ(f.ops.size(), 15u) << to_mlir(f);
}

TEST(UnrollLoops, InsideOfOthers) {
  // A loop in the body of a longer loop, which stays.
  std::string inner = loop_text({.bound = "3"});
  for (const std::string name : {"start", "bound", "less", "step", "j", "next", "r", "i"})
    for (size_t at = 0; (at = inner.find("%" + name, at)) != inner.npos; at += 2)
      if (!std::isalnum(inner[at + 1 + name.size()])) inner.insert(at + 1, "q");
  size_t at = inner.find("%c = %x");
  inner.replace(at, 7, "%d = %c");
  inner.replace(inner.find("sine %c"), 7, "sine %d");
  const std::string body = inner + "\n%next = stablehlo.cosine %qr#1 : tensor<3xf32>";
  const Function longer = unrolled(text_of({.bound = "50", .body = body}));
  EXPECT_EQ(count(longer, while_op), 1);
  EXPECT_EQ(count(longer, sin_op), 3);
  // In a loop that is unrolled too.
  const Function both = unrolled(text_of({.bound = "4", .body = body}));
  EXPECT_EQ(count(both, while_op), 0);
  EXPECT_EQ(count(both, sin_op), 12);
  // In a function that is called, and in a branch.
  const Function called = unrolled(
      "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { %y = func.call @f(%x) : "
      "(tensor<3xf32>) -> tensor<3xf32>\n return %y : tensor<3xf32> }\n"
      "func.func private @f(%x: tensor<3xf32>) -> tensor<3xf32> {" +
      loop_text({}) + "\n return %r#1 : tensor<3xf32> }");
  EXPECT_EQ(count(called, while_op), 0);
  EXPECT_EQ(count(called, sin_op), 5);
  const Function branch = unrolled(
      R"(func.func @main(%x: tensor<3xf32>, %p: tensor<i32>) -> tensor<3xf32> {
    %y = "stablehlo.case"(%p) ({)" +
      loop_text({}) + R"(
      stablehlo.return %r#1 : tensor<3xf32>
    }, {
      stablehlo.return %x : tensor<3xf32>
    }) : (tensor<i32>) -> tensor<3xf32>
    return %y : tensor<3xf32>
  })");
  EXPECT_EQ(count(branch, while_op), 0);
  EXPECT_EQ(count(branch, sin_op), 5);
}

// Short loops are unrolled on any number of devices; others become scans if the program is sharded.
TEST(UnrollLoops, OnAnyNumberOfDevices) {
  const auto module_on = [](int devices, const std::string& bound) {
    ParsedModule module;
    module.main = parse_mlir(text_of({.bound = bound}));
    module.meshes = {Mesh::abstract({devices}, {"x"})};
    return with_loops_rewritten(module);
  };
  for (int devices : {1, 8}) EXPECT_EQ(count(module_on(devices, "5"), sin_op), 5);
  EXPECT_EQ(count(module_on(1, "20"), while_op), 1);
  EXPECT_EQ(count(module_on(8, "20"), scan_op), 1);
}

// A device computes its part of an array, and does not take it from a constant. Keys are constants.
TEST(UnrollLoops, ArraysOfShardedProgramsAreNoConstants) {
  for (const auto& [extent, iotas] : {std::pair(9, 1), std::pair(2, 0)}) {
    ParsedModule module;
    module.main = parse_mlir(fmt::format(
        "func.func @main() -> tensor<{0}xui32> {{ %0 = stablehlo.iota dim = 0 : tensor<{0}xui32> "
        "return %0 : tensor<{0}xui32> }}",
        extent));
    EXPECT_EQ(count(with_loops_rewritten(module), iota_op), 0) << extent;
    module.meshes = {Mesh::abstract({3}, {"x"})};
    EXPECT_EQ(count(with_loops_rewritten(module), iota_op), iotas) << extent;
  }
}

}  // namespace
}  // namespace tessera::unroll_loops_test
