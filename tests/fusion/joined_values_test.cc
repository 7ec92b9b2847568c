// Values that become part of the node of their only reader.
#include <algorithm>
#include <functional>

#include "fusion_testing.h"

namespace tessera::fusion_testing::joined_values_test {

using namespace fusion;

namespace {

using Body = std::function<Arrays(const Array&, const Array&)>;

// Returns how often the kernels of the function of two arrays have the operation.
int count(const Body& body, ScalarOp op, DType dtype = float32) {
  const std::vector<Type> types{array_type(dtype, {8}), array_type(dtype, {8})};
  const Function f = trace(types, [&](const Arrays& x) { return body(x[0], x[1]); });
  check(f);
  int64_t found = 0;
  for (const Step& step : fuse(simplified(f), Mesh()).steps)
    if (const auto* kernel = std::get_if<KernelStep>(&step))
      found += std::count_if(kernel->kernel.nodes.begin(), kernel->kernel.nodes.end(),
                             [&](const KernelNode& node) {
                               return node.kind == NodeKind::kScalarOp && node.op == op;
                             });
  return static_cast<int>(found);
}

TEST(JoinedValues, ARootThatOneQuotientReads) {
  const Body once = [](const Array& x, const Array& y) {
    return Arrays{lax::div(x, lax::sqrt(y))};
  };
  for (DType dtype : {float32, float64}) {
    EXPECT_EQ(count(once, ScalarOp::kDivByRoot, dtype), 1);
    EXPECT_EQ(count(once, ScalarOp::kSqrt, dtype), 0);
    EXPECT_EQ(count(once, ScalarOp::kDiv, dtype), 0);
  }
  // The root of a 16-bit float may be rounded before the division.
  EXPECT_EQ(count(once, ScalarOp::kDivByRoot, bfloat16), 0);
}

// The quotient would have other bits than that by the stored root.
TEST(JoinedValues, ARootThatIsAResultOrReadTwiceIsNot) {
  EXPECT_EQ(count(
                [](const Array& x, const Array& y) {
                  const Array root = lax::sqrt(y);
                  return Arrays{lax::div(x, root), root};
                },
                ScalarOp::kDivByRoot),
            0);
  EXPECT_EQ(count(
                [](const Array& x, const Array& y) {
                  const Array root = lax::sqrt(y);
                  return Arrays{lax::mul(lax::div(x, root), root)};
                },
                ScalarOp::kDivByRoot),
            0);
}

}  // namespace
}  // namespace tessera::fusion_testing::joined_values_test
