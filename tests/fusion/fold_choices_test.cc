#include "tessera/fusion/kernels/fold_choices.h"

#include <cmath>
#include <complex>

#include "fusion_testing.h"
#include "tessera/ops/core/complex.h"

namespace tessera::fusion_testing::fold_choices_test {

using namespace fusion;

namespace {

// Returns the only kernel of a function of x: f32[8] and p, q: bool[8].
template <class F>
Kernel kernel_of(const F& body, DType dtype = float32) {
  const std::vector<Type> types{array_type(dtype, {8}), array_type(bool_, {8}),
                                array_type(bool_, {8})};
  const Function f = trace(types, [&](const Arrays& x) { return Arrays{body(x[0], x[1], x[2])}; });
  check(f);
  for (const Step& step : fuse(simplified(f), Mesh()).steps)
    if (const auto* kernel = std::get_if<KernelStep>(&step)) return kernel->kernel;
  return {};
}

Array number(double value, DType dtype = float32) {
  return lax::broadcast_in_dim(Array(convert_literal(Literal::scalar(value), dtype)), {8}, {});
}

int count(const Kernel& kernel, ScalarOp op) {
  return static_cast<int>(std::count_if(
      kernel.nodes.begin(), kernel.nodes.end(),
      [&](const KernelNode& node) { return node.kind == NodeKind::kScalarOp && node.op == op; }));
}

TEST(FoldChoices, ArithmeticOfChoicesByOnePredicate) {
  const Kernel k = kernel_of([](const Array& x, const Array& p, const Array&) {
    const Array a = lax::select(p, number(2), number(1)), b = lax::select(p, number(4), number(-8));
    return lax::mul(x, lax::abs(lax::sub(lax::div(lax::mul(a, number(4)), b), number(1))));
  });
  for (ScalarOp op : {ScalarOp::kDiv, ScalarOp::kSub, ScalarOp::kAbs})
    EXPECT_EQ(count(k, op), 0) << scalar_op_name(op);
  EXPECT_EQ(count(k, ScalarOp::kMul), 1);
  EXPECT_EQ(count(k, ScalarOp::kSelect), 1);
}

TEST(FoldChoices, ChoicesByTwoPredicatesStay) {
  const Kernel k = kernel_of([](const Array& x, const Array& p, const Array& q) {
    return lax::mul(
        x, lax::sub(lax::select(p, number(1), number(0)), lax::select(q, number(2), number(1))));
  });
  EXPECT_EQ(count(k, ScalarOp::kSub), 1);
  EXPECT_EQ(count(k, ScalarOp::kSelect), 2);
}

TEST(FoldChoices, ComparisonsThatAlwaysHoldChooseOneSide) {
  const Kernel k = kernel_of([](const Array& x, const Array& p, const Array& q) {
    const Array a = lax::select(p, number(2), number(1));
    const Array always = lax::bitwise_or(q, lax::ge(a, number(1)));
    const Array never = lax::bitwise_and(q, lax::bitwise_not(lax::le(a, number(2))));
    return lax::select(always, lax::select(never, lax::sin(x), x), lax::cos(x));
  });
  EXPECT_EQ(count(k, ScalarOp::kSin) + count(k, ScalarOp::kCos), 0);
  EXPECT_EQ(count(k, ScalarOp::kSelect), 0);
}

// The product is rounded, so the sum has to be one fused multiply-add. NaN has the sign that the
// processor gives it.
TEST(FoldChoices, WhatIsRoundedDifferentlyStays) {
  const Kernel rounded = kernel_of([](const Array& x, const Array& p, const Array&) {
    const Array a = lax::select(p, number(0.1), number(0.3));
    return lax::mul(x, lax::add(lax::mul(a, number(0.7)), number(1)));
  });
  EXPECT_EQ(count(rounded, ScalarOp::kFma), 1);
  const Kernel nan = kernel_of([](const Array& x, const Array& p, const Array&) {
    return lax::mul(x, lax::div(lax::select(p, number(0), number(1)), number(0)));
  });
  EXPECT_EQ(count(nan, ScalarOp::kDiv), 1);
}

// JAX's gradient of a maximum of complex numbers divides 1 or 0 by 2 or 1: one real division is
// left.
TEST(FoldChoices, ComplexDivisionByARealChoice) {
  for (DType dtype : {complex64, complex128}) {
    const Kernel k = kernel_of(
        [&](const Array& x, const Array& p, const Array& q) {
          const auto of = [&](double value) { return number(value, dtype); };
          return lax::mul(x, lax::div(lax::select(p, of(1), of(0)), lax::select(q, of(2), of(1))));
        },
        dtype);
    EXPECT_EQ(count(k, ScalarOp::kDiv), 1);
    EXPECT_EQ(count(k, ScalarOp::kAbs), 0);
  }
}

// A complex number divided by 1 keeps its bits, as in XLA.
TEST(FoldChoices, AComplexNumberDividedByOne) {
  const Function f = trace({array_type(complex64, {8})}, [&](const Arrays& x) {
    return Arrays{lax::div(x[0], number(1, complex64))};
  });
  EXPECT_EQ(simplify(f).outputs[0], simplify(f).inputs[0]);
}

}  // namespace
}  // namespace tessera::fusion_testing::fold_choices_test
