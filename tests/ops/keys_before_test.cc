// Blocks with one element before the last one that is wanted, at every place, and blocks without.
#include "tessera/ops/structural/keys_before.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace tessera::testing_ops::keys_before_test {

using namespace ops;

namespace {

template <class T>
void check(T last, T before, T after, bool descending) {
  const SortKey key{.descending = descending, .equal_zeros = true, .nans = NanOrder::kLargest};
  const KeyMaker<T> maker(key);
  std::array<T, kKeyBlock> values;
  values.fill(last);
  EXPECT_FALSE(any_key_before(values.data(), maker, maker(last)));
  values.fill(after);
  EXPECT_FALSE(any_key_before(values.data(), maker, maker(last)));
  for (T& value : values) {
    value = before;
    EXPECT_TRUE(any_key_before(values.data(), maker, maker(last)));
    value = last;
  }
}

template <class T>
void check_integers() {
  using Limits = std::numeric_limits<T>;
  check<T>(5, 4, Limits::max(), false);
  check<T>(5, Limits::max(), 4, true);
  check<T>(5, Limits::min(), 6, false);
}

template <class T>
void check_floats() {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  check<T>(5, -inf, nan, false);
  check<T>(-1, -2, 0, false);
  check<T>(-1, nan, -2, true);
  check<T>(nan, inf, -nan, false);  // all NaNs are equal
  check<T>(T(0), -1, T(-0.0), false);
}

}  // namespace

TEST(AnyKeyBefore, FindsOneElementAtAnyPlace) {
  check_integers<int8_t>();
  check_integers<uint16_t>();
  check_integers<int32_t>();
  check_integers<uint32_t>();
  check_integers<int64_t>();
  check_floats<float>();
  check_floats<double>();
}

}  // namespace tessera::testing_ops::keys_before_test
