#include "tessera/privacy/accounting/event_loss.h"

#include <cmath>

#include "tessera/base/error.h"
#include "tessera/privacy/accounting/gaussian_mechanism.h"
#include "tessera/privacy/accounting/pld.h"
#include "tessera/privacy/accounting/rdp.h"
#include "tessera/privacy/accounting/special_functions.h"

namespace tessera::privacy::accounting::event_loss_test {
namespace {

constexpr NeighboringRelation kAll[] = {NeighboringRelation::kAddOrRemoveOne,
                                        NeighboringRelation::kReplaceOne,
                                        NeighboringRelation::kReplaceSpecial};
constexpr NeighboringRelation kReplacing[] = {NeighboringRelation::kReplaceOne,
                                              NeighboringRelation::kReplaceSpecial};

DpEvent subset(int64_t of, int64_t size, double sigma) {
  return SampledWithoutReplacementDpEvent{of, size, GaussianDpEvent{sigma}};
}

// An attack: with probability q the batch has the replaced example, which moves a sum of zeros by 1
// or by -1. Its losses are those of q N(1, s^2) + (1 - q) N(0, s^2) against q N(-1, s^2) + (1 - q)
// N(0, s^2).
struct Attack {
  double q, sigma;

  double mass_below(double x, double moved) const {
    return q * internal::normal_cdf((x - moved) / sigma) +
           (1 - q) * internal::normal_cdf(x / sigma);
  }
  double log_density(double x, double moved) const {
    const double at = x * x, near = (x - moved) * (x - moved);
    return internal::log_add(std::log(q) - near / (2 * sigma * sigma),
                             std::log1p(-q) - at / (2 * sigma * sigma));
  }
  double loss(double x) const { return log_density(x, 1) - log_density(x, -1); }

  // Returns the outcome with this loss, which increases with x.
  double outcome(double of_loss) const {
    return internal::find_root([&](double x) { return loss(x) - of_loss; }, -1e3, 1e3, 1e-13);
  }
  // Returns P(x > outcome) - exp(epsilon) Q(x > outcome).
  double delta(double epsilon) const {
    const double x = outcome(epsilon);
    return 1 - mass_below(x, 1) - std::exp(epsilon) * (1 - mass_below(x, -1));
  }
};

// Returns a lower bound of the delta of `count` attacks: losses are rounded down to a grid and
// convolved one by one.
double delta_from_below(const Attack& attack, int count, double epsilon) {
  constexpr double kInterval = 0.005;
  constexpr int64_t kEnd = 1600;  // losses up to 8
  std::vector<double> one(2 * kEnd);
  double below = 0;
  for (int64_t i = 0; i < 2 * kEnd; ++i) {
    const bool last = i + 1 == 2 * kEnd;
    const double next =
        last ? 1
             : attack.mass_below(attack.outcome(static_cast<double>(i + 1 - kEnd) * kInterval), 1);
    one[static_cast<size_t>(i)] = next - below;
    below = next;
  }
  std::vector<double> sum{1};
  for (int step = 0; step < count; ++step) {
    std::vector<double> next(sum.size() + one.size() - 1);
    for (size_t i = 0; i < sum.size(); ++i)
      for (size_t j = 0; j < one.size(); ++j) next[i + j] += sum[i] * one[j];
    sum = std::move(next);
  }
  double delta = 0;
  for (size_t i = 0; i < sum.size(); ++i) {
    const double loss = static_cast<double>(static_cast<int64_t>(i) - count * kEnd) * kInterval;
    if (loss > epsilon) delta -= sum[i] * std::expm1(epsilon - loss);
  }
  return delta;
}

// Lebeda, Regehr, Kamath and Steinke (2024): a Poisson sample of doubled norm, with each direction
// composed by itself, has a smaller delta than the attack attains.
TEST(EventLoss, ComposedSubsetsAreNotBelowAnAttack) {
  const double attained = delta_from_below({.q = 0.9, .sigma = 2}, 5, 0.01);
  EXPECT_NEAR(attained, 0.6787, 5e-3);
  const double poisson =
      PldAccountant().compose(PoissonSampledDpEvent{0.9, GaussianDpEvent{1}}, 5).get_delta(0.01);
  EXPECT_LT(poisson, 0.6787);  // so the attack can tell the accountants apart
  for (const NeighboringRelation relation : kAll) {
    const double delta = PldAccountant(relation).compose(subset(1000, 900, 2), 5).get_delta(0.01);
    EXPECT_GE(delta, 0.6787);
    EXPECT_GE(delta, attained);
    EXPECT_LE(delta, get_delta_gaussian(1 / std::sqrt(5.0), 0.01));  // the delta without sampling
  }
}

TEST(EventLoss, ComposedSubsetsOfOtherSizes) {
  for (const int64_t size : {10, 100, 500, 990})
    for (const double sigma : {1.0, 3.0})
      for (const double epsilon : {0.05, 0.5}) {
        const double attained =
            delta_from_below({.q = static_cast<double>(size) / 1000, .sigma = sigma}, 3, epsilon);
        const double delta = PldAccountant(NeighboringRelation::kReplaceOne)
                                 .compose(subset(1000, size, sigma), 3)
                                 .get_delta(epsilon);
        EXPECT_GE(delta, attained) << size << " " << sigma << " " << epsilon;
      }
}

// Both branches of the profile equal those of Zhu, Dong and Wang (2022, proposition 30), by the
// closed form of the Gaussian mechanism.
TEST(EventLoss, ProfilesOfSubsetsAreTheClosedForm) {
  const double q = 0.2, sigma = 1.5;
  const PldAccountant accountant =
      PldAccountant(NeighboringRelation::kReplaceOne).compose(subset(50, 10, sigma));
  for (const double epsilon : {0.01, 0.3, 1.0, 2.0}) {
    const double above = q * get_delta_gaussian(sigma / 2, std::log1p(std::expm1(epsilon) / q));
    EXPECT_NEAR(accountant.get_delta(epsilon), above, 1e-6 * above + 1e-12) << epsilon;
    const double below = -std::expm1(-epsilon) + std::exp(-epsilon) * above;
    EXPECT_NEAR(accountant.get_delta(-epsilon), below, 1e-6) << epsilon;
    EXPECT_GE(accountant.get_delta(epsilon), above * (1 - 1e-9));
    EXPECT_GE(accountant.get_delta(-epsilon), below * (1 - 1e-9));
    EXPECT_GE(above, (Attack{q, sigma}.delta(epsilon)));
  }
}

// Divergences of the attack, computed as sums over outcomes, are at most those of RDP for sampling
// without replacement.
TEST(EventLoss, DivergencesOfSubsetsAreNotBelowAnAttack) {
  for (const double q : {0.01, 0.2, 0.9})
    for (const double sigma : {1.0, 2.0, 6.0}) {
      const std::vector<double> orders{1.5, 2, 3, 5, 8, 16, 32};
      for (const NeighboringRelation relation : kReplacing) {
        RdpAccountant accountant(relation, orders);
        accountant.compose(subset(1000, std::llround(1000 * q), sigma));
        const Attack attack{q, sigma};
        for (size_t i = 0; i < orders.size(); ++i) {
          double sum = 0;
          constexpr double kStep = 0.01;
          for (double x = -30 * sigma; x <= (30 + orders[i]) * sigma + orders[i];
               x += kStep * sigma)
            sum += kStep / std::sqrt(2 * M_PI) *
                   std::exp(orders[i] * attack.log_density(x, 1) +
                            (1 - orders[i]) * attack.log_density(x, -1));
          EXPECT_GE(accountant.rdp()[i], std::log(sum) / (orders[i] - 1) - 1e-9)
              << q << " " << sigma << " " << orders[i];
        }
      }
    }
}

TEST(EventLoss, SubsetsOfAllAndOfNothing) {
  const PldAccountant replace(NeighboringRelation::kReplaceOne),
      special(NeighboringRelation::kReplaceSpecial);
  EXPECT_DOUBLE_EQ(PldAccountant(replace).compose(subset(10, 10, 2)).get_epsilon(1e-5),
                   get_epsilon_gaussian(1, 1e-5));
  EXPECT_DOUBLE_EQ(PldAccountant(special).compose(subset(10, 10, 2)).get_epsilon(1e-5),
                   get_epsilon_gaussian(2, 1e-5));
  // With an example added, ten of eleven are sampled: the new one replaces another.
  EXPECT_NEAR(PldAccountant().compose(subset(10, 10, 2)).get_epsilon(1e-5),
              get_epsilon_gaussian(1, 1e-5), 1e-6);
  EXPECT_EQ(PldAccountant(replace).compose(subset(10, 0, 2)).get_epsilon(0), 0);
  EXPECT_TRUE(std::isinf(PldAccountant(replace).compose(subset(10, 1, 0)).get_epsilon(0.5)));
  // Several mechanisms on one subset are like one with less noise.
  const DpEvent four =
      SampledWithoutReplacementDpEvent{100, 10, SelfComposedDpEvent{GaussianDpEvent{4}, 4}};
  EXPECT_DOUBLE_EQ(PldAccountant(replace).compose(four).get_epsilon(1e-5),
                   PldAccountant(replace).compose(subset(100, 10, 2)).get_epsilon(1e-5));
}

TEST(EventLoss, SaysWhyALossIsNotKnown) {
  const auto why = [](const DpEvent& event, NeighboringRelation relation) {
    return internal::unknown_loss(event, relation);
  };
  const auto add = NeighboringRelation::kAddOrRemoveOne, replace = NeighboringRelation::kReplaceOne;
  for (const auto relation : kAll) EXPECT_EQ(why(subset(10, 1, 1), relation), "");
  EXPECT_THAT(why(SampledWithoutReplacementDpEvent{10, 1, LaplaceDpEvent{1}}, replace),
              testing::HasSubstr("only Gaussian mechanisms on a sample without replacement"));
  EXPECT_THAT(why(PoissonSampledDpEvent{0.1, ZCDpEvent{1}}, add),
              testing::HasSubstr("only Gaussian or Laplace"));
  EXPECT_THAT(why(PoissonSampledDpEvent{0.1, LaplaceDpEvent{1}}, replace),
              testing::HasSubstr("Laplace noise takes"));
  EXPECT_THAT(why(DiscreteLaplaceDpEvent{1, 1}, replace), testing::HasSubstr("it takes add_or"));
  EXPECT_THAT(why(ZCDpEvent{1}, add), testing::HasSubstr("RdpAccountant may support it"));
  EXPECT_THAT(why(SampledWithReplacementDpEvent{10, 1, GaussianDpEvent{1}}, replace),
              testing::HasSubstr("not known"));
  EXPECT_THROW(PldAccountant().compose(SampledWithoutReplacementDpEvent{10, 1, ZCDpEvent{1}}),
               UserError);
}

}  // namespace
}  // namespace tessera::privacy::accounting::event_loss_test
