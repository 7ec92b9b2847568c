#include "tessera/privacy/accounting/dp_event.h"

#include <cmath>

#include "tessera/base/error.h"

namespace tessera::privacy::accounting::dp_event_test {
namespace {

TEST(DpEvent, EqualsByValueAndPrints) {
  const DpEvent step = PoissonSampledDpEvent{0.01, GaussianDpEvent{1}};
  const DpEvent run = SelfComposedDpEvent{step, 1000};
  EXPECT_EQ(run,
            DpEvent(SelfComposedDpEvent{PoissonSampledDpEvent{0.01, GaussianDpEvent{1}}, 1000}));
  EXPECT_NE(run, DpEvent(SelfComposedDpEvent{step, 1001}));
  EXPECT_EQ(to_string(run), "SelfComposed(PoissonSampled(0.01, Gaussian(1)), 1000)");
  EXPECT_EQ(to_string(ComposedDpEvent{{NoOpDpEvent{}, NonPrivateDpEvent{}, LaplaceDpEvent{2},
                                       DiscreteLaplaceDpEvent{0.5, 3}, ZCDpEvent{1, 0.5}}}),
            "Composed(NoOp(), NonPrivate(), Laplace(2), DiscreteLaplace(0.5, 3), ZC(1, 0.5))");
  EXPECT_EQ(to_string(MixtureOfGaussiansDpEvent{1, {0, 1}, {0.5, 0.5}}),
            "MixtureOfGaussians(1, [0, 1], [0.5, 0.5])");
  EXPECT_EQ(to_string(TruncatedSubsampledGaussianDpEvent{10, 0.5, 6, 2}),
            "TruncatedSubsampledGaussian(10, 0.5, 6, 2)");
  EXPECT_EQ(to_string(SampledWithoutReplacementDpEvent{10, 2, GaussianDpEvent{1}}),
            "SampledWithoutReplacement(10, 2, Gaussian(1))");
  EXPECT_EQ(to_string(SampledWithReplacementDpEvent{10, 2, GaussianDpEvent{1}}),
            "SampledWithReplacement(10, 2, Gaussian(1))");
}

TEST(DpEvent, LeavesAreCounted) {
  const DpEvent inner =
      SelfComposedDpEvent{ComposedDpEvent{{GaussianDpEvent{1}, NoOpDpEvent{}}}, 3};
  int64_t total = 0;
  for_each_leaf(ComposedDpEvent{{inner, GaussianDpEvent{2}}}, 5,
                [&](const DpEvent&, int64_t count) { total += count; });
  EXPECT_EQ(total, 20);
  EXPECT_THROW(for_each_leaf(SelfComposedDpEvent{GaussianDpEvent{1}, int64_t{1} << 62}, 4,
                             [](const DpEvent&, int64_t) {}),
               UserError);
}

TEST(DpEvent, GaussiansTogetherAreOne) {
  EXPECT_DOUBLE_EQ(
      effective_noise_multiplier(ComposedDpEvent{{GaussianDpEvent{3}, GaussianDpEvent{4}}}), 2.4);
  EXPECT_EQ(effective_noise_multiplier(GaussianDpEvent{0}), 0);
  EXPECT_TRUE(std::isnan(effective_noise_multiplier(LaplaceDpEvent{1})));
}

TEST(DpEvent, BadNumbersAreRefused) {
  const double nan = std::nan("");
  const std::vector<DpEvent> bad{
      GaussianDpEvent{-1},
      GaussianDpEvent{nan},
      LaplaceDpEvent{-1},
      DiscreteLaplaceDpEvent{1, -1},
      ZCDpEvent{-1},
      ZCDpEvent{1, nan},
      PoissonSampledDpEvent{1.1, GaussianDpEvent{1}},
      PoissonSampledDpEvent{nan, GaussianDpEvent{1}},
      PoissonSampledDpEvent{0.5, GaussianDpEvent{-1}},
      SampledWithoutReplacementDpEvent{10, 11, GaussianDpEvent{1}},
      SampledWithoutReplacementDpEvent{0, 0, GaussianDpEvent{1}},
      SampledWithReplacementDpEvent{10, -1, GaussianDpEvent{1}},
      TruncatedSubsampledGaussianDpEvent{10, 2, 5, 1},
      TruncatedSubsampledGaussianDpEvent{10, 0.5, -5, 1},
      MixtureOfGaussiansDpEvent{1, {0, 1}, {1}},
      MixtureOfGaussiansDpEvent{1, {0, -1}, {0.5, 0.5}},
      MixtureOfGaussiansDpEvent{1, {0, 1}, {0.5, 0.4}},
      MixtureOfGaussiansDpEvent{1, {0, 1 / 0.0}, {0.5, 0.5}},
      SelfComposedDpEvent{GaussianDpEvent{1}, -1},
      ComposedDpEvent{{GaussianDpEvent{1}, GaussianDpEvent{-1}}},
  };
  for (const DpEvent& event : bad) EXPECT_THROW(validate(event), UserError) << to_string(event);
}

}  // namespace
}  // namespace tessera::privacy::accounting::dp_event_test
