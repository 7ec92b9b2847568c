// Errors for every constraint of sort, first_sorted and top_k; which comparators are called.
#include "tessera/ops/structural/sort.h"

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/compare.h"
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

// A lowered sort calls its comparator only if it is not an order by keys.
TEST_F(Sort, KnownOrdersAreNotInterpreted) {
  const Literal x = Literal::from<float>(std::vector<float>{2, 1, 3, -1}, {4}),
                ascending = Literal::from<float>(std::vector<float>{-1, 1, 2, 3}, {4});
  const DType dtype = float32;
  const auto sorted = [&](FunctionRef comparator) {
    const Type type{.dtype = float32, .shape = {4}};
    const SortParams p{.dimension = 0, .comparator = std::move(comparator)};
    const HostCall call = std::get<Library>(sort_op.lower).call(p, {&type, 1}, {&type, 1});
    Literal out(float32, {4});
    const void* from = x.raw();
    void* to = out.mutable_raw();
    call({&from, 1}, {&to, 1});
    return out;
  };
  const int64_t before = interpreted_comparisons();
  EXPECT_EQ(sorted(nullptr), ascending);
  EXPECT_EQ(sorted(sort_comparator(1, false, false, {&dtype, 1})), ascending);
  EXPECT_EQ(sorted(sort_comparator(1, false, true, {&dtype, 1})), ascending);
  EXPECT_EQ(interpreted_comparisons(), before);
  // a < b, written as -a > -b.
  Function f;
  const ValueId a = f.add_input({float32, {}}), b = f.add_input({float32, {}});
  const Type scalar{.dtype = float32, .shape = {}}, truth{.dtype = bool_, .shape = {}};
  const ValueId minus_a = f.add_op(neg_op, NoParams{}, {a}, {&scalar, 1})[0],
                minus_b = f.add_op(neg_op, NoParams{}, {b}, {&scalar, 1})[0];
  f.outputs = {f.add_op(compare_op, CompareParams{Comparison::kGt, CompareType::kFloat},
                        {minus_a, minus_b}, {&truth, 1})[0]};
  EXPECT_EQ(sorted(std::make_shared<const Function>(f)), ascending);
  EXPECT_GT(interpreted_comparisons(), before);
}

TEST_F(Sort, FirstSortedRefusesParamsThatDoNotFit) {
  const auto infer_first = [&](const FirstSortedParams& p) {
    return first_sorted_op.infer(std::vector{vector}, p);
  };
  EXPECT_USER_ERROR(infer_first({.dimension = 0, .count = 4}),
                    "[first_sorted] expected a dimension >= 0 and a count in [0, 3], got 0 and 4");
  EXPECT_USER_ERROR(infer_first({.dimension = 0, .count = -1}), "got 0 and -1");
  EXPECT_USER_ERROR(infer_first({.dimension = -1, .count = 1}), "got -1 and 1");
  EXPECT_USER_ERROR(infer_first({.dimension = 0, .index = true, .index_dtype = float32}),
                    "[first_sorted] expected places of an integer dtype, got float32");
  EXPECT_USER_ERROR(infer_first({.dimension = 1}), "expected a dimension in [-1, 1) (C4), got 1");
}

TEST_F(Sort, TopKRefusesWhatIsNotThere) {
  EXPECT_USER_ERROR(lax::top_k(f, 1), "[top_k] expected an array of rank 1 or more, got float32[]");
  EXPECT_USER_ERROR(lax::top_k(f3, 4), "[top_k] expected k in [0, 3], got 4 for float32[3]");
  EXPECT_USER_ERROR(lax::top_k(f3, -1), "[top_k] expected k in [0, 3], got -1 for float32[3]");
  EXPECT_EQ(lax::top_k(f3, 0).first.shape(), Shape({0}));
}

}  // namespace
}  // namespace tessera::testing_ops::sort_test
