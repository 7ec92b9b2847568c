// Every constraint of sort and top_k, violated.
#include "tessera/ops/structural/sort.h"

#include "tests/ops/host_executor.h"

namespace tessera::testing_ops::sort_test {

using namespace ops;

namespace {

class Sort : public HostTest {
 protected:
  static Array zeros(DType dtype, const Shape& shape) { return Array(Literal(dtype, shape)); }
  static std::vector<Type> infer(const std::vector<Type>& types, const SortParams& p) {
    return sort_op.infer(types, p);
  }
  const Array f3 = zeros(float32, {3}), f = zeros(float32, {});
  const Type vector{.dtype = float32, .shape = {3}}, scalar{.dtype = float32, .shape = {}};
};

TEST_F(Sort, RefusesOperandsThatDoNotFit) {
  EXPECT_USER_ERROR(infer({}, {}), "[sort] expected at least one operand (C1)");
  EXPECT_USER_ERROR(infer({vector, Type{.dtype = float32, .shape = {4}}}, {}),
                    "[sort] expected operands of one shape");
  EXPECT_USER_ERROR(infer({scalar}, {}), "[sort] expected arrays of rank 1 or more, got float32[]");
  EXPECT_USER_ERROR(lax::sort(std::vector<Array>{}), "[sort] expected at least one operand");
  EXPECT_USER_ERROR(lax::sort(std::vector<Array>{f}),
                    "[sort] expected arrays of rank 1 or more, got float32[]");
}

TEST_F(Sort, RefusesParamsThatDoNotFit) {
  EXPECT_USER_ERROR(infer({vector}, {.dimension = 1}),
                    "expected a dimension in [-1, 1) (C4), got 1 for float32[3]");
  EXPECT_USER_ERROR(lax::sort(std::vector<Array>{f3}, 1), "[sort] ");
  EXPECT_USER_ERROR(infer({vector}, {.num_keys = 2}), "expected 1 to 1 keys, got 2");
  EXPECT_USER_ERROR(infer({vector}, {.num_keys = 0}), "expected 1 to 1 keys, got 0");
  const DType dtypes[] = {float32, float32};
  EXPECT_USER_ERROR(infer({vector}, {.comparator = sort_comparator(1, false, false, dtypes)}),
                    "expected a comparator of two scalars an operand to bool (C5), got another");
}

TEST_F(Sort, TopKRefusesWhatIsNotThere) {
  EXPECT_USER_ERROR(lax::top_k(f, 1), "[top_k] expected an array of rank 1 or more, got float32[]");
  EXPECT_USER_ERROR(lax::top_k(f3, 4), "[top_k] expected k in [0, 3], got 4 for float32[3]");
  EXPECT_USER_ERROR(lax::top_k(f3, -1), "[top_k] expected k in [0, 3], got -1 for float32[3]");
  EXPECT_EQ(lax::top_k(f3, 0).first.shape(), Shape({0}));
}

}  // namespace
}  // namespace tessera::testing_ops::sort_test
