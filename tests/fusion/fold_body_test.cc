#include "tessera/ops/reductions/fold_body.h"

#include "fusion_testing.h"

namespace tessera::fusion_testing::fold_body_test {

using namespace ops;

namespace {

template <class F>
Function body_of(size_t results, F body) {
  return trace(std::vector<Type>(2 * results, f32({})), body);
}

TEST(FoldBody, WhichBodiesAreCommutative) {
  EXPECT_TRUE(is_commutative(body_of(1, [](const Arrays& x) {
    const Array squares = lax::add(lax::mul(x[0], x[0]), lax::mul(x[1], x[1]));
    return Arrays{lax::sqrt(lax::min(squares, lax::max(x[1], x[0])))};
  })));
  EXPECT_TRUE(is_commutative(body_of(2, [](const Arrays& x) {
    const Array either = lax::bitwise_or(lax::lt(x[0], x[2]), lax::lt(x[2], x[0]));
    const Array both = lax::bitwise_and(lax::ge(x[1], x[3]), lax::le(x[1], x[3]));
    return Arrays{lax::select(either, lax::add(x[0], x[2]), lax::mul(x[2], x[0])),
                  lax::select(both, lax::mul(x[1], x[3]), lax::max(x[1], x[3]))};
  })));
  EXPECT_FALSE(
      is_commutative(body_of(1, [](const Arrays& x) { return Arrays{lax::sub(x[0], x[1])}; })));
  EXPECT_FALSE(is_commutative(body_of(
      1, [](const Arrays& x) { return Arrays{lax::select(lax::ge(x[0], x[1]), x[0], x[1])}; })));
  EXPECT_FALSE(is_commutative(body_of(1, [](const Arrays& x) { return Arrays{x[0]}; })));
  EXPECT_FALSE(is_commutative(body_of(2, [](const Arrays& x) {
    return Arrays{lax::mul(x[0], x[2]), lax::add(lax::mul(x[1], x[2]), x[3])};
  })));
}

std::vector<float> run(const FunctionRef& body, float acc, bool any, float x, bool inside) {
  const std::vector<Literal> args{Literal::scalar(acc), Literal::scalar(any), Literal::scalar(x),
                                  Literal::scalar(inside)};
  const std::vector<Literal> out = evaluate(*body, args);
  return {out[0].data<float>()[0], out[1].data<bool>()[0] ? 1.0F : 0.0F};
}

TEST(FoldBody, ElementsOutsideAreLeftOut) {
  const Function difference =
      body_of(1, [](const Arrays& x) { return Arrays{lax::sub(x[0], x[1])}; });
  const FunctionRef inside = if_inside(difference), first = from_first_inside(difference);
  EXPECT_EQ(run(inside, 5, false, 2, true), (std::vector<float>{3, 1}));
  EXPECT_EQ(run(inside, 5, true, 2, false), (std::vector<float>{5, 1}));
  EXPECT_EQ(run(inside, 5, false, 2, false), (std::vector<float>{5, 0}));
  EXPECT_EQ(run(first, 5, false, 2, true), (std::vector<float>{2, 1}));
  EXPECT_EQ(run(first, 5, true, 2, true), (std::vector<float>{3, 1}));
  EXPECT_EQ(run(first, 5, true, 2, false), (std::vector<float>{5, 1}));
  EXPECT_EQ(run(first, 5, false, 2, false)[1], 0);
}

}  // namespace
}  // namespace tessera::fusion_testing::fold_body_test
