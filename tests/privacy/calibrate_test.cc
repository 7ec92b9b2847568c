#include "tessera/privacy/accounting/calibrate.h"

#include "../golden/golden.h"
#include "tessera/base/error.h"
#include "tessera/privacy/accounting/events.h"

namespace tessera::privacy::accounting::calibrate_test {
namespace {

const DpParams kParams{
    .noise_multipliers = 1.0, .num_samples = 10000, .delta = 1e-5, .batch_size = int64_t{100}};
const DpTrainingAccountant kRdp = DpsgdTrainingAccountant{RdpAccountantConfig{}};

TEST(Calibrate, NoiseIsThatOfTheReference) {
  const auto event = [](double sigma) { return dpsgd_event(sigma, 1000, {.sampling_prob = 0.01}); };
  const double pld = calibrate_dp_mechanism(
      PldAccountantConfig{}, event, {.target_epsilon = 3, .target_delta = 1e-5, .tolerance = 1e-8});
  EXPECT_NEAR(pld, 0.8135849036809418, 1e-6);
  const double rdp =
      calibrate_dp_mechanism(RdpAccountantConfig{.orders = default_rdp_orders()}, event,
                             {.target_epsilon = 3, .target_delta = 1e-5, .tolerance = 1e-9});
  EXPECT_NEAR(rdp, 0.8646067090724922, 1e-6);
}

TEST(Calibrate, TrainingsAreJaxPrivacys) {
  const golden::Topic topic("accounting");
  const golden::Json& expected = topic["calibrated"];
  const CalibrateOptions options{.target_epsilon = 3, .accountant = kRdp, .tolerance = 1e-9};
  EXPECT_NEAR(calibrate_noise_multiplier(1000, kParams, options), expected["noise_multiplier"],
              1e-6);
  EXPECT_EQ(calibrate_num_updates(kParams, options), expected["num_updates"]);
  EXPECT_EQ(calibrate_batch_size(1000, kParams, options), expected["batch_size"]);
  DpParams cyclic = kParams;
  cyclic.cycle_length = 7;
  EXPECT_EQ(calibrate_num_updates(cyclic, options), expected["num_updates_cycle_7"]);
}

// Every calibrated value keeps to the target; the next integer, or less noise, does not.
TEST(Calibrate, NothingPassesTheTarget) {
  const CalibrateOptions options{.target_epsilon = 2, .accountant = kRdp};
  DpParams params = kParams;
  params.noise_multipliers = calibrate_noise_multiplier(500, kParams, options);
  EXPECT_LE(kRdp.compute_epsilon(500, params), 2);
  params.noise_multipliers = params.noise_multipliers->changes()[0].second - options.tolerance;
  EXPECT_GT(kRdp.compute_epsilon(500, params), 2);
  const int64_t updates = calibrate_num_updates(kParams, options);
  EXPECT_LE(kRdp.compute_epsilon(updates, kParams), 2);
  EXPECT_GT(kRdp.compute_epsilon(updates + 1, kParams), 2);
}

TEST(Calibrate, BatchesEndAtAllSamples) {
  DpParams params = kParams;
  params.noise_multipliers = 1000.0;
  EXPECT_EQ(calibrate_batch_size(10, params, {.target_epsilon = 5, .accountant = kRdp}), 10000);
}

TEST(Calibrate, IntegersAreFound) {
  const auto updates = [](int64_t t) { return dpsgd_event(3, t, {.sampling_prob = 0.1}); };
  EXPECT_EQ(calibrate_dp_mechanism_discrete(
                PldAccountantConfig{}, updates,
                {.target_epsilon = 2, .target_delta = 1e-6, .lower = 1, .guess = 128}),
            155);  // the value of jax_privacy.experimental.accounting
}

TEST(Calibrate, ImpossibleTargetsAreRefused) {
  const DpTrainingAccountant single = SingleReleaseTrainingAccountant{};
  EXPECT_THROW(calibrate_num_updates(kParams, {.target_epsilon = 1, .accountant = single}),
               UserError);
  EXPECT_THROW(calibrate_batch_size(1, kParams, {.target_epsilon = 1, .accountant = single}),
               UserError);
  EXPECT_THROW(calibrate_noise_multiplier(1, kParams, {.target_epsilon = 1, .accountant = single}),
               UserError);
  EXPECT_THROW(calibrate_noise_multiplier(1, kParams, {.target_epsilon = -1, .accountant = kRdp}),
               UserError);
  EXPECT_THROW(calibrate_noise_multiplier(1, kParams, {.target_epsilon = 1, .tolerance = 0}),
               UserError);
  EXPECT_THROW(calibrate_num_updates(kParams, {.target_epsilon = 1e-9, .accountant = kRdp}),
               UserError);
  EXPECT_THROW(calibrate_batch_size(100000, kParams, {.target_epsilon = 1e-9, .accountant = kRdp}),
               UserError);
  DpParams certain = kParams;
  certain.delta = 0;
  EXPECT_THROW(calibrate_noise_multiplier(1, certain, {.target_epsilon = 1, .accountant = kRdp}),
               UserError);
  const auto constant = [](double) { return DpEvent(GaussianDpEvent{1}); };
  EXPECT_THROW(calibrate_dp_mechanism(RdpAccountantConfig{}, constant,
                                      {.target_epsilon = 1, .target_delta = 1e-5}),
               UserError);
  EXPECT_THROW(calibrate_dp_mechanism(RdpAccountantConfig{}, constant,
                                      {.target_epsilon = 1, .target_delta = 1e-5, .lower = 2}),
               UserError);
  EXPECT_THROW(calibrate_dp_mechanism(RdpAccountantConfig{}, constant,
                                      {.target_epsilon = 1, .target_delta = 1e-5, .tolerance = 0}),
               UserError);
  DpParams hidden = kParams;
  hidden.noise_multipliers = 1e30;
  EXPECT_THROW(calibrate_num_updates(hidden, {.target_epsilon = 1, .accountant = kRdp}), UserError);
}

}  // namespace
}  // namespace tessera::privacy::accounting::calibrate_test
