// Tests how often transforms of nested loops walk the bodies. Every body has an op that counts the
// calls of its rules.
#include "tessera/control/region_memo.h"

#include <gmock/gmock.h>

#include "tessera/control/custom_derivative.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/batch_axis.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/op.h"
#include "tessera/transform/batch.h"
#include "tessera/transform/derivative.h"
#include "tests/errors.h"
#include "tests/evaluate/evaluate.h"
#include "tests/trace/control_flow.h"

namespace tessera::region_memo_test {

using namespace control;

namespace {

using namespace array_math;
using test::error_of;
using ::testing::Each;
using testing_control::Arrays;

const Type kScalar{float64, {}};
constexpr int kMaxDepth = 6;

int derivatives = 0, transposes = 0, batchings = 0;

struct VisitedParams {};
extern const OpDef& visited_op;

Array visited(const Array& x) { return bind_op1(visited_op, VisitedParams{}, {x}); }

std::vector<Type> same_types(std::span<const Type> operands, const VisitedParams&) {
  return {operands[0]};
}
JvpResult jvp_visited(std::span<const Array> primals, std::span<const Array> tangents,
                      const VisitedParams&) {
  ++derivatives;
  return {{visited(primals[0])}, {visited(tangents[0])}};
}
std::vector<Array> transpose_visited(std::span<const Array> cotangents, std::span<const Array>,
                                     const std::vector<bool>&, const VisitedParams&) {
  ++transposes;
  return {visited(cotangents[0])};
}
BatchResult batch_visited(std::span<const Array> operands, std::span<const int> dims,
                          const VisitedParams&) {
  ++batchings;
  return {{visited(operands[0])}, {dims[0]}};
}

const OpDef& visited_op = define<VisitedParams>({.name = "visited",
                                                 .dialect = "test",
                                                 .infer = same_types,
                                                 .jvp = {jvp_visited},
                                                 .transpose = {transpose_visited},
                                                 .batch = {batch_visited}});

const OpDef& hard_op = define<VisitedParams>(
    {.name = "hard", .dialect = "test", .infer = same_types, .jvp = absent("it is not smooth")});

using Visit = std::function<Array(const Array&)>;
// A function that returns the value at x of `depth` nested loops; `visit` is applied in every body.
using Nest = Array(int depth, const Array& x, const Visit& visit);

// The carry has a tangent from the start.
Array scans(int depth, const Array& x, const Visit& visit) {
  if (depth == 0) return visit(lax::sin(x));
  return testing_control::scan(2, {}, {x}, {}, [&](const Arrays& in) {
    return Arrays{visit(scans(depth - 1, in[0], visit) + lax::sin(in[0]))};
  })[0];
}

// The carry has a tangent (or is mapped) only after an iteration, so every loop processes its body
// twice.
Array sums(int depth, const Array& x, const Visit& visit) {
  if (depth == 0) return visit(lax::sin(x));
  return testing_control::scan(2, {x}, {lax::full({}, 0, float64)}, {}, [&](const Arrays& in) {
    return Arrays{in[1] + visit(sums(depth - 1, in[0], visit))};
  })[0];
}

Array branches(int depth, const Array& x, const Visit& visit) {
  if (depth == 0) return visit(lax::sin(x));
  const auto one = [&](const Arrays& in) {
    return Arrays{visit(branches(depth - 1, in[0], visit))};
  };
  const auto other = [](const Arrays& in) { return Arrays{in[0] * in[0]}; };
  return testing_control::branch(lax::full({}, 0, int32), {x}, {one, other})[0];
}

// A while loop of two iterations. Only its second carry is differentiated.
Array whiles(int depth, const Array& x, const Visit& visit) {
  if (depth == 0) return visit(lax::sin(x));
  return testing_control::while_loop(
      {lax::full({}, 0, float64), x},
      [](const Arrays& in) { return Arrays{lax::lt(in[0], lax::full({}, 2, float64))}; },
      [&](const Arrays& in) {
        return Arrays{in[0] + lax::full({}, 1, float64),
                      visit(whiles(depth - 1, in[1], visit) + lax::sin(in[1]))};
      })[1];
}

// Every body is a checkpoint.
Array checkpoints(int depth, const Array& x, const Visit& visit) {
  if (depth == 0) return visit(lax::sin(x));
  const FunctionRef primal = testing_control::region(
      [&](const Arrays& in) {
        return Arrays{visit(checkpoints(depth - 1, in[0], visit) + lax::sin(in[0]))};
      },
      {kScalar});
  return testing_control::scan(2, {}, {x}, {}, [&](const Arrays& in) {
    return bind_op(checkpoint_op, CheckpointParams{primal}, in);
  })[0];
}

Function traced(Nest* nest, int depth, const Visit& visit, const Type& type = kScalar) {
  return trace_function([&](const Arrays& x) { return Arrays{nest(depth, x[0], visit)}; },
                        std::vector{type})
      .function;
}

Function jvp_of(const Function& f) {
  return trace_function(
             [&](const Arrays& x) { return jvp_function(f, {{x[0]}}, {{x[1]}}).tangents; },
             std::vector{f.type(f.inputs[0]), f.type(f.inputs[0])})
      .function;
}

Function grad_of(const Function& f) {
  return trace_function(
             [&](const Arrays& x) {
               const LinearizedFunction at = linearize_function(f, x, {true});
               Arrays operands{Array()};
               operands.insert(operands.end(), at.residuals.begin(), at.residuals.end());
               std::vector<bool> linear(operands.size(), false);
               linear[0] = true;
               const Arrays one{lax::full({}, 1, float64)};
               return Arrays{transpose_function(at.linear, linear, operands, one)[0]};
             },
             f.input_types())
      .function;
}

Function vmap_of(const Function& f) {
  return trace_function(
             [&](const Arrays& x) {
               const BatchAxis::Scope scope({.size = 3});
               return batch_function(f, x, std::vector<int>{0}).results;
             },
             std::vector{f.type(f.inputs[0]).with_shape({3})})
      .function;
}

// Returns, for each level of nesting, how many more calls of the op's `rule` a transform makes with
// this level.
std::vector<int> calls_per_level(Nest* nest, Function (*transform)(const Function&),
                                 const int& rule, const Type& type = kScalar) {
  std::vector<int> out;
  int last = 0;
  for (int depth = 1; depth <= kMaxDepth; ++depth) {
    const Function f = traced(nest, depth, visited, type);
    const int before = rule;
    transform(f);
    if (depth > 1) out.push_back(rule - before - last);
    last = rule - before;
  }
  return out;
}

TEST(RegionMemo, ForwardDerivativesOfNestedLoopsAreLinearInTheirDepth) {
  EXPECT_THAT(calls_per_level(scans, jvp_of, derivatives), Each(1));
  EXPECT_THAT(calls_per_level(sums, jvp_of, derivatives), Each(2));
  EXPECT_THAT(calls_per_level(branches, jvp_of, derivatives), Each(1));
  EXPECT_THAT(calls_per_level(whiles, jvp_of, derivatives), Each(1));
}

TEST(RegionMemo, ReverseDerivativesOfNestedLoopsAreLinearInTheirDepth) {
  EXPECT_THAT(calls_per_level(scans, grad_of, derivatives), Each(1));
  EXPECT_THAT(calls_per_level(sums, grad_of, derivatives), Each(2));
  EXPECT_THAT(calls_per_level(branches, grad_of, derivatives), Each(1));
  EXPECT_THAT(calls_per_level(scans, grad_of, transposes), Each(1));
  EXPECT_THAT(calls_per_level(sums, grad_of, transposes), Each(1));
  EXPECT_THAT(calls_per_level(branches, grad_of, transposes), Each(1));
}

// The transpose of a checkpoint computes it again, but does not linearize it again.
TEST(RegionMemo, DerivativesOfNestedCheckpointsAreLinearInTheirDepth) {
  EXPECT_THAT(calls_per_level(checkpoints, jvp_of, derivatives), Each(1));
  EXPECT_THAT(calls_per_level(checkpoints, grad_of, derivatives), Each(1));
  EXPECT_THAT(calls_per_level(checkpoints, grad_of, transposes), Each(1));
}

TEST(RegionMemo, BatchingOfNestedLoopsIsLinearInTheirDepth) {
  EXPECT_THAT(calls_per_level(scans, vmap_of, batchings), Each(1));
  EXPECT_THAT(calls_per_level(sums, vmap_of, batchings), Each(2));
  EXPECT_THAT(calls_per_level(branches, vmap_of, batchings), Each(1));
  EXPECT_THAT(calls_per_level(whiles, vmap_of, batchings), Each(1));
}

// If a carry is the same on all devices at first and varies after an iteration, a loop is traced
// for both cases.
TEST(RegionMemo, TransformsOfNestedLoopsOverManualAxesAreLinearInTheirDepth) {
  const AxisEnv::Scope scope(Mesh::abstract({2}, {"x"}), {"x"}, true);
  const Type varying = kScalar.with_varying({"x"});
  EXPECT_THAT(calls_per_level(sums, jvp_of, derivatives, varying), Each(3));
  EXPECT_THAT(calls_per_level(sums, grad_of, derivatives, varying), Each(3));
  EXPECT_THAT(calls_per_level(sums, grad_of, transposes, varying), Each(1));
  EXPECT_THAT(calls_per_level(sums, vmap_of, batchings, varying), Each(3));
}

// Kept results are dropped at the end of the outermost loop, and if a rule throws.
TEST(RegionMemo, NothingIsKeptAfterwards) {
  const auto refuses = [](const Array& x) { return bind_op1(hard_op, VisitedParams{}, {x}); };
  const Function f = traced(scans, 3, visited), refusing = traced(scans, 3, refuses);
  const auto calls = [&] {
    const int before = derivatives;
    grad_of(f);
    return derivatives - before;
  };
  const int first = calls();
  EXPECT_EQ(first, 4);
  EXPECT_EQ(calls(), first);
  EXPECT_NE(error_of([&] { grad_of(refusing); }), "");
  EXPECT_EQ(calls(), first);
}

// --- Values ---

Array unchanged(const Array& x) { return x; }

// The nests above, unrolled.
Array unrolled_scans(int depth, const Array& x) {
  if (depth == 0) return lax::sin(x);
  Array carry = x;
  for (int trip = 0; trip < 2; ++trip) carry = unrolled_scans(depth - 1, carry) + lax::sin(carry);
  return carry;
}
Array unrolled_sums(int depth, const Array& x) {
  if (depth == 0) return lax::sin(x);
  const Array term = unrolled_sums(depth - 1, x);
  return term + term;
}
Array unrolled_branches(int, const Array& x) { return lax::sin(x); }

double value_at(const Function& f, const std::vector<double>& x) {
  std::vector<Literal> inputs;
  for (double v : x) inputs.push_back(Literal::from<double>(std::vector<double>{v}, {}));
  return evaluate(f, inputs)[0].data<double>()[0];
}

TEST(RegionMemo, DerivativesFourDeepAreThoseOfTheUnrolledLoops) {
  using Unrolled = Array(int, const Array&);
  const std::vector<std::tuple<const char*, Nest*, Unrolled*>> nests{
      {"scans", scans, unrolled_scans},
      {"sums", sums, unrolled_sums},
      {"checkpoints", checkpoints, unrolled_scans},
      {"branches", branches, unrolled_branches},
      {"whiles", whiles, unrolled_scans}};
  for (const auto& [name, nest, unrolled] : nests) {
    SCOPED_TRACE(name);
    const Function loops = traced(nest, 4, unchanged);
    const Function flat = trace_function([&](const Arrays& x) { return Arrays{unrolled(4, x[0])}; },
                                         std::vector{kScalar})
                              .function;
    for (double x : {0.9, 1.3}) {
      const double want = value_at(grad_of(flat), {x});
      ASSERT_NE(want, 0);
      const double tolerance = 1e-12 * std::abs(want);
      EXPECT_NEAR(value_at(loops, {x}), value_at(flat, {x}), 1e-12);
      EXPECT_NEAR(value_at(jvp_of(loops), {x, 1}), want, tolerance);
      if (nest != whiles) {
        EXPECT_NEAR(value_at(grad_of(loops), {x}), want, tolerance);
      }
    }
    const std::vector<double> examples{0.9, 1.1, 1.3};
    const Literal got =
        evaluate(vmap_of(loops), std::vector{Literal::from<double>(examples, {3})})[0];
    for (size_t i = 0; i < examples.size(); ++i)
      EXPECT_NEAR(got.data<double>()[i], value_at(flat, {examples[i]}), 1e-12);
  }
}

// The forward derivative of a scan does not need the reverse derivative of its body.
TEST(RegionMemo, ForwardDerivativeOfAScanOverAWhileLoop) {
  const auto body = [](const Arrays& in) { return Arrays{whiles(2, in[0], unchanged)}; };
  const Function f =
      trace_function(
          [&](const Arrays& x) { return testing_control::scan(2, {}, {x[0]}, {}, body); },
          std::vector{kScalar})
          .function;
  const Function flat =
      trace_function(
          [](const Arrays& x) { return Arrays{unrolled_scans(2, unrolled_scans(2, x[0]))}; },
          std::vector{kScalar})
          .function;
  EXPECT_NEAR(value_at(jvp_of(f), {0.9, 1}), value_at(jvp_of(flat), {0.9, 1}), 1e-12);
}

}  // namespace
}  // namespace tessera::region_memo_test
