#include "tessera/ops/reductions/scalar_body.h"

#include "fusion_testing.h"
#include "tessera/control/control.h"
#include "tessera/control/make_control_flow.h"
#include "tessera/ops/reductions/fold_body.h"

namespace tessera::fusion_testing::scalar_body_test {

using namespace ops;

namespace {

// Expects elementwise ops with the same results.
void expect_scalar(const Function& body, const std::vector<std::vector<Literal>>& inputs) {
  const FunctionRef scalar = scalar_body(body);
  EXPECT_FALSE(is_elementwise(body));
  EXPECT_TRUE(is_elementwise(*scalar));
  for (const std::vector<Literal>& in : inputs)
    EXPECT_EQ(evaluate(*scalar, in), evaluate(body, in));
}

TEST(ScalarBody, ConditionalsSelect) {
  const auto sum = [](const Arrays& x) { return Arrays{lax::add(x[0], x[1]), x[0]}; };
  const auto larger = [](const Arrays& x) { return Arrays{lax::max(x[0], x[1]), x[1]}; };
  const auto product = [](const Arrays& x) { return Arrays{lax::mul(x[0], x[1]), x[0]}; };
  const Function by_number = trace({array_type(int32, {}), f32({}), f32({})}, [&](const Arrays& x) {
    return control::make_case(x[0], {sum, larger, product}, {x[1], x[2]});
  });
  std::vector<std::vector<Literal>> inputs;
  for (int32_t i = -2; i < 5; ++i)
    inputs.push_back({Literal::scalar(i), Literal::scalar(3.0F), Literal::scalar(4.0F)});
  expect_scalar(by_number, inputs);
  const Function by_truth = trace({f32({}), f32({})}, [&](const Arrays& x) {
    return control::make_case(lax::lt(x[0], x[1]), {sum, larger}, {x[0], x[1]});
  });
  expect_scalar(by_truth, {{Literal::scalar(3.0F), Literal::scalar(4.0F)},
                           {Literal::scalar(4.0F), Literal::scalar(3.0F)}});
}

// A conditional in a branch, a call, and reshapes of scalars.
TEST(ScalarBody, WhatIsNested) {
  const auto callee = std::make_shared<const Function>(trace({f32({})}, [](const Arrays& x) {
    return control::make_case(
        lax::lt(x[0], lax::exp(x[0])),
        {[](const Arrays& y) { return Arrays{lax::neg(y[0])}; },
         [](const Arrays& y) {
           return Arrays{bind_op1(reshape_op, ReshapeParams{Shape{}}, {lax::abs(y[0])})};
         }},
        {x[0]});
  }));
  expect_scalar(trace({f32({}), f32({})},
                      [&](const Arrays& x) {
                        return control::make_case(
                            lax::lt(x[0], x[1]),
                            {[&](const Arrays& y) {
                               return Arrays{bind_op1(call_op, CallParams{callee}, {y[0]})};
                             },
                             [](const Arrays& y) { return Arrays{lax::sub(y[0], y[1])}; }},
                            {x[0], x[1]});
                      }),
                {{Literal::scalar(3.0F), Literal::scalar(4.0F)},
                 {Literal::scalar(4.0F), Literal::scalar(3.0F)}});
}

}  // namespace
}  // namespace tessera::fusion_testing::scalar_body_test
