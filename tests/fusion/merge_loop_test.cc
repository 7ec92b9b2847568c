#include "tessera/fusion/rewrites/merge_loop.h"

#include <cmath>

#include "fusion_testing.h"
#include "tessera/ops/structural/sort.h"

namespace tessera::fusion_testing::merge_loop_test {

using namespace fusion;

namespace {

template <class F>
FunctionRef comparator_of(const std::vector<DType>& dtypes, F body) {
  std::vector<Type> types;
  for (DType dtype : dtypes) types.insert(types.end(), 2, array_type(dtype, {}));
  return std::make_shared<const Function>(
      trace(types, [&](const Arrays& x) { return Arrays{body(x)}; }));
}
FunctionRef less(DType dtype) {
  return comparator_of({dtype}, [](const Arrays& x) { return lax::lt(x[0], x[1]); });
}

// Expects that merging has the results of C++'s stable sort, which evaluates the op, bit for bit.
void expect_sorted(const FunctionRef& comparator, const std::vector<Literal>& x,
                   int64_t dimension) {
  std::vector<Type> types;
  for (const Literal& array : x) types.push_back(array_type(array.dtype(), array.shape()));
  const Function sort = trace(
      types, [&](const Arrays& in) { return lax::sort(std::span(in), dimension, comparator); });
  const Function merged =
      trace(types, [&](const Arrays& in) { return sorted_by_merging(*comparator, in, dimension); });
  EXPECT_EQ(evaluate(merged, x), evaluate(sort, x)) << x[0].shape() << " along " << dimension;
}

Literal numbers(DType dtype, const Shape& shape, int64_t range, uint32_t seed) {
  std::mt19937 engine(seed);
  Literal out(int32, shape);
  for (int64_t i = 0; i < out.elements(); ++i)
    out.mutable_data<int32_t>()[i] = static_cast<int32_t>(engine() % static_cast<uint32_t>(range));
  return convert_literal(out, dtype);
}

// Each number with its place, so that the order of equal ones shows.
std::vector<Literal> with_places(const Literal& x) {
  Literal places(int32, x.shape());
  std::iota(places.mutable_data<int32_t>(), places.mutable_data<int32_t>() + x.elements(), 0);
  return {x, places};
}
FunctionRef less_of_two() {
  return comparator_of({float32, int32}, [](const Arrays& x) { return lax::lt(x[0], x[1]); });
}

TEST(MergeLoop, EveryLengthAndEqualElements) {
  for (int64_t n = 0; n <= 40; ++n)
    for (int64_t range : {3, 1000}) {
      expect_sorted(less_of_two(), with_places(numbers(float32, {n}, range, 5)), 0);
    }
  for (int64_t n : {57, 112, 113, 200, 301})
    expect_sorted(less_of_two(), with_places(numbers(float32, {n}, 20, 6)), 0);
}

// Comparators that are no strict weak order: results depend on which elements are compared.
TEST(MergeLoop, ComparesLikeTheLibraryOfC) {
  const FunctionRef around = comparator_of({int32}, [](const Arrays& x) {
    const Array three(Literal::scalar<int32_t>(3));
    const Array distance = lax::rem(lax::add(lax::sub(x[1], x[0]), three), three);
    return lax::eq(distance, Array(Literal::scalar<int32_t>(1)));
  });
  const FunctionRef not_greater =
      comparator_of({float32, int32}, [](const Arrays& x) { return lax::le(x[0], x[1]); });
  const FunctionRef always =
      comparator_of({int32}, [](const Arrays& x) { return lax::eq(x[0], x[0]); });
  for (int64_t n : {2, 3, 6, 7, 8, 13, 14, 15, 16, 28, 29, 30, 57, 58, 113, 230, 231}) {
    Literal nans = numbers(float32, {n}, 100, 3);
    for (int64_t i = 0; i < n; i += 3) nans.mutable_data<float>()[i] = std::nanf("");
    expect_sorted(less(float32), {nans}, 0);
    expect_sorted(around, {numbers(int32, {n}, 3, 4)}, 0);
    expect_sorted(not_greater, with_places(numbers(float32, {n}, 5, 5)), 0);
    expect_sorted(always, {numbers(int32, {n}, 1000, 6)}, 0);
  }
}

TEST(MergeLoop, LinesOfAnyDimension) {
  for (const Shape& shape : {Shape{5, 9}, Shape{9, 5}, Shape{2, 17, 3}, Shape{1, 20, 1}})
    for (int64_t d = 0; d < shape.rank(); ++d)
      expect_sorted(less_of_two(), with_places(numbers(float32, shape, 6, 9)), d);
}

TEST(MergeLoop, EveryDtype) {
  for (DType dtype :
       {int8, uint8, int16, uint32, int64, uint64, float16, bfloat16, float32, float64, bool_})
    expect_sorted(less(dtype), {numbers(dtype, {50}, 30, 2)}, 0);
  const FunctionRef complex =
      comparator_of({complex64}, [](const Arrays& x) { return lax::ne(x[0], x[1]); });
  expect_sorted(complex, {numbers(complex64, {50}, 30, 2)}, 0);
}

// Trips update the arrays in memory, also arrays of few bytes, and the loops are compiled.
TEST(MergeLoop, SchedulesHaveTheSameResults) {
  for (int64_t n : {2, 9, 40, 41})
    check(trace({f32({n}), f32({2, n})}, [&](const Arrays& x) {
      Arrays out = sorted_by_merging(*less(float32), {x[0]}, 0);
      out.push_back(sorted_by_merging(*less(float32), {x[1]}, 1)[0]);
      return out;
    }));
}

}  // namespace
}  // namespace tessera::fusion_testing::merge_loop_test
