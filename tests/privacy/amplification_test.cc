#include "tessera/privacy/matrix_factorization/amplification.h"

#include "matrix_factorization.h"

namespace tessera::privacy::matrix_factorization::toeplitz::amplification_test {
namespace {

using tessera::test::expect_error;

struct Amplification : ::testing::Test {
  const golden::Json& data = golden_of("amplification");
  const std::vector<double> multipliers = numbers(data["noise_multipliers"]);

  // Returns options with the noise multipliers that dp_accounting's RDP accountant calibrates for
  // the parts of each number of bands.
  AmplificationOptions options() const {
    return {.n = data["n"],
            .dataset_size = data["dataset_size"],
            .expected_batch_size = data["expected_batch_size"],
            .noise_multiplier = [this](double probability, int64_t count) {
              for (size_t i = 0; i < multipliers.size(); ++i) {
                const int64_t bands = data["bands"][i];
                if (std::abs(probability - .1 * double(bands)) > 1e-12) continue;
                EXPECT_EQ(count, (64 + bands - 1) / bands);
                return multipliers[i];
              }
              ADD_FAILURE() << probability;
              return 0.0;
            }};
  }
};

TEST_F(Amplification, AgreesWithJaxPrivacy) {
  const std::vector<AmplifiedStrategy> all = strategies_for_bands(options());
  ASSERT_EQ(all.size(), data["bands"].size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(static_cast<int64_t>(all[i].coefs.size()), data["bands"][i]);
    expect_relative(all[i].loss, data["losses"][i], 1e-9);
  }
  const AmplifiedStrategy best = optimize_coefs_for_amplifications(options());
  EXPECT_EQ(static_cast<int64_t>(best.coefs.size()), data["best"]);
  expect_relative(best.stddev, data["stddev"]);
}

TEST_F(Amplification, TakesCandidatesInTheirOrder) {
  AmplificationOptions two = options();
  two.bands = {5, 2};
  const std::vector<AmplifiedStrategy> all = strategies_for_bands(two);
  EXPECT_EQ(all[0].coefs.size(), 5);
  EXPECT_EQ(all[1].coefs.size(), 2);
}

// 103 examples in 4 parts: the smallest part has 25. In 10 iterations the first part is sampled 3
// times.
TEST_F(Amplification, RoundsToTheSafeSide) {
  AmplificationOptions uneven{.n = 10, .dataset_size = 103, .expected_batch_size = 5, .bands = {4}};
  uneven.noise_multiplier = [](double probability, int64_t count) {
    EXPECT_EQ(probability, 5.0 / 25);
    EXPECT_EQ(count, 3);
    return 1.0;
  };
  strategies_for_bands(uneven);
}

TEST_F(Amplification, RefusesWhatCannotBeSampled) {
  const auto expect_refused = [&](auto change, const char* text) {
    AmplificationOptions changed = options();
    change(changed);
    expect_error([&] { optimize_coefs_for_amplifications(changed); }, text);
  };
  expect_refused([](auto& o) { o.n = 0; }, "n of at least 1, got 0");
  expect_refused([](auto& o) { o.expected_batch_size = 0; }, "dataset_size = 1000, got 0");
  expect_refused([](auto& o) { o.expected_batch_size = 1001; }, "dataset_size = 1000, got 1001");
  expect_refused([](auto& o) { o.noise_multiplier = {}; }, "a noise_multiplier, got none");
  expect_refused([](auto& o) { o.bands = {11}; }, "= 10, got 11");
  expect_refused([](auto& o) { o.bands = {0}; }, "= 10, got 0");
  expect_refused([](auto& o) { o.noise_multiplier = [](double, int64_t) { return std::nan(""); }; },
                 "and 64 participations, got nan");
}

}  // namespace
}  // namespace tessera::privacy::matrix_factorization::toeplitz::amplification_test
