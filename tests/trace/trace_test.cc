#include "tessera/trace/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tessera/control/control.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/reductions/reduce.h"
#include "tests/evaluate/evaluate.h"

namespace tessera::trace_test {

using namespace tracing;

namespace {

using namespace array_math;
using testing::HasSubstr;
using Arrays = std::vector<Array>;

Literal vector(std::initializer_list<float> values) {
  return Literal::from<float>(std::span<const float>(values.begin(), values.size()),
                              {static_cast<int64_t>(values.size())});
}
const Type kVector{float32, {3}};

template <class F>
void expect_error(ErrorKind kind, const std::string& fragment, F f) {
  try {
    f();
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(fragment));
  }
}

// Functions that call themselves end in an error before the stack overflows.
TEST(Trace, DepthHasALimit) {
  std::function<void(int)> inside = [&](int depth) {
    FunctionTrace trace("inner");
    if (depth > 1) inside(depth - 1);
  };
  inside(256);
  expect_error(ErrorKind::kTrace,
               "[inner] expected at most 256 traced functions inside each other, got more",
               [&] { inside(50000); });
  inside(256);
}

TEST(Trace, RecordsWhatIsBound) {
  FunctionTrace trace("f");
  const Array x = trace.add_input(kVector), y = trace.add_input(kVector);
  const Array z = lax::sin(x) * y;
  EXPECT_TRUE(z.is_tracer());
  EXPECT_EQ(z.type(), kVector);
  const Function f = trace.finish(Arrays{z});
  EXPECT_EQ(f.name, "f");
  ASSERT_EQ(f.ops.size(), 2u);
  EXPECT_EQ(f.ops[0].def, &sin_op);
  EXPECT_EQ(f.ops[1].def, &mul_op);
  EXPECT_EQ(f.inputs.size(), 2u);
  EXPECT_EQ(Trace::current(), nullptr);
  const Literal got = evaluate(f, std::vector{vector({0, 0, 0}), vector({1, 2, 3})})[0];
  EXPECT_EQ(got, vector({0, 0, 0}));
}

TEST(Trace, EqualConstantsAreOneValue) {
  const TracedFunction f = trace_function(
      [](const Arrays& x) {
        const Array two = lax::full({3}, 2.0, float32);
        return Arrays{(x[0] + two) * two, Array(vector({2, 2, 2})) + lax::full({3}, 3.0, float32)};
      },
      std::vector{kVector});
  int constants = 0;
  for (const Op& op : f.function.ops) constants += op.def == &constant_op;
  EXPECT_EQ(constants, 2);
  EXPECT_TRUE(f.captures.empty());
}

TEST(Trace, ScalarsKeepTheirWeakness) {
  FunctionTrace trace;
  const Array x = trace.add_input({float32, {}});
  EXPECT_FALSE(lax::add(x, Array(2.0f)).weak_type());
  const Function f = trace.finish(Arrays{Array(2.0f)});
  EXPECT_TRUE(f.type(f.outputs[0]).weak);
}

TEST(Trace, CapturesLargeHostArraysOnce) {
  const Array big(Literal(float32, {100}));
  const TracedFunction f = trace_function(
      [&](const Arrays& x) {
        return Arrays{x[0] + big, big, x[0]};
      },
      std::vector{Type{float32, {100}}});
  ASSERT_EQ(f.captures.size(), 1u);
  EXPECT_EQ(f.captures[0].data(), big.data());
  ASSERT_EQ(f.function.inputs.size(), 2u);
  EXPECT_EQ(f.function.outputs[1], f.function.inputs[1]);
  EXPECT_EQ(f.function.outputs[2], f.function.inputs[0]);
}

TEST(Trace, InputsComeBeforeCaptures) {
  const Array big(Literal(float32, {100}));
  FunctionTrace trace;
  const Array y = lax::neg(big);
  const Array x = trace.add_input({float32, {100}});
  const Function f = trace.finish(Arrays{x + y});
  ASSERT_EQ(f.inputs.size(), 2u);
  EXPECT_EQ(f.ops[1].operands[0], f.inputs[0]);
  EXPECT_EQ(f.ops[0].operands[0], f.inputs[1]);
}

TEST(Trace, InnerTraceCapturesOuterTracers) {
  FunctionTrace outer("outer");
  const Array x = outer.add_input(kVector), y = lax::cos(x);
  TracedFunction inner = trace_function([&](const Arrays& z) { return Arrays{z[0] * y + x}; },
                                        std::vector{kVector}, "inner");
  ASSERT_EQ(inner.captures.size(), 2u);
  EXPECT_EQ(inner.captures[0].data(), y.data());
  EXPECT_EQ(inner.captures[1].data(), x.data());
  Arrays operands{x};
  operands.insert(operands.end(), inner.captures.begin(), inner.captures.end());
  const Arrays result =
      bind_op(call_op, CallParams{std::make_shared<Function>(inner.function)}, operands);
  const Function f = outer.finish(result);
  EXPECT_EQ(f.ops.back().def, &call_op);
  EXPECT_EQ(evaluate(f, std::vector{vector({0, 0, 0})})[0], vector({0, 0, 0}));
}

TEST(Trace, LeakedTracersAreErrors) {
  Array leaked;
  trace_function([&](const Arrays& x) { return Arrays{leaked = lax::sin(x[0])}; },
                 std::vector{kVector});
  expect_error(ErrorKind::kTrace, "a leaked tracer", [&] { lax::sin(leaked); });
  expect_error(ErrorKind::kTrace, "a leaked tracer", [&] {
    trace_function([&](const Arrays& x) { return Arrays{x[0] + leaked}; }, std::vector{kVector});
  });
  EXPECT_EQ(Trace::current(), nullptr);  // the failed trace has ended too
}

// Expects that `f`, called in another thread, throws an error that contains `fragment`.
template <class F>
void expect_error_in_a_thread(const std::string& fragment, F f) {
  std::thread([&] { expect_error(ErrorKind::kTrace, fragment, f); }).join();
}

TEST(Trace, TracersOfAnotherThreadAreErrors) {
  Array leaked;
  trace_function(
      [&](const Arrays& x) {
        expect_error_in_a_thread("expected an array that this thread can use, got the traced",
                                 [&] { lax::sin(x[0]); });
        expect_error_in_a_thread("of another thread", [&] {
          trace_function([&](const Arrays& y) { return Arrays{x[0] + y[0]}; },
                         std::vector{kVector});
        });
        return Arrays{leaked = lax::sin(x[0])};
      },
      std::vector{kVector});
  expect_error_in_a_thread("a leaked tracer", [&] { lax::sin(leaked); });
}

TEST(Trace, TracersHaveNoValues) {
  trace_function(
      [&](const Arrays& x) {
        expect_error(ErrorKind::kTrace, "[to_host] expected a concrete array",
                     [&] { x[0].to_host(); });
        expect_error(ErrorKind::kTrace, "[sharding] expected a concrete array",
                     [&] { x[0].sharding(); });
        expect_error(ErrorKind::kTrace, "where(), cond()", [&] {
          if (lax::reduce_max(x[0], {0})) FAIL();
        });
        return x;
      },
      std::vector{kVector});
}

TEST(Trace, KnownValuesOfConstants) {
  FunctionTrace trace;
  const Array x = trace.add_input(kVector);
  EXPECT_EQ(known_value(x), nullptr);
  EXPECT_EQ(known_value(lax::sin(x)), nullptr);
  const Array twos = lax::full({3}, 2.0, float32);
  const Literal* known = known_value(twos);
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(*known, vector({2, 2, 2}));
  EXPECT_EQ(known_value(Array()), nullptr);
  EXPECT_NE(known_value(Array(1.0f)), nullptr);
}

TEST(Trace, SourcesNest) {
  FunctionTrace trace;
  const Array x = trace.add_input(kVector);
  {
    const SourceScope outer("softmax");
    lax::reduce_max(x, {0});
  }
  lax::sin(x);
  const Function f = trace.finish(Arrays{x});
  std::vector<std::string> sources;
  for (const Op& op : f.ops)
    if (op.def != &constant_op) sources.push_back(op.source);
  EXPECT_THAT(sources, testing::ElementsAre("softmax/reduce_max", ""));
}

TEST(Trace, InlineReplaysOps) {
  const TracedFunction f = trace_function(
      [](const Arrays& x) {
        return Arrays{x[0] * x[1] + 1, x[1]};
      },
      std::vector{kVector, kVector});
  FunctionTrace trace;
  const Array x = trace.add_input(kVector);
  const Function g = trace.finish(inline_function(f.function, Arrays{x, x}));
  EXPECT_EQ(evaluate(g, std::vector{vector({1, 2, 3})})[0], vector({2, 5, 10}));
  FunctionTrace other;
  const Array wrong = other.add_input({float32, {4}});
  expect_error(ErrorKind::kType, "expected argument 1 of type float32[3], got float32[4]", [&] {
    inline_function(f.function, Arrays{Array(vector({1, 2, 3})), wrong});
  });
  expect_error(ErrorKind::kValue, "expected 2 arguments, got 1",
               [&] { inline_function(f.function, Arrays{wrong}); });
}

}  // namespace
}  // namespace tessera::trace_test
