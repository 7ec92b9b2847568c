#include "tessera/ops/structural/unroll_sort.h"

#include <cmath>
#include <limits>

#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/sort.h"
#include "unroll_testing.h"

namespace tessera::fusion_testing::unroll_sort_test {
namespace {

// Returns inputs with many equal elements; floats also have both zeros, infinities and NaNs of both
// signs.
std::vector<Literal> inputs_of(const Function& f) {
  std::vector<Literal> inputs = random_inputs(f);
  for (Literal& x : inputs) {
    const DType dtype = x.dtype();
    x = convert_literal(convert_literal(x, is_floating(dtype) ? int8 : dtype), dtype);
    if (dtype != float32 && dtype != float64) continue;
    const auto put = [&](auto* at) {
      using T = std::remove_pointer_t<decltype(at)>;
      constexpr T kNan = std::numeric_limits<T>::quiet_NaN(),
                  kInf = std::numeric_limits<T>::infinity();
      const T special[] = {kNan, T{0}, -T{0}, -kNan, kInf, -kInf, T{1}};
      for (int64_t i = 0; i < x.elements(); ++i)
        if (i % 3 != 1) at[i] = special[(i * i + i / 5) % 7];
    };
    if (dtype == float32) put(x.mutable_data<float>());
    if (dtype == float64) put(x.mutable_data<double>());
  }
  return inputs;
}

template <class F>
void expect_same(const std::vector<Type>& types, F body) {
  const Function f = trace(types, body), unrolled = unroll_windows(f);
  ASSERT_TRUE(has_op(f, "sort"));
  EXPECT_FALSE(has_op(unrolled, "sort"));
  verify(unrolled);
  const std::vector<Literal> inputs = inputs_of(f);
  const auto want = evaluate(f, inputs), got = evaluate(unrolled, inputs);
  ASSERT_EQ(got.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) EXPECT_TRUE(got[k] == want[k]) << "result " << k;
}

auto sorted(int64_t dimension, int64_t num_keys, bool descending) {
  return [=](const Arrays& x) { return lax::sort(x, dimension, num_keys, descending); };
}

TEST(UnrollSort, OneKey) {
  for (DType dtype : {float32, float64, bfloat16, float16, int8, uint8, int32, uint32, int64})
    for (int64_t length : {2, 3, 5, 8})
      for (bool descending : {false, true}) {
        SCOPED_TRACE(::testing::Message() << dtype_name(dtype) << " " << length << descending);
        expect_same({array_type(dtype, {256, length})}, sorted(1, 1, descending));
      }
}

TEST(UnrollSort, OtherDimensions) {
  expect_same({f32({4, 256})}, sorted(0, 1, false));
  expect_same({f32({16, 5, 16})}, sorted(1, 1, true));
  expect_same({f32({16, 16, 6})}, sorted(-1, 1, false));
}

// Operands that are not keys keep the order of equal keys.
TEST(UnrollSort, SeveralOperands) {
  const std::vector<Type> types{f32({300, 4}), array_type(int8, {300, 4}), f32({300, 4})};
  for (int64_t keys : {1, 2})
    for (bool descending : {false, true}) expect_same(types, sorted(1, keys, descending));
  const std::vector<Type> integers{array_type(uint8, {300, 4}), array_type(int32, {300, 4})};
  for (int64_t keys : {1, 2}) expect_same(integers, sorted(1, keys, false));
}

// The order of top_k is that of the bits.
TEST(UnrollSort, TopK) {
  for (DType dtype : {float32, float64, bfloat16, float16, int32, uint8})
    for (int64_t k : {1, 2, 5}) {
      SCOPED_TRACE(::testing::Message() << dtype_name(dtype) << " " << k);
      expect_same({array_type(dtype, {256, 5})}, [=](const Arrays& x) {
        const auto [values, places] = lax::top_k(x[0], k);
        return Arrays{values, places};
      });
    }
}

TEST(UnrollSort, ComparatorsOfAKnownOrder) {
  const std::vector<DType> dtypes{float32, int32};
  const std::vector<Type> types{f32({256, 5}), array_type(int32, {256, 5})};
  for (bool descending : {false, true})
    for (bool total : {false, true}) {
      const FunctionRef comparator = ops::sort_comparator(1, descending, total, dtypes);
      expect_same(types, [&](const Arrays& x) { return lax::sort(x, 1, comparator); });
    }
}

TEST(UnrollSort, SortsThatStayAsTheyAre) {
  const auto kept = [](const std::vector<Type>& types, int64_t keys = 1) {
    expect_kept("sort", types, sorted(1, keys, false));
  };
  kept({f32({255, 4})});                                   // too few lines
  kept({f32({256, 1})});                                   // nothing to sort
  kept({f32({256, 16})});                                  // too long
  kept({array_type(complex64, {256, 3})});                 // keys of two parts
  kept({f32({256, 4}), f32({256, 4}), f32({256, 4})}, 3);  // too many keys
  kept({array_type(bool_, {256, 4})});
}

}  // namespace
}  // namespace tessera::fusion_testing::unroll_sort_test
