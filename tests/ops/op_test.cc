#include "tessera/ops/core/op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/source_scope.h"

namespace tessera::op_test {

using namespace ops;

namespace {

using testing::HasSubstr;

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

TEST(OpHelpers, Errors) {
  const Type a{float32, {2}}, b{int32, {3}};
  expect_error(ErrorKind::kType, "[f] expected 1 operand, got 2", [&] {
    expect_operands("f", std::vector{a, b}, 1);
  });
  expect_error(ErrorKind::kType, "[f] expected operands of one dtype, got float32[2] and int32[3]",
               [&] {
                 expect_same_dtype("f", std::vector{a, b});
               });
  expect_error(ErrorKind::kShape, "[f] expected operands of one shape, got float32[2] and int32[3]",
               [&] {
                 expect_same_shape("f", std::vector{a, b});
               });
  expect_operands("f", std::vector{a, a}, 2);
  expect_same_dtype("f", std::vector{a, a});
  expect_same_shape("f", std::vector{a, a});
}

TEST(OpHelpers, VaryingUnion) {
  Type a{float32, {2}}, b = a;
  a.varying = {"x", "z"};
  b.varying = {"y"};
  EXPECT_EQ(varying_union(std::vector{a, b}), (AxisNames{"x", "y", "z"}));
  EXPECT_EQ(varying_union({}), AxisNames{});
}

// Evaluates (x + 1), a function of scalars, on vectors: the constant is added to every element.
TEST(OpHelpers, EvaluatesScalarFunctionsOnVectors) {
  Function f;
  const std::vector<Type> scalar{{float32, {}}};
  const ValueId x = f.add_input(scalar[0]);
  const ValueId one =
      f.add_op(constant_op, ConstantParams{Literal::scalar(1.0f), {}}, {}, scalar)[0];
  f.outputs = {f.add_op(add_op, add_op.params, {x, one}, scalar)[0], one};
  const std::vector<Literal> single = evaluate_function(f, std::vector{Literal::scalar(2.0f)});
  EXPECT_EQ(single[0], Literal::scalar(3.0f));
  const std::vector<float> values{1, 2, 3}, sums{2, 3, 4}, ones{1, 1, 1};
  const std::vector<Literal> many =
      evaluate_function(f, std::vector{Literal::from<float>(values, {3})});
  EXPECT_EQ(many[0], Literal::from<float>(sums, {3}));
  EXPECT_EQ(many[1], Literal::from<float>(ones, {3}));
}

TEST(SourceScope, Nests) {
  EXPECT_EQ(SourceScope::current(), "");
  {
    const SourceScope outer("mean");
    {
      const SourceScope inner("sum");
      EXPECT_EQ(SourceScope::current(), "mean/sum");
    }
    EXPECT_EQ(SourceScope::current(), "mean");
  }
  EXPECT_EQ(SourceScope::current(), "");
}

}  // namespace
}  // namespace tessera::op_test
