#include "tests/evaluate/evaluate.h"

#include <gtest/gtest.h>

#include "tessera/control/control.h"
#include "tessera/control/manual_boundary.h"
#include "tessera/control/shard_map_trace.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ir/verifier.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/trace/trace.h"
#include "tests/ops/host_executor.h"

namespace tessera::evaluate_test {

using namespace tracing;

namespace {

using namespace array_math;
using Arrays = std::vector<Array>;

Literal vector(std::initializer_list<float> values) {
  return Literal::from<float>(std::span<const float>(values.begin(), values.size()),
                              {static_cast<int64_t>(values.size())});
}

TEST(Evaluate, CallsRunTheirCallee) {
  const Type t{float32, {2}};
  const FunctionRef twice = std::make_shared<Function>(trace_function(
                                                           [](const Arrays& x) {
                                                             return Arrays{x[0] * 2, x[0]};
                                                           },
                                                           std::vector{t}, "twice")
                                                           .function);
  const Function f = trace_function(
                         [&](const Arrays& x) {
                           const Arrays once = bind_op(call_op, CallParams{twice}, x);
                           return bind_op(call_op, CallParams{twice}, Arrays{once[0]});
                         },
                         std::vector{t})
                         .function;
  const std::vector<Literal> got = evaluate(f, std::vector{vector({1, 3})});
  EXPECT_EQ(got[0], vector({4, 12}));
  EXPECT_EQ(got[1], vector({2, 6}));
}

// A call inside a manual computation, with a collective in the callee.
TEST(Evaluate, CallsInsideManualComputations) {
  const Mesh mesh = Mesh::abstract({2}, {"x"});
  const Function f =
      trace_function(
          [&](const Arrays& args) {
            return control::shard_map_flat(
                [](const Arrays& x) {
                  const FunctionRef mean = std::make_shared<Function>(
                      trace_function([](const Arrays& v) { return Arrays{lax::pmean(v[0], "x")}; },
                                     std::vector{x[0].type()})
                          .function);
                  return bind_op(call_op, CallParams{mean}, x);
                },
                {.mesh = mesh,
                 .in_specs = {P("x")},
                 .out_specs =
                     [](std::span<const Array>) { return std::vector<PartitionSpec>{P()}; }},
                args);
          },
          std::vector<Type>{{float32, {4}}})
          .function;
  EXPECT_EQ(evaluate(f, std::vector{vector({1, 2, 3, 6})})[0], vector({2, 4}));
}

// Tests every op of the registry, also those with regions, except collectives, which need devices,
// and the borders of manual computations, which no evaluated function contains.
TEST(Evaluate, EveryOpGivesTheTypesItInfers) {
  int tested = 0;
  std::mt19937 rng(9);
  for (const OpDef* def : all_ops()) {
    if (!def->samples || std::holds_alternative<CollectiveLowering>(def->lower) ||
        def == &full_to_shard_op || def == &shard_to_full_op)
      continue;
    for (const Sample& sample : def->samples()) {
      SCOPED_TRACE(fmt::format("{}.{}", def->dialect, def->name));
      Function f;
      for (const Type& t : sample.operands) f.add_input(t);
      const std::vector<Type> types = infer_types(*def, sample.operands, sample.params);
      const ValueIds results =
          f.add_op(*def, sample.params, ValueIds(f.inputs.begin(), f.inputs.end()), types);
      f.outputs.assign(results.begin(), results.end());
      verify(f);
      const std::vector<Literal> got = evaluate(f, testing_ops::sample_operands(sample, rng));
      ASSERT_EQ(got.size(), types.size());
      for (size_t r = 0; r < got.size(); ++r) {
        EXPECT_EQ(got[r].dtype(), types[r].dtype);
        EXPECT_EQ(got[r].shape(), types[r].shape);
      }
      ++tested;
    }
  }
  EXPECT_GT(tested, 1000);
}

TEST(Evaluate, SpmdKeepsDevicesApart) {
  const Mesh mesh = Mesh::abstract({3}, {"x"});
  const AxisEnv::Scope scope(mesh, {"x"}, true);
  const Function f =
      trace_function(
          [](const Arrays& x) {
            return Arrays{x[0] + x[0], lax::ppermute(x[0], "x", {{0, 1}, {1, 2}, {2, 0}})};
          },
          std::vector<Type>{{float32, {1}, false, {"x"}}})
          .function;
  const std::vector<DeviceLiterals> got =
      evaluate_spmd(f, {{vector({1}), vector({2}), vector({3})}}, mesh);
  EXPECT_EQ(got[0], (DeviceLiterals{vector({2}), vector({4}), vector({6})}));
  EXPECT_EQ(got[1], (DeviceLiterals{vector({3}), vector({1}), vector({2})}));
}

TEST(Evaluate, WrongInputsAreInternalErrors) {
  const Function f =
      trace_function([](const Arrays& x) { return x; }, std::vector<Type>{{float32, {2}}}).function;
  EXPECT_THROW(evaluate(f, {}), InternalError);
  EXPECT_THROW(evaluate(f, std::vector{vector({1, 2, 3})}), InternalError);
  EXPECT_THROW(evaluate_spmd(f, {{vector({1, 2})}}, Mesh::abstract({2}, {"x"})), InternalError);
}

TEST(Call, Errors) {
  const FunctionRef callee = std::make_shared<Function>(
      trace_function([](const Arrays& x) { return x; }, std::vector<Type>{{float32, {2}}}, "callee")
          .function);
  EXPECT_THROW(call_op.infer(std::vector<Type>{{float32, {3}}}, CallParams{callee}), UserError);
  EXPECT_THROW(call_op.infer(std::vector<Type>{}, CallParams{callee}), UserError);
  // The results of a callee that was traced outside vary as its operands do.
  const Type varying{float32, {2}, false, {"x"}};
  EXPECT_EQ(call_op.infer(std::vector{varying}, CallParams{callee})[0].varying, AxisNames{"x"});
}

}  // namespace
}  // namespace tessera::evaluate_test
