#include "tessera/privacy/accounting/delta_table.h"

#include <cmath>

#include "tessera/privacy/accounting/events.h"

namespace tessera::privacy::accounting::internal {
namespace {

void expect_tight_bound(const PldAccountant& accountant, double tolerance) {
  DeltaTable table(accountant, -3.0, 4.0);
  for (double epsilon = -3; epsilon < 4; epsilon += 0.0137) {
    const double exact = accountant.get_delta(epsilon);
    EXPECT_GE(table.at_least(epsilon), exact * (1 - 1e-9)) << epsilon;
    EXPECT_LE(table.at_least(epsilon), exact * (1 + tolerance)) << epsilon;
  }
}

TEST(DeltaTable, IsJustAboveTheDelta) {
  expect_tight_bound(PldAccountant().compose(GaussianDpEvent{1}), 1e-3);
  expect_tight_bound(PldAccountant().compose(dpsgd_event(1, 50, {.sampling_prob = 0.1})), 1e-3);
}

TEST(DeltaTable, IsABoundBeyondItsEnds) {
  const PldAccountant accountant = PldAccountant().compose(GaussianDpEvent{2});
  DeltaTable table(accountant, 0.0, 1.0);
  EXPECT_EQ(table.at_least(-0.1), 1);
  EXPECT_NEAR(table.at_least(5), accountant.get_delta(1), 1e-9);
  DeltaTable point(accountant, 1.0, 0.0);
  EXPECT_NEAR(point.at_least(1), accountant.get_delta(1), 1e-12);
}

TEST(DeltaTable, OfNothingIsWhatALossIsAbove) {
  DeltaTable table(PldAccountant(), -2.0, 1.0);
  EXPECT_NEAR(table.at_least(-1), 1 - std::exp(-1), 1e-4);
  EXPECT_EQ(table.at_least(0.5), 0);
}

}  // namespace
}  // namespace tessera::privacy::accounting::internal
