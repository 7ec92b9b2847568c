#include "tessera/privacy/accounting/delta_table.h"

#include <cmath>

#include "tessera/privacy/accounting/events.h"

namespace tessera::privacy::accounting::internal::delta_table_test {
namespace {

TEST(DeltaTable, IsJustAboveTheDelta) {
  const PldAccountant accountant = PldAccountant().compose(GaussianDpEvent{1});
  DeltaTable table(accountant, 1e-9);
  for (double epsilon = -3; epsilon < 4; epsilon += 0.0137) {
    const double exact = accountant.get_delta(epsilon);
    EXPECT_GE(table.at_least(epsilon), exact * (1 - 1e-9)) << epsilon;
    EXPECT_LE(table.at_least(epsilon), exact * 1.003) << epsilon;
  }
}

TEST(DeltaTable, IsJustAboveTheDeltaOfSamples) {
  const PldAccountant accountant =
      PldAccountant().compose(dpsgd_event(1, 50, {.sampling_prob = 0.1}));
  DeltaTable table(accountant, 1e-9);
  for (const double epsilon : {-1.003, -0.5, 0.017, 0.511, 2.005}) {
    const double exact = accountant.get_delta(epsilon);
    EXPECT_GE(table.at_least(epsilon), exact * (1 - 1e-9)) << epsilon;
    EXPECT_LE(table.at_least(epsilon), exact * 1.003) << epsilon;
  }
}

TEST(DeltaTable, IsABoundBeyondItsEnds) {
  const PldAccountant accountant = PldAccountant().compose(GaussianDpEvent{2});
  DeltaTable table(accountant, 1e-4);
  EXPECT_EQ(table.at_least(-50), 1);
  const double end = accountant.get_epsilon(1e-4);
  EXPECT_NEAR(table.at_least(20 * end), 1e-4, 2e-5);
  EXPECT_EQ(table.get_epsilon(1e-4), end);
}

TEST(DeltaTable, OfNothingIsWhatALossIsAbove) {
  DeltaTable table(PldAccountant(), 1e-6);
  EXPECT_NEAR(table.at_least(-1), 1 - std::exp(-1), 1e-4);
  EXPECT_EQ(table.at_least(0.5), 0);
}

}  // namespace
}  // namespace tessera::privacy::accounting::internal::delta_table_test
