// Compares quantiles with values of jax.numpy.
#include "tessera/numpy/quantile.h"

#include <gmock/gmock.h>

#include "run.h"

namespace tessera::quantile_test {
namespace {

using ::testing::ElementsAre;

TEST(Quantile, LinearAndOfAxes) {
  const Array x = array<float>({{3, 1, 2}, {0, 5, 4}});
  EXPECT_EQ(median(x).item<float>(), 2.5f);
  EXPECT_THAT(to_vector<float>(median(x, {.axis = 1})), ElementsAre(2, 4));
  EXPECT_EQ(median(x, {.axis = 1, .keepdims = true}).shape(), (Shape{2, 1}));
  EXPECT_THAT(to_vector<float>(quantile(x, array<float>({0, 0.5, 1}), {.axis = 0})),
              ElementsAre(0, 1, 2, 1.5, 3, 3, 3, 5, 4));
  EXPECT_THAT(to_vector<float>(percentile(x, 25.0f, {.axis = 1})), ElementsAre(1.5, 2));
  EXPECT_TRUE(std::isnan(median(array<float>({1, NAN, 2})).item<float>()));
}

}  // namespace
}  // namespace tessera::quantile_test
