#include "tessera/privacy/matrix_factorization/buffered_toeplitz_loss.h"

#include "matrix_factorization.h"

namespace tessera::privacy::matrix_factorization::buffered_toeplitz::buffered_toeplitz_loss_test {
namespace {

const LossFn kClosedForm = LossFn::build_closed_form_single_participation(40);
const LossFn kMinSep = LossFn::build_min_sep({.n = 40, .participation = {7, 3}});
const LossFn kMean = LossFn::build_min_sep({.n = 40, .error = Error::kMean});

std::vector<double> values_of(const Penalties& p) {
  return {p.buf_decay_above_0,
          p.buf_decay_below_1,
          p.output_scale_above_0,
          p.inv_buf_decay_above_0,
          p.inv_buf_decay_below_1,
          p.inv_output_scale_below_0,
          p.theta_gap,
          p.second_coef,
          p.pillutla_score};
}

TEST(PenalizedLoss, AgreesWithJaxPrivacy) {
  for (const golden::Json& c : golden_of("blt")["approximations"]) {
    SCOPED_TRACE(c["num_buffers"].dump());
    const BufferedToeplitz blt{numbers(c["buf_decay"]), numbers(c["output_scale"])};
    const BufferedToeplitz inverse{numbers(c["inverse_buf_decay"]),
                                   numbers(c["inverse_output_scale"])};
    expect_relative(kMinSep.loss(blt), c["minsep_loss"], 1e-9);
    std::vector<double> actual = values_of(kClosedForm.compute_penalties(blt, inverse));
    // If there is one buffer, jax_privacy has no entry for the gap.
    if (c["penalties"].size() < actual.size()) actual.erase(actual.begin() + 6);
    ASSERT_EQ(actual.size(), c["penalties"].size());
    for (size_t i = 0; i < actual.size(); ++i) {
      if (c["penalties"][i].is_null())
        EXPECT_FALSE(std::isfinite(actual[i]));
      else
        EXPECT_NEAR(actual[i], c["penalties"][i].get<double>(), 1e-6);
    }
    if (c["penalized_loss"].is_null()) continue;
    expect_relative(kMinSep.penalized_loss(blt, inverse), c["penalized_loss"], 1e-9);
    expect_relative(kClosedForm.penalized_loss(blt, inverse), c["penalized_closed_form"], 1e-9);
  }
}

TEST(PenalizedLoss, HasTheGradientsOfDifferences) {
  const BufferedToeplitz blt{{.95, .5, .2}, {.1, .2, .05}};
  for (LossFn loss_fn : {kClosedForm, kMinSep, kMean})
    for (Parameterization p : {Parameterization::kBufDecayPair, Parameterization::kStrategyBlt})
      for (bool off : {false, true}) {
        loss_fn.penalty_strength = .1;  // so that barriers count
        loss_fn.penalty_multipliers = {1, 2, 3, 4, 5, 6, 7, 8, 9};
        if (off) loss_fn.penalty_multipliers = {0, 0, 0, 0, 0, 0, 0, 0, 0};
        const auto value = [&](const std::vector<double>& params) {
          const auto [moved, inverse] = blt_and_inverse_from_params(p, params);
          return loss_fn.penalized_loss(moved, inverse);
        };
        const std::vector<double> params = params_from_blt(p, blt);
        const auto [same, inverse] = blt_and_inverse_from_params(p, params);
        expect_relative(same.output_scale, blt.output_scale, 1e-12);
        const PenalizedLoss loss = penalized_loss_with_gradient(loss_fn, same, inverse, true);
        expect_relative(pull_back_pair(p, same, inverse, loss), differences(value, params), 1e-6);
      }
}

TEST(PenalizedLoss, IsNoNumberBeyondABarrierUnlessItIsOff) {
  const BufferedToeplitz blt{{.5}, {.6}}, inverse = blt.inverse();  // Pillutla score 1.2
  EXPECT_FALSE(std::isfinite(kClosedForm.penalized_loss(blt, inverse)));
  LossFn without = kClosedForm;
  without.penalty_multipliers.pillutla_score = 0;
  without.penalty_multipliers.inv_buf_decay_above_0 = 0;
  EXPECT_TRUE(std::isfinite(without.penalized_loss(blt, inverse)));
}

TEST(PenalizedLoss, IsRelativeToARoughOptimumByDefault) {
  const BufferedToeplitz blt{{.9}, {.3}}, inverse = blt.inverse();
  LossFn plain = kMinSep;
  plain.penalty_strength = 0;
  const double root = 1 + std::log(40) / M_PI;
  expect_relative(plain.penalized_loss(blt, inverse, false), plain.loss(blt));
  expect_relative(plain.penalized_loss(blt, inverse), plain.loss(blt) / (3 + root * root));
}

}  // namespace
}  // namespace tessera::privacy::matrix_factorization::buffered_toeplitz::buffered_toeplitz_loss_test
