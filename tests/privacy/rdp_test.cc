#include "tessera/privacy/accounting/rdp.h"

#include <cmath>

#include "../golden/golden.h"
#include "tessera/base/error.h"

namespace tessera::privacy::accounting::rdp_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double number(const golden::Json& value) { return value.is_null() ? kInf : value.get<double>(); }

void expect_relative(double actual, double expected, double tolerance) {
  EXPECT_NEAR(actual, expected, tolerance * std::abs(expected));
}

TEST(Rdp, PoissonSampledDivergencesAreThoseOfTheReference) {
  const std::vector<double> orders{2, 1.5, 32};
  const std::vector<double> rdp = rdp_poisson_subsampled_gaussian(0.01, 1, orders);
  expect_relative(rdp[0], 0.00017181342207455162, 1e-9);
  expect_relative(rdp[1], 0.00013236850293993048, 1e-9);
  expect_relative(rdp[2], 11.246275937048072, 1e-9);
}

TEST(Rdp, WithoutReplacementIsThatOfTheReference) {
  const std::vector<double> two{2};
  expect_relative(rdp_sample_without_replacement_gaussian(0.01, 2, two)[0], 0.00011360371352886809,
                  1e-9);
}

// dp_accounting's values near 0 are differences of sums near 1, so they are exact to 1e-15 of the
// sums.
TEST(Rdp, DivergencesAreDpAccountings) {
  const golden::Topic topic("accounting");
  for (const golden::Json& c : topic["rdp"]) {
    const std::vector<double> orders = c["orders"];
    const double q = c["q"], sigma = c["sigma"];
    const auto compare = [&](const std::vector<double>& actual, const golden::Json& expected) {
      for (size_t i = 0; i < orders.size(); ++i) {
        SCOPED_TRACE(testing::Message() << q << " " << sigma << " " << orders[i]);
        const double value = number(expected[i]);
        if (std::isinf(value)) {
          EXPECT_EQ(actual[i], kInf);
        } else {
          EXPECT_NEAR(actual[i], value, 1e-9 * value + 1e-12 / (orders[i] - 1));
        }
      }
    };
    compare(rdp_poisson_subsampled_gaussian(q, sigma, orders), c["poisson"]);
    compare(rdp_sample_without_replacement_gaussian(q, sigma, orders), c["without_replacement"]);
    compare(rdp_laplace(sigma, orders), c["laplace"]);
  }
}

TEST(Rdp, EpsilonsAreDpAccountings) {
  const golden::Topic topic("accounting");
  for (const golden::Json& c : topic["rdp_epsilon"]) {
    SCOPED_TRACE(c.dump());
    RdpAccountant accountant;
    accountant.compose(PoissonSampledDpEvent{c["q"], GaussianDpEvent{c["sigma"]}}, c["steps"]);
    const auto [epsilon, order] = accountant.get_epsilon_and_optimal_order(c["delta"]);
    const double expected = number(c["epsilon"]);
    EXPECT_NEAR(epsilon, expected, 1e-9 * expected + 1e-8 * (c["q"] < 1e-5));
    if (expected > 0) {
      EXPECT_EQ(order, c["order"].get<double>());
      EXPECT_LE(accountant.get_delta(epsilon), c["delta"].get<double>() * (1 + 1e-9));
    }
  }
}

// For a tiny sampling probability the excess of a moment over 1 is far below the rounding error of
// 1.
TEST(Rdp, TinySamplingKeepsItsDivergence) {
  const std::vector<double> orders{2, 3, 1.5};
  const std::vector<double> rdp = rdp_poisson_subsampled_gaussian(1e-12, 1, orders);
  expect_relative(rdp[0], 1e-24 * std::expm1(1), 1e-9);
  expect_relative(rdp[1], 1.5e-24 * std::expm1(1), 1e-9);
  EXPECT_GE(rdp[2], 0.75e-24 * std::expm1(1));
  EXPECT_GT(rdp_poisson_subsampled_gaussian(1e-12, 1, std::vector{1.0})[0], 0);
}

TEST(Rdp, ExtremesAreInfiniteOrZero) {
  const std::vector<double> orders{2};
  EXPECT_EQ(rdp_poisson_subsampled_gaussian(0, 0, orders)[0], 0);
  EXPECT_EQ(rdp_poisson_subsampled_gaussian(0.5, 0, orders)[0], kInf);
  EXPECT_EQ(rdp_poisson_subsampled_gaussian(1, kInf, orders)[0], 0);
  EXPECT_EQ(RdpAccountant().get_epsilon(0), 0);
  EXPECT_EQ(RdpAccountant().compose(GaussianDpEvent{1}).get_epsilon(0), kInf);
  EXPECT_EQ(RdpAccountant().compose(NonPrivateDpEvent{}).get_epsilon(0.1), kInf);
  EXPECT_EQ(RdpAccountant().compose(NonPrivateDpEvent{}).get_delta(10), 1);
  EXPECT_EQ(RdpAccountant().compose(NonPrivateDpEvent{}, 0).get_epsilon(0.1), 0);
}

TEST(Rdp, CompositionAddsUp) {
  RdpAccountant a, b;
  a.compose(ComposedDpEvent{{GaussianDpEvent{2}, ZCDpEvent{0.5}, NoOpDpEvent{}}}, 2);
  b.compose(SelfComposedDpEvent{GaussianDpEvent{2}, 2}).compose(ZCDpEvent{1});
  for (size_t i = 0; i < a.rdp().size(); ++i)
    EXPECT_NEAR(a.rdp()[i], b.rdp()[i], 1e-12 * a.rdp()[i]);
}

// Four Gaussians on one sample are one Gaussian with half the noise multiplier.
TEST(Rdp, GaussiansOnOneSampleAreOne) {
  RdpAccountant a, b;
  a.compose(PoissonSampledDpEvent{0.1, SelfComposedDpEvent{GaussianDpEvent{4}, 4}});
  b.compose(PoissonSampledDpEvent{0.1, GaussianDpEvent{2}});
  EXPECT_DOUBLE_EQ(a.get_epsilon(1e-5), b.get_epsilon(1e-5));
}

// Replacing an example moves the sum by twice its norm, with or without sampling.
TEST(Rdp, ReplacingDoublesTheSensitivity) {
  RdpAccountant replaced(NeighboringRelation::kReplaceOne), added;
  replaced.compose(GaussianDpEvent{4});
  added.compose(GaussianDpEvent{2});
  EXPECT_DOUBLE_EQ(replaced.get_epsilon(1e-5), added.get_epsilon(1e-5));

  for (const auto relation :
       {NeighboringRelation::kReplaceOne, NeighboringRelation::kReplaceSpecial}) {
    RdpAccountant sampled(relation, {2});
    sampled.compose(SampledWithoutReplacementDpEvent{100, 1, GaussianDpEvent{4}});
    expect_relative(sampled.rdp()[0], 0.00011360371352886809, 1e-9);
  }
}

TEST(Rdp, WhatIsNotSupportedIsRefused) {
  const DpEvent poisson = PoissonSampledDpEvent{0.1, GaussianDpEvent{1}};
  const DpEvent fixed = SampledWithoutReplacementDpEvent{10, 1, GaussianDpEvent{1}};
  RdpAccountant replace(NeighboringRelation::kReplaceOne), add;
  EXPECT_TRUE(add.supports(poisson));
  EXPECT_FALSE(replace.supports(poisson));
  EXPECT_FALSE(add.supports(fixed));
  EXPECT_THROW(replace.compose(poisson), UserError);
  EXPECT_THROW(replace.compose(LaplaceDpEvent{1}), UserError);
  EXPECT_THROW(add.compose(fixed), UserError);
  EXPECT_THROW(add.compose(PoissonSampledDpEvent{0.1, LaplaceDpEvent{1}}), UserError);
  EXPECT_THROW(replace.compose(SampledWithoutReplacementDpEvent{10, 1, LaplaceDpEvent{1}}),
               UserError);
  EXPECT_THROW(add.compose(MixtureOfGaussiansDpEvent{1, {1}, {1}}), UserError);
  EXPECT_THROW(add.compose(SampledWithReplacementDpEvent{10, 1, GaussianDpEvent{1}}), UserError);
  EXPECT_THROW(add.compose(ComposedDpEvent{{GaussianDpEvent{1}, fixed}}), UserError);
  EXPECT_EQ(add.get_epsilon(1e-5), 0);  // nothing of the refused composition was kept
}

TEST(Rdp, BadNumbersAreRefused) {
  const std::vector<double> orders{2}, low{0.5}, none;
  EXPECT_THROW(rdp_poisson_subsampled_gaussian(1.5, 1, orders), UserError);
  EXPECT_THROW(rdp_poisson_subsampled_gaussian(0.5, -1, orders), UserError);
  EXPECT_THROW(rdp_poisson_subsampled_gaussian(0.5, std::nan(""), orders), UserError);
  EXPECT_THROW(rdp_laplace(1, low), UserError);
  EXPECT_THROW(rdp_to_epsilon(orders, none, 0.1), UserError);
  EXPECT_THROW(rdp_to_epsilon(orders, std::vector{-1.0}, 0.1), UserError);
  EXPECT_THROW(RdpAccountant(NeighboringRelation::kAddOrRemoveOne, {}), UserError);
  EXPECT_THROW(RdpAccountant().get_epsilon(-0.1), UserError);
  EXPECT_THROW(RdpAccountant().get_delta(-1), UserError);
  EXPECT_THROW(RdpAccountant().compose(GaussianDpEvent{1}, -1), UserError);
}

}  // namespace
}  // namespace tessera::privacy::accounting::rdp_test
