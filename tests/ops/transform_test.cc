// The transforms that are kept for later calls.
#include "tessera/ops/fourier/transform.h"

#include <gtest/gtest.h>

#include "tests/forks.h"

namespace tessera::ops::fourier::transform_test {
namespace {

std::shared_ptr<const Transform> find(int64_t n, DType real = float32) {
  return find_transform({FftType::kFft, 0, {n}}, real, Shape{n});
}

TEST(Transform, IsPreparedOnce) {
  const auto first = find(24);
  EXPECT_EQ(find(24), first);
  EXPECT_NE(find(25), first);
  EXPECT_NE(find(24, float64), first);
  EXPECT_NE(find_transform({FftType::kIfft, 0, {24}}, float32, Shape{24}), first);
  EXPECT_NE(find_transform({FftType::kFft, 0, {24}}, float32, Shape{24, 2}), first);
  EXPECT_NE(find_transform({FftType::kFft, 1, {24}}, float32, Shape{2, 24}), first);
  EXPECT_EQ(find(24), first);
}

TEST(Transform, TheLatestAreKept) {
  std::weak_ptr<const Transform> first = find(24);
  for (int64_t n = 100; n < 131; ++n) find(n);
  EXPECT_FALSE(first.expired());
  find(131);
  EXPECT_TRUE(first.expired());
}

TEST(Transform, ForksWhileThreadsLookThemUp) {
  test::expect_work_in_children([](int thread) { find(32 + 2 * thread); }, 100);
}

}  // namespace
}  // namespace tessera::ops::fourier::transform_test
