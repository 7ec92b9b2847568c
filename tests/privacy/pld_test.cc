#include "tessera/privacy/accounting/pld.h"

#include <cmath>

#include "../golden/golden.h"
#include "tessera/base/error.h"
#include "tessera/privacy/accounting/gaussian_mechanism.h"
#include "tessera/privacy/accounting/pld_pmf.h"
#include "tessera/privacy/accounting/rdp.h"

namespace tessera::privacy::accounting::pld_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

DpEvent sampled(double q, double sigma) { return PoissonSampledDpEvent{q, GaussianDpEvent{sigma}}; }

NeighboringRelation relation(const golden::Json& name) {
  for (const auto r : {NeighboringRelation::kAddOrRemoveOne, NeighboringRelation::kReplaceOne,
                       NeighboringRelation::kReplaceSpecial})
    if (name == privacy::name(r)) return r;
  return NeighboringRelation::kAddOrRemoveOne;
}

TEST(Pld, EpsilonsAreThoseOfTheReference) {
  EXPECT_NEAR(PldAccountant().compose(sampled(0.01, 1), 1000).get_epsilon(1e-5), 1.8282436455855091,
              1e-8);
  EXPECT_NEAR(PldAccountant().compose(sampled(0.1, 3), 512).get_epsilon(1e-6), 3.769686581455342,
              1e-8);
  EXPECT_NEAR(PldAccountant().compose(sampled(256 / 60000., 1.1), 14062).get_epsilon(1e-5),
              2.381686002234784, 2e-8);
  const TruncatedSubsampledGaussianDpEvent truncated{10000, 0.01, 150, 1};
  EXPECT_NEAR(PldAccountant().compose(truncated, 1000).get_epsilon(1e-5), 1.830465655671319, 1e-8);
}

// dp_accounting's FFT has errors of about 1e-15 in delta, and epsilons agree within what that
// changes. For Gaussians on all the data Tessera's epsilon is exact, and dp_accounting's is above
// it.
TEST(Pld, EpsilonsAreDpAccountings) {
  const golden::Topic topic("accounting");
  for (const golden::Json& c : topic["pld_epsilon"]) {
    SCOPED_TRACE(c.dump());
    const double expected = c["epsilon"], delta = c["delta"];
    const double tolerance = c["q"] == 1 ? 2e-5 : 1e-6;
    PldAccountant accountant;
    accountant.compose(sampled(c["q"], c["sigma"]), c["steps"]);
    const double epsilon = accountant.get_epsilon(delta);
    EXPECT_NEAR(epsilon, expected, (tolerance + 1e-14 / delta) * expected + 1e-9);
    if (epsilon > 0) {
      EXPECT_NEAR(accountant.get_delta(epsilon), delta, 1e-6 * delta + 1e-14);
    }
  }
}

DpEvent event_of(const std::string& name, const golden::Json& args) {
  if (name == "laplace") return LaplaceDpEvent{args[0]};
  if (name == "sampled_laplace") return PoissonSampledDpEvent{args[0], LaplaceDpEvent{args[1]}};
  if (name == "discrete_laplace") return DiscreteLaplaceDpEvent{args[0], args[1]};
  if (name == "mixture") return MixtureOfGaussiansDpEvent{args[0], args[1], args[2]};
  if (name == "truncated")
    return TruncatedSubsampledGaussianDpEvent{args[0], args[1], args[2], args[3]};
  if (name == "sampled_gaussian") return sampled(args[0], args[1]);
  return GaussianDpEvent{args[0]};
}

TEST(Pld, OtherMechanismsAreDpAccountings) {
  const golden::Topic topic("accounting");
  for (const golden::Json& c : topic["pld"]) {
    SCOPED_TRACE(c.dump());
    PldAccountant accountant(relation(c["relation"]));
    accountant.compose(event_of(c["name"], c["args"]), c["steps"]);
    const double epsilon = c["epsilon"], delta = c["delta_at"];
    // dp_accounting's discrete Laplace rounds every loss up by less than the interval of 1e-4.
    EXPECT_NEAR(accountant.get_epsilon(c["delta"]), epsilon, 1e-6 * epsilon);
    EXPECT_NEAR(accountant.get_delta(c["at"]), delta, 1e-5 * delta);
  }
}

// What dp_accounting cannot show: compares Gaussians on the grid with the exact formula, at deltas
// far below what an FFT of probabilities alone could resolve.
TEST(Pld, TailsKeepTheirRelativeAccuracy) {
  const PrivacyLossDistribution many =
      from_gaussian_mechanism(20, {.sampling_prob = 1}).self_compose(400);
  for (const double delta : {0.1, 1e-3, 1e-6, 1e-12, 1e-18}) {
    const double exact = get_epsilon_gaussian(1, delta),
                 epsilon = many.get_epsilon_for_delta(delta);
    EXPECT_GE(epsilon, exact * (1 - 1e-9)) << delta;
    EXPECT_NEAR(epsilon, exact, 3e-6 * std::max(exact, 1.0)) << delta;
    EXPECT_NEAR(many.get_delta_for_epsilon(epsilon), delta, 1e-8 * delta);
  }
}

// Deltas near the smallest double: Gaussians on the grid, and a Poisson sample whose delta has a
// closed form.
TEST(Pld, SmallestDeltasKeepTheirDigits) {
  const PrivacyLossDistribution many =
      from_gaussian_mechanism(20, {.log_truncation_mass = -700}).self_compose(400);
  for (const double delta : {1e-3, 1e-30, 1e-100, 1e-200, 1e-290}) {
    const double exact = get_epsilon_gaussian(1, delta);
    EXPECT_NEAR(many.get_epsilon_for_delta(delta), exact, 1e-5 * exact) << delta;
    EXPECT_GE(many.get_epsilon_for_delta(delta), exact * (1 - 1e-9)) << delta;
    const double epsilon =
        PldAccountant().compose(sampled(0.01, 1)).get_epsilon(delta);  // one sample
    const double inner = std::log1p(std::expm1(epsilon) / 0.01);
    EXPECT_NEAR(std::log(0.01 * get_delta_gaussian(1, inner)), std::log(delta), 1e-3) << delta;
    EXPECT_NEAR(PldAccountant().compose(sampled(0.01, 1)).get_delta(epsilon), delta, 1e-6 * delta);
  }
}

// For 1,000 samples epsilons are finite, ascend as delta falls, and are not above those of RDP.
TEST(Pld, SmallDeltasOfManySamples) {
  PldAccountant pld;
  RdpAccountant rdp;
  pld.compose(sampled(0.01, 1), 1000), rdp.compose(sampled(0.01, 1), 1000);
  double last = 0;
  for (const double delta : {1e-5, 1e-15, 1e-20, 1e-22, 1e-25, 1e-50, 1e-150, 1e-280}) {
    const double epsilon = pld.get_epsilon(delta);
    EXPECT_GT(epsilon, last) << delta;
    EXPECT_LE(epsilon, rdp.get_epsilon(delta)) << delta;
    EXPECT_NEAR(pld.get_delta(epsilon), delta, 1e-6 * delta) << delta;
    last = epsilon;
  }
}

// No epsilon is infinite by mistake: a delta that depends on losses that were cut off is refused.
TEST(Pld, DeltasBelowWhatWasCutOffAreRefused) {
  EXPECT_THROW(PldAccountant().compose(sampled(0.1, 1), 10).get_epsilon(1e-300), UserError);
  EXPECT_LT(PldAccountant().compose(GaussianDpEvent{1}, 10).get_epsilon(1e-300), kInf);
  EXPECT_EQ(PldAccountant().compose(sampled(0.1, 1), 10).get_delta(kInf), 0);
  const PrivacyLossDistribution one = from_gaussian_mechanism(1);
  EXPECT_THROW(one.get_epsilon_for_delta(1e-25), UserError);
  EXPECT_LT(one.get_epsilon_for_delta(1e-20), kInf);
  EXPECT_EQ(one.get_epsilon_for_delta(0), kInf);
  const PldOptions finer{.log_truncation_mass = -100};
  EXPECT_NEAR(from_gaussian_mechanism(1, finer).get_epsilon_for_delta(1e-25),
              get_epsilon_gaussian(1, 1e-25), 1e-4);
  for (const double mass : {-701.0, -9.0, std::nan("")})
    EXPECT_THROW(from_gaussian_mechanism(1, {.log_truncation_mass = mass}), UserError);
}

TEST(Pld, NeverBelowTheExactDelta) {
  for (const double sigma : {0.3, 1.0, 5.0, 50.0}) {
    const PrivacyLossDistribution pld = from_gaussian_mechanism(sigma);
    for (const double epsilon : {-1.0, 0.0, 0.0123, 0.5, 2.0, 6.0}) {
      const double exact = get_delta_gaussian(sigma, epsilon),
                   delta = pld.get_delta_for_epsilon(epsilon);
      EXPECT_GE(delta, exact * (1 - 1e-9) - 1e-15) << sigma << " " << epsilon;
      EXPECT_NEAR(delta, exact, 1e-6 * exact + 1e-8) << sigma << " " << epsilon;
    }
  }
}

// The grids interpolate between a few points with polynomials: their steps must not be visible.
TEST(Pld, GridsAreThoseOfEveryPoint) {
  const std::vector<internal::PrivacyLoss> losses{
      internal::gaussian_loss(1.3), internal::subsampled(internal::gaussian_loss(0.7), 0.02),
      internal::subsampled(internal::gaussian_loss(8), 0.5),
      internal::replaced_gaussian_loss(1, 0.05),
      internal::gaussian_mixture_loss(2, {{0, 0.5}, {1, 0.3}, {3, 0.2}})};
  for (const internal::PrivacyLoss& loss : losses) {
    internal::PrivacyLoss single = loss;
    single.smooth = false;
    const auto fast = internal::connect_the_dots(loss, 1e-4);
    const auto slow = internal::connect_the_dots(single, 1e-4);
    ASSERT_EQ(fast.remove->probs.size(), slow.remove->probs.size());
    for (const auto side : {&internal::BothDirections::remove, &internal::BothDirections::add}) {
      const auto &a = (fast.*side)->probs, &b = (slow.*side)->probs;
      const double largest = *std::max_element(b.begin(), b.end());
      double above_fast = 0, above_slow = 0;
      for (size_t i = a.size(); i-- > 0;) {
        above_fast += a[i], above_slow += b[i];
        ASSERT_NEAR(a[i], b[i], 3e-7 * largest) << i;  // both have rounded differences
        ASSERT_NEAR(above_fast, above_slow, 1e-9 * above_slow + 1e-30) << i;
      }
    }
  }
}

TEST(Pld, CopiesOfAnAccountantShareGrids) {
  const PldAccountant nothing;
  for (const int64_t steps : {1, 10, 1000}) {
    PldAccountant copy = nothing;
    EXPECT_EQ(copy.compose(sampled(0.01, 1), steps).get_epsilon(1e-5),
              PldAccountant().compose(sampled(0.01, 1), steps).get_epsilon(1e-5));
  }
  EXPECT_EQ(nothing.get_epsilon(0), 0);
  for (int i = 0; i < 20; ++i) {  // more than are cached
    PldAccountant copy = nothing;
    const DpEvent event = sampled(0.1, 3 + 0.1 * i);
    EXPECT_EQ(copy.compose(event, 10).get_epsilon(1e-5),
              PldAccountant().compose(event, 10).get_epsilon(1e-5));
  }
}

// A smaller interval gives a smaller bound, which is still above.
TEST(Pld, IntervalsBoundFromAbove) {
  double last = 0;
  for (const double interval : {1e-4, 1e-3, 1e-2, 0.1}) {
    const double epsilon = PldAccountant(NeighboringRelation::kAddOrRemoveOne, interval)
                               .compose(sampled(0.1, 1), 100)
                               .get_epsilon(1e-6);
    EXPECT_GE(epsilon, last * (1 - 1e-12)) << interval;
    last = epsilon;
  }
}

// A few losses with an atom at their maximum, at large and tiny deltas: a tilt cannot compose them.
TEST(Pld, AtomsComposeWithFewOthers) {
  PldAccountant large;
  large.compose(sampled(9.48868e-4, 2.85617), 5).compose(LaplaceDpEvent{2.85617}, 2);
  EXPECT_LT(large.get_delta(0), 0.17644);
  EXPECT_EQ(large.get_epsilon(0.17644), 0);
  PldAccountant tiny;
  tiny.compose(sampled(4.25317e-4, 1.69571), 4).compose(LaplaceDpEvent{1.69571}, 2);
  EXPECT_NEAR(tiny.get_epsilon(1.9997e-14), 1.19734429, 1e-7);  // computed by direct convolution
}

TEST(Pld, DistributionsCompose) {
  const PrivacyLossDistribution a = from_gaussian_mechanism(1, {.sampling_prob = 0.01});
  const PrivacyLossDistribution b = from_laplace_mechanism(10);
  const double together = a.self_compose(100).compose(b).get_epsilon_for_delta(1e-5);
  PldAccountant accountant;
  accountant.compose(sampled(0.01, 1), 60)
      .compose(LaplaceDpEvent{10})
      .compose(sampled(0.01, 1), 40);
  EXPECT_NEAR(accountant.get_epsilon(1e-5), together, 1e-9);
  EXPECT_EQ(PrivacyLossDistribution().get_epsilon_for_delta(0), 0);
  EXPECT_EQ(a.self_compose(0).get_delta_for_epsilon(0), 0);
  EXPECT_NEAR(a.compose({}).get_epsilon_for_delta(1e-5), a.get_epsilon_for_delta(1e-5), 1e-12);
  EXPECT_DOUBLE_EQ(PrivacyLossDistribution().get_delta_for_epsilon(-1), 1 - std::exp(-1));
}

// The mechanism has pure epsilon-DP: the bound holds at delta = 0, and a composition is not above
// the sum.
TEST(Pld, LaplaceIsPure) {
  const PrivacyLossDistribution one = from_laplace_mechanism(2);
  EXPECT_NEAR(one.get_epsilon_for_delta(0), 0.5, 1e-4);
  EXPECT_EQ(one.get_delta_for_epsilon(0.51), 0);
  EXPECT_NEAR(one.self_compose(10).get_epsilon_for_delta(0), 5, 1e-2);
  EXPECT_NEAR(from_discrete_laplace_mechanism(0.5, 3).get_epsilon_for_delta(1e-12), 1.5, 1e-6);
}

TEST(Pld, Extremes) {
  PldAccountant none;
  none.compose(sampled(0, 1), 1000).compose(GaussianDpEvent{kInf}).compose(sampled(0.5, kInf));
  none.compose(TruncatedSubsampledGaussianDpEvent{10, 0.5, 0, 1})
      .compose(DiscreteLaplaceDpEvent{1, 0});
  none.compose(MixtureOfGaussiansDpEvent{1, {0, 1}, {1, 0}}).compose(NonPrivateDpEvent{}, 0);
  EXPECT_EQ(none.get_epsilon(0), 0);
  EXPECT_EQ(none.get_delta(0), 0);
  const std::vector<DpEvent> open{GaussianDpEvent{0},  sampled(0.5, 0),
                                  LaplaceDpEvent{0},   sampled(0.1, 1e-200),
                                  NonPrivateDpEvent{}, DiscreteLaplaceDpEvent{0, 1}};
  for (const DpEvent& event : open) {
    EXPECT_EQ(PldAccountant().compose(event).get_epsilon(0.5), kInf) << to_string(event);
    EXPECT_EQ(PldAccountant().compose(event).get_delta(100), 1) << to_string(event);
  }
  EXPECT_EQ(PldAccountant().compose(sampled(0.1, 1)).get_epsilon(1), 0);
  EXPECT_EQ(PldAccountant().compose(sampled(0.1, 1), 10).get_epsilon(0), kInf);
}

// A grid of 1e-4 would have billions of points here: the accountant coarsens it.
TEST(Pld, LargeLossesCoarsenTheGrid) {
  const double tiny = PldAccountant().compose(sampled(0.999999, 0.01)).get_epsilon(1e-5);
  EXPECT_NEAR(tiny, get_epsilon_gaussian(0.01, 1e-5), 1);
  EXPECT_GE(tiny, get_epsilon_gaussian(0.01, 1e-5) - 1e-3);
  const double many = PldAccountant().compose(sampled(0.5, 0.5), 100000).get_epsilon(1e-5);
  EXPECT_GT(many, 1000);
  EXPECT_LE(many, RdpAccountant().compose(sampled(0.5, 0.5), 100000).get_epsilon(1e-5));
  EXPECT_THROW(from_gaussian_mechanism(0.001), UserError);
}

// A truncated sample of all of the data is the Gaussian mechanism.
TEST(Pld, SamplesOfAllAreExact) {
  EXPECT_EQ(PldAccountant().compose(sampled(1, 1)).get_epsilon(1e-5),
            get_epsilon_gaussian(1, 1e-5));
  EXPECT_NEAR(
      PldAccountant().compose(TruncatedSubsampledGaussianDpEvent{10, 1, 10, 1}).get_epsilon(1e-5),
      get_epsilon_gaussian(1, 1e-5), 1e-7);
}

TEST(Pld, WhatIsNotSupportedIsRefused) {
  PldAccountant add, replace(NeighboringRelation::kReplaceOne);
  EXPECT_FALSE(add.supports(ZCDpEvent{1}));
  EXPECT_TRUE(replace.supports(sampled(0.1, 1)));
  EXPECT_THROW(add.compose(ZCDpEvent{1}), UserError);
  EXPECT_THROW(add.compose(PoissonSampledDpEvent{0.1, ZCDpEvent{1}}), UserError);
  EXPECT_THROW(add.compose(SampledWithoutReplacementDpEvent{10, 1, LaplaceDpEvent{1}}), UserError);
  EXPECT_THROW(replace.compose(LaplaceDpEvent{1}), UserError);
  EXPECT_THROW(replace.compose(PoissonSampledDpEvent{0.1, LaplaceDpEvent{1}}), UserError);
  EXPECT_THROW(replace.compose(MixtureOfGaussiansDpEvent{1, {1}, {1}}), UserError);
  EXPECT_EQ(add.get_epsilon(1e-5), 0);
}

TEST(Pld, BadNumbersAreRefused) {
  EXPECT_THROW(PldAccountant(NeighboringRelation::kAddOrRemoveOne, 0), UserError);
  EXPECT_THROW(PldAccountant().compose(GaussianDpEvent{-1}), UserError);
  EXPECT_THROW(PldAccountant().get_epsilon(2), UserError);
  EXPECT_THROW(PldAccountant().get_delta(std::nan("")), UserError);
  EXPECT_THROW(from_gaussian_mechanism(0), UserError);
  EXPECT_THROW(from_gaussian_mechanism(1, {.sampling_prob = 2}), UserError);
  EXPECT_THROW(from_gaussian_mechanism(1).self_compose(-1), UserError);
  EXPECT_THROW(from_gaussian_mechanism(1).self_compose(int64_t{1} << 62).self_compose(4),
               UserError);
  EXPECT_THROW(from_gaussian_mechanism(1).get_epsilon_for_delta(-1), UserError);
  EXPECT_THROW(from_gaussian_mechanism(1).get_delta_for_epsilon(std::nan("")), UserError);
  EXPECT_THROW(from_gaussian_mechanism(1).compose(
                   from_gaussian_mechanism(1, {.value_discretization_interval = 1e-3})),
               UserError);
}

}  // namespace
}  // namespace tessera::privacy::accounting::pld_test
