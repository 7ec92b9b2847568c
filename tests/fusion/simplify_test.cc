#include "tessera/fusion/rewrites/simplify.h"

#include "fusion_testing.h"
#include "tessera/ops/core/identity.h"

namespace tessera::fusion_testing::simplify_test {

using namespace fusion;

namespace {

using namespace array_math;

// Returns the number of ops that are left. Results are compared by the evaluator.
template <class F>
size_t ops_left(const std::vector<Type>& types, F body) {
  const Function f = trace(types, body), simple = simplify(f);
  const std::vector<Literal> inputs = random_inputs(f);
  const std::vector<Literal> want = evaluate(f, inputs), got = evaluate(simple, inputs);
  for (size_t k = 0; k < want.size(); ++k) EXPECT_EQ(got[k], want[k]);
  return simple.ops.size();
}

TEST(Simplify, EqualOpsAreOne) {
  EXPECT_EQ(
      ops_left({f32({3})}, [](const Arrays& x) { return Arrays{lax::exp(x[0]) + lax::exp(x[0])}; }),
      2u);
}

TEST(Simplify, DeadOpsAreGone) {
  EXPECT_EQ(ops_left({f32({3})},
                     [](const Arrays& x) {
                       lax::exp(x[0]);
                       return Arrays{x[0] + x[0]};
                     }),
            1u);
}

TEST(Simplify, NeutralElements) {
  auto count = [](DType dtype, auto body) { return ops_left({array_type(dtype, {4})}, body); };
  EXPECT_EQ(count(float32, [](const Arrays& x) { return Arrays{x[0] * 1}; }), 0u);
  EXPECT_EQ(count(float32, [](const Arrays& x) { return Arrays{x[0] / 1}; }), 0u);
  EXPECT_EQ(count(float32, [](const Arrays& x) { return Arrays{x[0] - 0}; }), 0u);
  EXPECT_EQ(count(int32, [](const Arrays& x) { return Arrays{x[0] + 0}; }), 0u);
  EXPECT_EQ(count(int32, [](const Arrays& x) { return Arrays{0 + x[0]}; }), 0u);
  EXPECT_EQ(count(float32, [](const Arrays& x) { return Arrays{-(-x[0])}; }), 0u);
  // -0 + 0 is 0.
  EXPECT_EQ(count(float32, [](const Arrays& x) { return Arrays{x[0] + 0}; }), 2u);
}

TEST(Simplify, ChoicesThatAreExtrema) {
  const auto count = [](auto body) { return ops_left({f32({8}), f32({8})}, body); };
  EXPECT_EQ(count([](const Arrays& x) {
              return Arrays{lax::select(lax::gt(x[0], x[1]), x[0], lax::max(x[0], x[1]))};
            }),
            1u);
  EXPECT_EQ(count([](const Arrays& x) {
              const Array bound = lax::stop_gradient(x[0]);
              return Arrays{lax::select(lax::lt(x[0], x[1]), x[0], lax::min(bound, x[1]))};
            }),
            1u);
  // The other one if they are equal or NaN, and choices of something else.
  EXPECT_EQ(count([](const Arrays& x) {
              return Arrays{lax::select(lax::gt(x[0], x[1]), x[1], lax::max(x[0], x[1]))};
            }),
            3u);
  EXPECT_EQ(count([](const Arrays& x) {
              return Arrays{lax::select(lax::gt(x[0], x[1]), x[0], lax::min(x[0], x[1]))};
            }),
            3u);
  EXPECT_EQ(count([](const Arrays& x) {
              return Arrays{lax::select(lax::ge(x[0], x[1]), x[0], lax::max(x[0], x[1]))};
            }),
            3u);
}

TEST(Simplify, AProductWithoutASumIsElementwise) {
  const auto dots = [](const std::vector<Type>& types, auto body) {
    const Function f = trace(types, body), simple = simplify(f);
    for (uint32_t seed : {1, 2}) {
      std::vector<Literal> inputs = random_inputs(f, seed);
      // A product that is -0 differs from its sum with 0.
      if (types[0].dtype == float32) inputs[0].mutable_data<float>()[0] = -0.0F;
      EXPECT_EQ(evaluate(simple, inputs), evaluate(f, inputs));
    }
    return std::count_if(simple.ops.begin(), simple.ops.end(),
                         [](const Op& op) { return op.def == &dot_general_op; });
  };
  const auto product = [](Dims lhs_contract, Dims rhs_contract, Dims lhs_batch = {},
                          Dims rhs_batch = {}) {
    return [=](const Arrays& x) {
      return Arrays{lax::dot_general(x[0], x[1],
                                     {.lhs_contract = lhs_contract,
                                      .rhs_contract = rhs_contract,
                                      .lhs_batch = lhs_batch,
                                      .rhs_batch = rhs_batch})};
    };
  };
  EXPECT_EQ(dots({f32({3}), f32({4})}, product({}, {})), 0);
  EXPECT_EQ(dots({f32({3, 1}), f32({1, 4})}, product({1}, {0})), 0);
  EXPECT_EQ(dots({f32({3, 2}), f32({4, 2, 5})}, product({}, {}, {1}, {1})), 0);
  EXPECT_EQ(dots({f32({2, 1, 3}), f32({4, 2, 1})}, product({1}, {2}, {0}, {1})), 0);
  EXPECT_EQ(dots({array_type(int32, {3}), array_type(int32, {4})}, product({}, {})), 0);
  EXPECT_EQ(dots({f32({3, 2}), f32({2, 4})}, product({1}, {0})), 1);
}

// A cond under vmap has such ops, which keep derivatives out of the branch that is not taken. They
// cost nothing if only values are computed.
TEST(Simplify, WhatOnlyDerivativesSeeIsGone) {
  EXPECT_EQ(ops_left({f32({4})},
                     [](const Arrays& x) {
                       const Array taken = lax::gt(x[0], lax::full_like(x[0], 0));
                       const Array named = lax::checkpoint_name(x[0], "x");
                       return Arrays{lax::exp(lax::select(taken, named, lax::stop_gradient(x[0])))};
                     }),
            1u);
}

TEST(Simplify, WhatHasNoElementsIsAConstant) {
  EXPECT_EQ(ops_left({f32({7})},
                     [](const Arrays& x) {
                       const Array least = lax::reduce_min(x[0], {0});
                       return Arrays{lax::exp(lax::broadcast_in_dim(least, {0}, {}))};
                     }),
            1u);
  EXPECT_EQ(ops_left({f32({3, 0})},
                     [](const Arrays& x) { return Arrays{lax::reduce_sum(lax::exp(x[0]), {1})}; }),
            3u)
      << "zeros of an empty sum, over a constant";
}

TEST(Simplify, ViewsOfViews) {
  EXPECT_EQ(ops_left({f32({2, 6})},
                     [](const Arrays& x) {
                       return Arrays{lax::reshape(lax::reshape(x[0], {12}), {3, 4})};
                     }),
            1u);
  EXPECT_EQ(ops_left({f32({2, 6})},
                     [](const Arrays& x) {
                       return Arrays{lax::reshape(lax::reshape(x[0], {12}), {2, 6})};
                     }),
            0u);
  EXPECT_EQ(ops_left({f32({2, 3, 4})},
                     [](const Arrays& x) {
                       return Arrays{lax::transpose(lax::transpose(x[0], {1, 2, 0}), {1, 0, 2})};
                     }),
            1u);
  EXPECT_EQ(ops_left({f32({2, 6})},
                     [](const Arrays& x) {
                       return Arrays{lax::transpose(lax::transpose(x[0], {1, 0}), {1, 0})};
                     }),
            0u);
  EXPECT_EQ(ops_left({f32({6})},
                     [](const Arrays& x) {
                       return Arrays{lax::broadcast_in_dim(lax::broadcast_in_dim(x[0], {2, 6}, {1}),
                                                           {2, 3, 6}, {0, 2})};
                     }),
            1u);
}

TEST(Simplify, BroadcastOfAConstantIsAConstant) {
  const Function f = simplify(trace({f32({2, 3})}, [](const Arrays& x) {
    return Arrays{x[0] * lax::broadcast_in_dim(lax::full({}, 3, float32), {2, 3}, {})};
  }));
  EXPECT_EQ(f.ops.size(), 2u);
}

}  // namespace
}  // namespace tessera::fusion_testing::simplify_test
