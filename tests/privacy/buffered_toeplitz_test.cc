#include "tessera/privacy/matrix_factorization/buffered_toeplitz.h"

#include <limits>

#include "matrix_factorization.h"

namespace tessera::privacy::matrix_factorization::buffered_toeplitz::buffered_toeplitz_test {
namespace {

using tessera::test::expect_error;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const BufferedToeplitz kBlt = BufferedToeplitz::build({.5, .9}, {.2, .3});

BufferedToeplitz approximation_of(const golden::Json& c) {
  RationalApproximation options{.num_buffers = c["num_buffers"]};
  const golden::Json& limits = c["limits"];
  if (limits.contains("max_buf_decay")) options.max_buf_decay = limits["max_buf_decay"];
  if (limits.contains("max_pillutla_score"))
    options.max_pillutla_score = limits["max_pillutla_score"];
  return BufferedToeplitz::from_rational_approx_to_sqrt_x(options);
}

TEST(BufferedToeplitz, AgreesWithJaxPrivacy) {
  for (const golden::Json& c : golden_of("blt")["approximations"]) {
    SCOPED_TRACE(c["num_buffers"].dump());
    const BufferedToeplitz blt = approximation_of(c), inverse = blt.inverse();
    expect_relative(blt.buf_decay, numbers(c["buf_decay"]), 1e-12);
    expect_relative(blt.output_scale, numbers(c["output_scale"]));
    expect_relative(inverse.buf_decay, numbers(c["inverse_buf_decay"]), 1e-12);
    expect_relative(inverse.output_scale, numbers(c["inverse_output_scale"]));
    expect_relative(blt.toeplitz_coefs(10), numbers(c["coefs"]));
    expect_relative(blt.pillutla_score(), c["pillutla_score"]);
    for (const auto& [n, value] : c["sensitivity_squared"].items())
      expect_relative(sensitivity_squared(blt, std::stod(n)), value);
    for (const auto& [n, value] : c["max_error"].items())
      expect_relative(max_error(inverse, std::stoll(n)), value, 1e-8);
    // With a decay of 1 there is no limit.
    if (!c["limit_max_loss"].is_null())
      expect_relative(limit_max_loss(blt), c["limit_max_loss"], 1e-8);
  }
}

TEST(BufferedToeplitz, CoefficientsAreSumsOfGeometricSeries) {
  EXPECT_THAT(kBlt.buf_decay, ElementsAre(.9, .5));
  EXPECT_THAT(kBlt.output_scale, ElementsAre(.3, .2));
  expect_relative(kBlt.toeplitz_coefs(4), {1, .5, .3 * .9 + .2 * .5, .3 * .81 + .2 * .25}, 1e-15);
  EXPECT_EQ(kBlt.materialize(3), toeplitz::materialize_lower_triangular(kBlt.toeplitz_coefs(3)));
  expect_relative(kBlt.toeplitz_coefs(1000)[999], .3 * std::pow(.9, 998), 1e-14);
  EXPECT_THAT(to_string(kBlt), HasSubstr("build({0.9, 0.5}, {0.3, 0.2})"));
  EXPECT_EQ(BufferedToeplitz{}.toeplitz_coefs(3), (toeplitz::Coefs{1, 0, 0}));
}

TEST(BufferedToeplitz, InverseIsThatOfTheMatrix) {
  for (const BufferedToeplitz& blt :
       {kBlt, BufferedToeplitz{}, BufferedToeplitz{{.5}, {0}}, BufferedToeplitz{{.5}, {-.2}},
        BufferedToeplitz{{.9}, {1.5}}, BufferedToeplitz{{.999999, .99}, {.3, .1}}}) {
    const BufferedToeplitz inverse = blt.inverse();
    expect_relative(inverse.toeplitz_coefs(40), toeplitz::inverse_coef(blt.toeplitz_coefs(40)),
                    1e-9);
    expect_relative(inverse.inverse().toeplitz_coefs(40), blt.toeplitz_coefs(40), 1e-9);
  }
  const auto [strategy, noising] = blt_pair_from_theta_pair({.9, .5}, {.7, .2});
  expect_relative(strategy.inverse().buf_decay, noising.buf_decay, 1e-13);
  expect_relative(strategy.inverse().output_scale, noising.output_scale, 1e-12);
}

TEST(GeometricSum, HasAllDigitsForAnyRatio) {
  EXPECT_EQ(geometric_sum(2, 1, 10), 20);
  EXPECT_EQ(geometric_sum(2, .5, kInfinity), 4);
  EXPECT_EQ(geometric_sum(3, .5, 0), 0);
  EXPECT_EQ(geometric_sum(1, 0, 5), 1);
  expect_relative(geometric_sum(1, 2, 10), 1023, 1e-14);
  for (double r : {-.9, -.1, .3, .99, 1 - 1e-9, 1 - 1e-14, 1 + 1e-9}) {
    double sum = 0;
    for (int i = 0; i < 1000; ++i) sum += std::pow(r, i);
    expect_relative(geometric_sum(1, r, 1000), sum, 1e-12);
  }
}

// Compares the closed forms with the definitions, from one iteration to many and with decays up to
// 1.
TEST(ClosedForms, AreSensitivityAndErrorOfTheCoefficients) {
  for (double decay : {.3, .9, .999, 1 - 1e-6, 1 - 1e-12, 1.0})
    for (int64_t n : {1, 2, 3, 50, 2000}) {
      SCOPED_TRACE(::testing::Message() << decay << " " << n);
      const BufferedToeplitz strategy{{decay, .2}, {.1, .05}}, inverse{{decay, .2}, {-.1, -.05}};
      expect_relative(sensitivity_squared(strategy, double(n)),
                      toeplitz::sensitivity_squared(strategy.toeplitz_coefs(n)), 1e-11);
      const double error =
          toeplitz::per_query_error({.noising_coef = inverse.toeplitz_coefs(n)}).back();
      expect_relative(max_error(inverse, n), error, 1e-10);
      EXPECT_EQ(iteration_error(inverse, n - 1), max_error(inverse, n));
    }
}

TEST(ClosedForms, HaveLimits) {
  expect_relative(sensitivity_squared(kBlt, 1e6), sensitivity_squared(kBlt, kInfinity), 1e-12);
  expect_relative(max_error(kBlt.inverse(), 100000000) / 1e8, limit_max_error(kBlt.inverse()),
                  1e-5);
  expect_relative(limit_max_loss(kBlt),
                  limit_max_error(kBlt.inverse()) * sensitivity_squared(kBlt, kInfinity));
  expect_relative(max_loss(kBlt, 30),
                  toeplitz::loss(kBlt.toeplitz_coefs(30), 30, matrix_factorization::max_error),
                  1e-12);
  EXPECT_EQ(max_loss({}, 30), 30);
}

TEST(ClosedForms, AreInfiniteWhereTheyDoNotHold) {
  EXPECT_EQ(sensitivity_squared({{1.1}, {.5}}, 5), kInfinity);
  EXPECT_EQ(max_loss({{.5}, {-.1}}, 5), kInfinity);
  EXPECT_EQ(limit_max_loss({{.5}, {0}}), kInfinity);
  EXPECT_EQ(min_buf_decay_gap({.5}), kInfinity);
  EXPECT_EQ(min_buf_decay_gap({.5, 1, .25}), .25);
}

TEST(BufferedToeplitz, RefusesParametersThatAreNone) {
  expect_error([] { BufferedToeplitz::build({.5}, {}); }, "of one length, got 1 and 0");
  expect_error([] { BufferedToeplitz::build({kInfinity}, {1}); }, "got buf_decay [inf]");
  expect_error([] { kBlt.toeplitz_coefs(0); }, "n of at least 1, got 0");
  expect_error([] { BufferedToeplitz::from_rational_approx_to_sqrt_x({}); },
               "at least one buffer, got 0");
  expect_error([] { sensitivity_squared(kBlt, 0); }, "n of at least 1, got 0");
  expect_error([] { max_error(kBlt, 0); }, "n of at least 1, got 0");
  expect_error([] { iteration_error(kBlt, -1); }, "at least 0, got -1");
}

TEST(BufferedToeplitz, RefusesWhatHasNoRealInverse) {
  expect_error([] { BufferedToeplitz{{.5, .5}, {.1, .1}}.inverse(); }, "at least 1e-09 apart");
  expect_error([] { BufferedToeplitz{{.5, .4}, {3, -3}}.inverse(); }, "real decays");
  expect_error([] { blt_pair_from_theta_pair({.5}, {}); }, "got 1 and 0");
  expect_error([] { blt_pair_from_theta_pair({.5, .5}, {.1, .2}); }, "expected distinct decays");
}

}  // namespace
}  // namespace tessera::privacy::matrix_factorization::buffered_toeplitz::buffered_toeplitz_test
