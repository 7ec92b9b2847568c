#include "tessera/transform/derivative.h"

#include <algorithm>

#include "tessera/ir/axis_env.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/trace/trace.h"
#include "tests/errors.h"
#include "tests/evaluate/evaluate.h"
#include "tests/pass_text.h"

namespace tessera::derivative_test {

using namespace transforms;

namespace {

using namespace array_math;
using test::error_of;
using test::text_of;
using Arrays = std::vector<Array>;
using Literals = std::vector<Literal>;

const Type kVector{float64, {3}}, kScalar{float64, {}};

Function traced(const FlatFn& body, const std::vector<Type>& types) {
  return trace_function(body, types).function;
}

// Returns the function (x, y) -> sin(x) * y.
Function product() {
  return traced([](const Arrays& x) { return Arrays{lax::sin(x[0]) * x[1]}; }, {kVector, kVector});
}

// --- Forward ---

TEST(Jvp, TangentsStandBesideValues) {
  EXPECT_EQ(
      text_of(traced(
          [](const Arrays& a) {
            const JvpResult r = jvp_function(product(), Arrays{a[0], a[1]}, Arrays{a[2], a[3]});
            return Arrays{r.primals[0], r.tangents[0]};
          },
          {kVector, kVector, kVector, kVector})),
      R"(
func.func public @main(%arg0: tensor<3xf64>, %arg1: tensor<3xf64>, %arg2: tensor<3xf64>, %arg3: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %0 = stablehlo.sine %arg0 : tensor<3xf64>
  %1 = stablehlo.cosine %arg0 : tensor<3xf64>
  %2 = stablehlo.multiply %arg2, %1 : tensor<3xf64>
  %3 = stablehlo.multiply %0, %arg1 : tensor<3xf64>
  %4 = stablehlo.multiply %2, %arg1 : tensor<3xf64>
  %5 = stablehlo.multiply %0, %arg3 : tensor<3xf64>
  %6 = stablehlo.add %4, %5 : tensor<3xf64>
  return %3, %6 : tensor<3xf64>, tensor<3xf64>
}
)");
}

// An undefined tangent is zero: ops that only depend on y are not differentiated.
TEST(Jvp, ZerosAreSymbolic) {
  traced(
      [](const Arrays& a) {
        const JvpResult none = jvp_function(product(), a, Arrays{Array(), Array()});
        EXPECT_FALSE(none.tangents[0].defined());
        return none.primals;
      },
      {kVector, kVector});
  EXPECT_EQ(
      text_of(traced(
          [](const Arrays& a) {
            return jvp_function(product(), Arrays{a[0], a[1]}, Arrays{Array(), a[2]}).tangents;
          },
          {kVector, kVector, kVector})),
      R"(
func.func public @main(%arg0: tensor<3xf64>, %arg1: tensor<3xf64>, %arg2: tensor<3xf64>) -> (tensor<3xf64>) {
  %0 = stablehlo.sine %arg0 : tensor<3xf64>
  %1 = stablehlo.multiply %0, %arg1 : tensor<3xf64>
  %2 = stablehlo.multiply %0, %arg2 : tensor<3xf64>
  return %2 : tensor<3xf64>
}
)");
}

// --- Linearization ---

// The inputs of the linear program are the tangents, then the values that it reads.
TEST(Linearize, RecordsWhatDependsOnATangent) {
  Function linear;
  const Function values = traced(
      [&](const Arrays& a) {
        LinearizedFunction l = linearize_function(product(), a, {true, true});
        linear = l.linear;
        EXPECT_EQ(l.nonzero, std::vector<bool>{true});
        Arrays out = l.primals;
        out.insert(out.end(), l.residuals.begin(), l.residuals.end());
        return out;
      },
      {kVector, kVector});
  EXPECT_EQ(text_of(values), R"(
func.func public @main(%arg0: tensor<3xf64>, %arg1: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) {
  %0 = stablehlo.sine %arg0 : tensor<3xf64>
  %1 = stablehlo.cosine %arg0 : tensor<3xf64>
  %2 = stablehlo.multiply %0, %arg1 : tensor<3xf64>
  return %2, %1, %arg1, %0 : tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>
}
)");
  EXPECT_EQ(text_of(linear), R"(
func.func public @main(%arg0: tensor<3xf64>, %arg1: tensor<3xf64>, %arg2: tensor<3xf64>, %arg3: tensor<3xf64>, %arg4: tensor<3xf64>) -> (tensor<3xf64>) {
  %0 = stablehlo.multiply %arg0, %arg2 : tensor<3xf64>
  %1 = stablehlo.multiply %0, %arg3 : tensor<3xf64>
  %2 = stablehlo.multiply %arg4, %arg1 : tensor<3xf64>
  %3 = stablehlo.add %1, %2 : tensor<3xf64>
  return %3 : tensor<3xf64>
}
)");
}

TEST(Linearize, ResultsWithoutATangentAreLeftOut) {
  const Function two = traced(
      [](const Arrays& x) {
        return Arrays{lax::sin(x[1]), x[0] * 2};
      },
      {kVector, kVector});
  traced(
      [&](const Arrays& a) {
        const LinearizedFunction l = linearize_function(two, a, {true, false});
        EXPECT_EQ(l.nonzero, (std::vector<bool>{false, true}));
        EXPECT_EQ(l.linear.inputs.size(), 1u);
        EXPECT_EQ(l.linear.outputs.size(), 1u);
        return l.primals;
      },
      {kVector, kVector});
}

// sin(x * x), where x * x is given: the product is computed again, but nothing reads it.
TEST(Linearize, KnownValuesAreNotComputed) {
  const Function f =
      traced([](const Arrays& x) { return Arrays{lax::sin(x[0] * x[0])}; }, {kVector});
  const Dims known{f.ops[0].results[0]};
  EXPECT_EQ(text_of(remove_dead_ops(traced(
                [&](const Arrays& a) {
                  const LinearizedFunction l =
                      linearize_function_with(f, Arrays{a[0]}, {true}, known, Arrays{a[1]});
                  return inline_function(l.linear, [&] {
                    Arrays inputs{a[2]};
                    inputs.insert(inputs.end(), l.residuals.begin(), l.residuals.end());
                    return inputs;
                  }());
                },
                {kVector, kVector, kVector}))),
            R"(
func.func public @main(%arg0: tensor<3xf64>, %arg1: tensor<3xf64>, %arg2: tensor<3xf64>) -> (tensor<3xf64>) {
  %0 = stablehlo.cosine %arg1 : tensor<3xf64>
  %1 = stablehlo.multiply %arg2, %arg0 : tensor<3xf64>
  %2 = stablehlo.multiply %arg0, %arg2 : tensor<3xf64>
  %3 = stablehlo.add %1, %2 : tensor<3xf64>
  %4 = stablehlo.multiply %3, %0 : tensor<3xf64>
  return %4 : tensor<3xf64>
}
)");
}

// --- Transposition ---

// f(x, y) = 2 x y + x, linear in x.
TEST(Transpose, WalksTheLinearPartBackwards) {
  const Function f =
      traced([](const Arrays& x) { return Arrays{x[0] * (x[1] * 2) + x[0]}; }, {kVector, kVector});
  EXPECT_EQ(text_of(traced(
                [&](const Arrays& a) {
                  const Arrays back =
                      transpose_function(f, {true, false}, Arrays{Array(), a[0]}, Arrays{a[1]});
                  EXPECT_FALSE(back[1].defined());
                  return Arrays{back[0]};
                },
                {kVector, kVector})),
            R"(
func.func public @main(%arg0: tensor<3xf64>, %arg1: tensor<3xf64>) -> (tensor<3xf64>) {
  %0 = stablehlo.constant dense<2.000000e+00> : tensor<3xf64>
  %1 = stablehlo.multiply %arg0, %0 : tensor<3xf64>
  %2 = stablehlo.multiply %arg1, %1 : tensor<3xf64>
  %3 = stablehlo.add %arg1, %2 : tensor<3xf64>
  return %3 : tensor<3xf64>
}
)");
}

TEST(Transpose, WhatNoCotangentReachesIsZero) {
  const Function f = traced(
      [](const Arrays& x) {
        return Arrays{-x[0], -x[1]};
      },
      {kVector, kVector});
  traced(
      [&](const Arrays& a) {
        const Arrays back =
            transpose_function(f, {true, true}, Arrays{Array(), Array()}, Arrays{a[0], Array()});
        EXPECT_TRUE(back[0].defined());
        EXPECT_FALSE(back[1].defined());
        return Arrays{back[0]};
      },
      {kVector});
}

// <ct, J t> == <J^T ct, t> for a program with products, a fold and values used twice.
TEST(Transpose, IsTheAdjointOfTheTangentProgram) {
  const Function f = traced(
      [](const Arrays& x) {
        const Array h = lax::tanh(lax::dot(x[0], x[1]));
        return Arrays{h * h, lax::reduce_sum(h, {0}) + x[2]};
      },
      {{float64, {2, 3}}, {float64, {3, 4}}, {float64, {4}}});
  std::vector<Type> types = f.types_of(f.inputs);
  Literals inputs;
  int next = 0;
  const auto fill = [&](const Type& type) {
    Literal x(type.dtype, type.shape);
    for (int64_t i = 0; i < x.elements(); ++i)
      x.mutable_data<double>()[i] = ++next * 37 % 19 / 9.5 - 1;
    return x;
  };
  const size_t n = types.size();
  for (size_t k = 0; k < n; ++k) types.push_back(types[k]);        // tangents
  for (const Type& t : f.types_of(f.outputs)) types.push_back(t);  // cotangents
  for (const Type& t : types) inputs.push_back(fill(t));
  const Function both = traced(
      [&](const Arrays& a) {
        const Arrays x(a.begin(), a.begin() + n), t(a.begin() + n, a.begin() + 2 * n),
            ct(a.begin() + 2 * n, a.end());
        const LinearizedFunction l = linearize_function(f, x, std::vector<bool>(n, true));
        Arrays operands = t;
        operands.insert(operands.end(), l.residuals.begin(), l.residuals.end());
        std::vector<bool> linear(operands.size(), false);
        std::fill_n(linear.begin(), n, true);
        Arrays out = inline_function(l.linear, operands);
        const Arrays back = transpose_function(l.linear, linear, operands, ct);
        out.insert(out.end(), back.begin(), back.begin() + n);
        return out;
      },
      types);
  const Literals out = evaluate(both, inputs);
  const auto inner = [](const Literal& a, const Literal& b) {
    double sum = 0;
    for (int64_t i = 0; i < a.elements(); ++i) sum += a.data<double>()[i] * b.data<double>()[i];
    return sum;
  };
  const size_t results = f.outputs.size();
  double forward = 0, backward = 0;
  for (size_t r = 0; r < results; ++r) forward += inner(out[r], inputs[2 * n + r]);
  for (size_t k = 0; k < n; ++k) backward += inner(out[results + k], inputs[n + k]);
  EXPECT_NE(forward, 0);
  EXPECT_NEAR(forward, backward, 1e-12);
}

// A value that is the same along "x" is used by values that vary: its cotangent is a sum over "x",
// once for both uses.
TEST(Transpose, CotangentsVaryAsTheirValues) {
  const Mesh mesh = Mesh::abstract({4}, {"x"});
  const AxisEnv::Scope scope(mesh, {"x"}, true);
  const Type same = kScalar, varying{.dtype = float64, .shape = {}, .varying = {"x"}};
  const Function f = traced([](const Arrays& x) { return Arrays{x[0] * x[1] + x[0] * x[2]}; },
                            {same, varying, varying});
  const Function back = traced(
      [&](const Arrays& a) {
        return Arrays{transpose_function(f, {true, false, false}, Arrays{Array(), a[0], a[1]},
                                         Arrays{a[2]})[0]};
      },
      {varying, varying, varying});
  EXPECT_EQ(back.type(back.outputs[0]), same);
  EXPECT_EQ(std::count_if(back.ops.begin(), back.ops.end(),
                          [](const Op& op) { return op.def == &all_reduce_op; }),
            1);
}

// --- Errors ---

std::vector<Type> same_types(std::span<const Type> operands, const NoParams&) {
  return {operands[0]};
}
const OpDef& refusing_op = define<NoParams>({.name = "refusing",
                                             .dialect = "test",
                                             .infer = same_types,
                                             .jvp = absent("it is not smooth"),
                                             .transpose = absent("it is not linear")});
const OpDef& silent_op =
    define<NoParams>({.name = "silent", .dialect = "test", .infer = same_types});

TEST(Derivative, Errors) {
  const auto binds = [](const OpDef& op) {
    return traced(
        [&](const Arrays& x) {
          const SourceScope source("softmax");
          return Arrays{bind_op1(op, NoParams{}, {x[0]})};
        },
        {kVector});
  };
  const auto error = [&](const FlatFn& f) { return error_of([&] { traced(f, {kVector}); }); };
  const Function refusing = binds(refusing_op), silent = binds(silent_op);
  EXPECT_EQ(error([&](const Arrays& a) { return jvp_function(refusing, a, a).tangents; }),
            "[refusing] expected an op with a forward derivative, got refusing (called by "
            "softmax): it is not smooth");
  EXPECT_EQ(error([&](const Arrays& a) { return linearize_function(silent, a, {true}).primals; }),
            "[silent] expected an op with a derivative, got silent (called by softmax); apply "
            "stop_gradient to its operand if it shall count as constant");
  EXPECT_EQ(error([&](const Arrays& a) {
              return transpose_function(refusing, {true}, Arrays{Array()}, a);
            }),
            "[refusing] expected an op with a reverse derivative, got refusing (called by "
            "softmax): it is not linear");
}

}  // namespace
}  // namespace tessera::derivative_test
