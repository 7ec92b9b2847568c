#include "tessera/interchange/programs/count_loops.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tessera/control/control_flow_ops.h"
#include "tessera/ir/control_flow.h"
#include "tests/evaluate/evaluate.h"
#include "tests/interchange/loop_programs.h"
#include "tests/pass_text.h"

namespace tessera::count_loops_test {

using namespace interchange;
using namespace interchange::loop_programs;

namespace {

// Returns the program after the pass. It must have the same results, bit for bit.
Function counted(const std::string& text) {
  const Function before = parse_mlir(text);
  const Function after = count_loops(before);
  expect_same_results(before, after);
  return after;
}

// Expects that the loop becomes a scan of `trips` iterations.
void expect_trips(const std::string& text, int64_t trips) {
  const Function f = counted(text);
  EXPECT_EQ(count(f, while_op), 0) << text;
  for (const Op& op : f.ops)
    if (op.def == &scan_op) {
      EXPECT_EQ(op.params.as<ScanParams>().length, trips) << text;
    }
  EXPECT_EQ(count(f, scan_op), trips == 0 ? 0 : 1) << text;
}
void expect_uncounted(const std::string& text) {
  const Function before = parse_mlir(text), after = count_loops(before);
  EXPECT_EQ(count(after, while_op), 1) << text;
  EXPECT_TRUE(remove_dead_ops(before) == after) << to_mlir(after);
}

struct Counting {
  std::string dtype = "i32", start = "0", step = "1", compare = "LT", bound = "5", type = "SIGNED";
  std::string add = "stablehlo.add %i, %step", test = "%i, %bound";
};
std::string text_of(const Counting& c) {
  return fmt::format(R"(func.func @main(%x: tensor<3xf32>) -> (tensor<{0}>, tensor<3xf32>) {{
    %start = stablehlo.constant dense<{1}> : tensor<{0}>
    %r:2 = stablehlo.while(%i = %start, %c = %x) : tensor<{0}>, tensor<3xf32> cond {{
      %bound = stablehlo.constant dense<{2}> : tensor<{0}>
      %more = stablehlo.compare {3}, {4}, {5} : (tensor<{0}>, tensor<{0}>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    }} do {{
      %step = stablehlo.constant dense<{6}> : tensor<{0}>
      %next = {7} : tensor<{0}>
      %s = stablehlo.sine %c : tensor<3xf32>
      stablehlo.return %next, %s : tensor<{0}>, tensor<3xf32>
    }}
    return %r#0, %r#1 : tensor<{0}>, tensor<3xf32>
  }})",
                     c.dtype, c.start, c.bound, c.compare, c.test, c.type, c.step, c.add);
}

// JAX's scan, in the form that the header shows.
TEST(CountLoops, OfRowsReadAndWritten) {
  const Function f = counted(R"(
func.func @main(%arg0: tensor<3xf32>, %arg1: tensor<5x3xf32>) -> (tensor<3xf32>, tensor<5x3xf32>) {
  %cst = stablehlo.constant dense<0.0> : tensor<5x3xf32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %r:4 = stablehlo.while(%xs = %arg1, %i = %c, %h = %arg0, %ys = %cst) : tensor<5x3xf32>, tensor<i32>, tensor<3xf32>, tensor<5x3xf32>
  cond {
    %five = stablehlo.constant dense<5> : tensor<i32>
    %more = stablehlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %x = stablehlo.dynamic_slice %xs, %i, %zero, sizes = [1, 3] : (tensor<5x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
    %n = func.call @step(%h, %x) : (tensor<3xf32>, tensor<1x3xf32>) -> tensor<3xf32>
    %row = stablehlo.reshape %n : (tensor<3xf32>) -> tensor<1x3xf32>
    %w = stablehlo.dynamic_update_slice %ys, %row, %i, %zero : (tensor<5x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<5x3xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %xs, %next, %n, %w : tensor<5x3xf32>, tensor<i32>, tensor<3xf32>, tensor<5x3xf32>
  }
  return %r#2, %r#3 : tensor<3xf32>, tensor<5x3xf32>
}
func.func private @step(%h: tensor<3xf32>, %x: tensor<1x3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.reshape %x : (tensor<1x3xf32>) -> tensor<3xf32>
  %1 = stablehlo.add %h, %0 : tensor<3xf32>
  return %1 : tensor<3xf32>
})");
  EXPECT_EQ(test::text_of(f), R"(
func.func public @main(%arg0: tensor<3xf32>, %arg1: tensor<5x3xf32>) -> (tensor<3xf32>, tensor<5x3xf32>) {
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %1:3 = stablehlo.custom_call @tessera.scan(%0, %arg0, %arg1) {api_version = 4 : i32, backend_config = {body = @body, length = 5 : i64, num_consts = 0 : i64, num_carry = 2 : i64, reverse = false}} : (tensor<i32>, tensor<3xf32>, tensor<5x3xf32>) -> (tensor<i32>, tensor<3xf32>, tensor<5x3xf32>)
  return %1#1, %1#2 : tensor<3xf32>, tensor<5x3xf32>
}
func.func private @body(%arg0: tensor<i32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>) -> (tensor<i32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = stablehlo.add %arg1, %arg2 : tensor<3xf32>
  %1 = stablehlo.constant dense<1> : tensor<i32>
  %2 = stablehlo.add %arg0, %1 : tensor<i32>
  return %2, %0, %0 : tensor<i32>, tensor<3xf32>, tensor<3xf32>
}
)");
}

TEST(CountLoops, TripsByConditionAndStep) {
  expect_trips(text_of(Counting{}), 5);
  expect_trips(text_of({.step = "2"}), 3);
  expect_trips(text_of({.compare = "LE"}), 6);
  expect_trips(text_of({.start = "5"}), 0);
  expect_trips(text_of({.start = "7", .step = "-1"}), 0);
  expect_trips(text_of({.start = "5", .step = "-2", .compare = "GT", .bound = "0"}), 3);
  expect_trips(text_of({.start = "5", .step = "-2", .compare = "GE", .bound = "1"}), 3);
  expect_trips(text_of({.step = "3", .compare = "NE", .bound = "6"}), 2);
  expect_trips(text_of({.compare = "EQ", .bound = "0"}), 1);
  expect_trips(text_of({.compare = "EQ", .bound = "1"}), 0);
  expect_trips(text_of({.start = "-3", .bound = "2"}), 5);
  expect_trips(text_of({.compare = "GT", .test = "%bound, %i"}), 5);
  expect_trips(text_of({.add = "stablehlo.add %step, %i"}), 5);
  expect_trips(
      text_of({.start = "5", .compare = "GT", .bound = "0", .add = "stablehlo.subtract %i, %step"}),
      5);
  expect_trips(text_of({.dtype = "ui8", .step = "50", .bound = "200", .type = "UNSIGNED"}), 4);
  expect_trips(text_of({.dtype = "i64", .start = "4000000000", .bound = "4000000002"}), 2);
  expect_trips(text_of({.dtype = "i8", .start = "120", .bound = "127"}), 7);
}

// Loops that end by wrapping around, or never, and other conditions.
TEST(CountLoops, WhatIsNotProvableStays) {
  expect_uncounted(text_of({.dtype = "ui8", .step = "50", .bound = "255", .type = "UNSIGNED"}));
  expect_uncounted(text_of({.dtype = "i8", .compare = "LE", .bound = "127"}));
  expect_uncounted(text_of({.step = "-1"}));
  expect_uncounted(text_of({.step = "0"}));
  expect_uncounted(text_of({.step = "2", .compare = "NE"}));
  expect_uncounted(text_of(
      {.start = "0", .compare = "EQ", .bound = "0", .add = "stablehlo.multiply %i, %step"}));
  expect_uncounted(text_of({.add = "stablehlo.maximum %i, %step"}));
  expect_uncounted(
      text_of({.dtype = "f32", .start = "0.0", .step = "1.0", .bound = "5.0", .type = "FLOAT"}));
  expect_uncounted(text_of({.add = "stablehlo.subtract %step, %i"}));
}

// The bound and the step are carried unchanged, or the bound is an argument.
TEST(CountLoops, OfCarriedBounds) {
  const std::string text =
      R"(func.func @main(%x: tensor<3xf32>, %given: tensor<i32>) -> tensor<3xf32> {{
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %six = stablehlo.multiply %two, %three : tensor<i32>
    %r:4 = stablehlo.while(%i = %zero, %n = {}, %s = %two, %c = %x) : tensor<i32>, tensor<i32>, tensor<i32>, tensor<3xf32> cond {{
      %more = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    }} do {{
      %next = stablehlo.add %i, %s : tensor<i32>
      %y = stablehlo.sine %c : tensor<3xf32>
      stablehlo.return %next, {}, %s, %y : tensor<i32>, tensor<i32>, tensor<i32>, tensor<3xf32>
    }}
    return %r#3 : tensor<3xf32>
  }})";
  expect_trips(fmt::format(fmt::runtime(text), "%six", "%n"), 3);
  expect_uncounted(fmt::format(fmt::runtime(text), "%given", "%n"));
  expect_uncounted(fmt::format(fmt::runtime(text), "%six", "%next"));
}

// Returns a loop of 4 iterations over x, [8, 2]. It reads `block` rows at `start`, and writes their
// sines over y, [8, 2], at `to`.
std::string rows_text(const std::string& start, const std::string& to, int block = 1,
                      const std::string& more = "") {
  return fmt::format(
      R"(func.func @main(%x: tensor<8x2xf32>, %y: tensor<8x2xf32>, %given: tensor<i32>) -> (tensor<8x2xf32>, tensor<8x2xf32>) {{
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %r:4 = stablehlo.while(%i = %zero, %a = %x, %b = %y, %g = %given) : tensor<i32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<i32> cond {{
      %four = stablehlo.constant dense<4> : tensor<i32>
      %go = stablehlo.compare LT, %i, %four, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    }} do {{
      %one = stablehlo.constant dense<1> : tensor<i32>
      %two = stablehlo.constant dense<2> : tensor<i32>
      %three = stablehlo.constant dense<3> : tensor<i32>
      %double = stablehlo.multiply %i, %two : tensor<i32>
      %half = stablehlo.divide %i, %two : tensor<i32>
      %back = stablehlo.subtract %three, %i : tensor<i32>
      %back2 = stablehlo.multiply %back, %two : tensor<i32>
      %up = stablehlo.add %i, %three : tensor<i32>
      %far = stablehlo.add %up, %up : tensor<i32>
      %negative = stablehlo.compare LT, %i, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %wrapped = stablehlo.select %negative, %far, %i : tensor<i1>, tensor<i32>
      %rows = stablehlo.dynamic_slice %a, {0}, %zero, sizes = [{2}, 2] : (tensor<8x2xf32>, tensor<i32>, tensor<i32>) -> tensor<{2}x2xf32>
      %s = stablehlo.sine %rows : tensor<{2}x2xf32>
      %w = stablehlo.dynamic_update_slice %b, %s, {1}, %zero : (tensor<8x2xf32>, tensor<{2}x2xf32>, tensor<i32>, tensor<i32>) -> tensor<8x2xf32>
      {3}
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %a, %w, %g : tensor<i32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<i32>
    }}
    return %r#1, %r#2 : tensor<8x2xf32>, tensor<8x2xf32>
  }})",
      start, to, block, more);
}

struct Shape2 {
  int64_t consts, carry, scanned, stacked;
  bool reverse;
  friend bool operator==(const Shape2&, const Shape2&) = default;
};
Shape2 scan_of(const std::string& text) {
  const Function f = counted(text);
  for (const Op& op : f.ops) {
    if (op.def != &scan_op) continue;
    const auto& p = op.params.as<ScanParams>();
    const auto operands = static_cast<int64_t>(op.operands.size()),
               results = static_cast<int64_t>(op.results.size());
    return {p.num_consts, p.num_carry, operands - p.num_consts - p.num_carry, results - p.num_carry,
            p.reverse};
  }
  ADD_FAILURE() << to_mlir(f);
  return {};
}

// The counter is still carried; arrays that are read and written by rows are not.
TEST(CountLoops, RowsInAnyDirection) {
  const Shape2 both{0, 1, 1, 1, false}, backwards{0, 1, 1, 1, true};
  EXPECT_EQ(scan_of(rows_text("%i", "%i")), both);
  EXPECT_EQ(scan_of(rows_text("%wrapped", "%wrapped")), both);
  EXPECT_EQ(scan_of(rows_text("%up", "%i")), both) << "from row 3 on";
  EXPECT_EQ(scan_of(rows_text("%double", "%up")), both) << "every second row";
  EXPECT_EQ(scan_of(rows_text("%back", "%back")), backwards);
  EXPECT_EQ(scan_of(rows_text("%back2", "%back")), backwards);
  EXPECT_EQ(scan_of(rows_text("%i", "%back")), both) << "one of them is reversed outside";
  EXPECT_EQ(scan_of(rows_text("%double", "%double", 2)), both) << "blocks";
  EXPECT_EQ(scan_of(rows_text("%back2", "%back2", 2)), backwards);
}

TEST(CountLoops, OtherAccessesStay) {
  EXPECT_EQ(scan_of(rows_text("%half", "%i")), (Shape2{1, 1, 0, 1, false})) << "rows twice";
  EXPECT_EQ(scan_of(rows_text("%i", "%half")), (Shape2{0, 2, 1, 0, false})) << "written twice";
  EXPECT_EQ(scan_of(rows_text("%i", "%double")), (Shape2{0, 2, 1, 0, false})) << "with gaps";
  EXPECT_EQ(scan_of(rows_text("%far", "%i")), (Shape2{1, 1, 0, 1, false})) << "clamped at the end";
  EXPECT_EQ(scan_of(rows_text("%g", "%i")), (Shape2{2, 1, 0, 1, false})) << "not known";
  EXPECT_EQ(scan_of(rows_text("%i", "%i", 2)), (Shape2{1, 2, 0, 0, false}))
      << "blocks that overlap";
  EXPECT_EQ(scan_of(rows_text("%i", "%i", 8)), (Shape2{1, 2, 0, 0, false})) << "always the same";
}

// Something else reads the arrays too: a constant stays in addition to its rows, and a written
// array is carried.
TEST(CountLoops, ArraysThatAreReadOtherwiseToo) {
  const std::string whole = "%sum = stablehlo.add %a, %a : tensor<8x2xf32>\n";
  std::string text = rows_text("%i", "%i", 1, whole);
  text.replace(text.find("stablehlo.return %next, %a, %w"), 30, "stablehlo.return %next, %sum, %w");
  EXPECT_EQ(scan_of(text), (Shape2{0, 2, 0, 1, false})) << "it changes from trip to trip";
  text = rows_text("%i", "%i");
  const std::string sine = "%s = stablehlo.sine %rows : tensor<1x2xf32>";
  text.replace(text.find(sine), sine.size(),
               "%old = stablehlo.dynamic_slice %b, %up, %zero, sizes = [1, 2] : (tensor<8x2xf32>, "
               "tensor<i32>, tensor<i32>) -> tensor<1x2xf32>\n"
               "%s = stablehlo.add %rows, %old : tensor<1x2xf32>");
  EXPECT_EQ(scan_of(text), (Shape2{0, 2, 1, 0, false})) << "rows that will be written";
  text = rows_text("%i", "%i");
  text.replace(text.find(sine), sine.size(),
               "%all = stablehlo.slice %a [5:6, 0:2] : (tensor<8x2xf32>) -> tensor<1x2xf32>\n"
               "%s = stablehlo.add %rows, %all : tensor<1x2xf32>");
  EXPECT_EQ(scan_of(text), (Shape2{1, 1, 1, 1, false}));
}

// Loops in loops, in branches and in manual computations.
TEST(CountLoops, Inside) {
  const std::string inner = R"(
      %start = stablehlo.constant dense<0> : tensor<i32>
      %q:2 = stablehlo.while(%k = %start, %d = %c) : tensor<i32>, tensor<3xf32> cond {
        %end = stablehlo.constant dense<2> : tensor<i32>
        %on = stablehlo.compare LT, %k, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %on : tensor<i1>
      } do {
        %inc = stablehlo.constant dense<1> : tensor<i32>
        %kk = stablehlo.add %k, %inc : tensor<i32>
        %dd = stablehlo.sine %d : tensor<3xf32>
        stablehlo.return %kk, %dd : tensor<i32>, tensor<3xf32>
      })";
  std::string text = text_of(Counting{});
  const std::string sine = "%s = stablehlo.sine %c : tensor<3xf32>";
  text.replace(text.find(sine), sine.size(),
               inner + "\n%s = stablehlo.cosine %q#1 : tensor<3xf32>");
  EXPECT_EQ(count(counted(text), scan_op), 2);
  // The outer loop is not counted; the inner one is.
  text.replace(text.find("dense<1> : tensor<i32>\n      %next"), 8, "dense<0>");
  const Function f = count_loops(parse_mlir(text));
  EXPECT_EQ(count(f, while_op), 1);
  EXPECT_EQ(count(f, scan_op), 1);
  const Function branch =
      counted(R"(func.func @main(%c: tensor<3xf32>, %p: tensor<i32>) -> tensor<3xf32> {
    %r = "stablehlo.case"(%p) ({)" +
              inner + R"(
      stablehlo.return %q#1 : tensor<3xf32>
    }, {
      stablehlo.return %c : tensor<3xf32>
    }) : (tensor<i32>) -> tensor<3xf32>
    return %r : tensor<3xf32>
  })");
  EXPECT_EQ(count(branch, scan_op), 1);
  const Function manual = counted(R"(module { sdy.mesh @mesh = <["x"=2]>
  func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    %r = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%c: tensor<3xf32>) {)" +
                                  inner + R"(
      sdy.return %q#1 : tensor<3xf32>
    } : (tensor<6xf32>) -> tensor<6xf32>
    return %r : tensor<6xf32>
  } })");
  EXPECT_THAT(to_mlir(manual), ::testing::HasSubstr("tessera.scan"));
}

}  // namespace
}  // namespace tessera::count_loops_test
