#include "tessera/privacy/matrix_factorization/sensitivity.h"

#include <limits>

#include "matrix_factorization.h"

namespace tessera::privacy::matrix_factorization::sensitivity::sensitivity_test {
namespace {

using tessera::test::expect_error;

struct Sensitivity : ::testing::Test {
  const golden::Json& data = golden_of("sensitivity");
  const Matrix C = matrix_of(data["C"]), B = matrix_of(data["B"]);
};

TEST_F(Sensitivity, AgreesWithJaxPrivacy) {
  expect_relative(single_participation_sensitivity(C), data["single"]);
  const std::vector<double> x = numbers(data["x"]);
  for (const golden::Json& c : data["cases"]) {
    SCOPED_TRACE(c.dump());
    const Participation participation = participation_of(c);
    expect_relative(max_participation_for_linear_fn(x, participation), c["linear"]);
    expect_relative(get_min_sep_sensitivity_upper_bound(C, participation), c["bound"]);
    if (!c["banded"].is_null())
      expect_relative(get_sensitivity_banded(B, participation), c["banded"]);
  }
  for (const golden::Json& c : data["fixed_epoch"])
    expect_relative(fixed_epoch_sensitivity(C, c[0]), c[1]);
  EXPECT_EQ(banded_lower_triangular_mask(5, 2), matrix_of(data["lower_mask"]));
  EXPECT_EQ(banded_symmetric_mask(5, 2), matrix_of(data["symmetric_mask"]));
}

TEST_F(Sensitivity, BandedIsExactAndTheBoundIsOne) {
  for (int64_t min_sep = 1; min_sep <= 13; ++min_sep)
    for (int64_t most : {1, 2, 3}) {
      SCOPED_TRACE(::testing::Message() << min_sep << " " << most);
      const Participation participation{min_sep, most};
      EXPECT_GE(get_min_sep_sensitivity_upper_bound(C, participation) * (1 + 1e-12),
                by_definition(C, participation));
      if (min_sep < 3 || min_sep > B.rows) continue;
      expect_relative(get_sensitivity_banded(B, participation), by_definition(B, participation));
      expect_relative(get_min_sep_sensitivity_upper_bound(B, participation),
                      get_sensitivity_banded(B, participation));
    }
}

TEST_F(Sensitivity, FixedEpochsAreABoundOfTheirParticipations) {
  // An example is in one of three rounds, twice: columns i and i + 6.
  const Matrix X = gram(C);
  double most = 0;
  for (int64_t i = 0; i < 6; ++i)
    most = std::max(most, X(i, i) + X(i + 6, i + 6) + 2 * std::abs(X(i, i + 6)));
  expect_relative(fixed_epoch_sensitivity(C, 2), std::sqrt(most));
}

TEST(MaxParticipations, AreThoseThereIsRoomFor) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(minsep_true_max_participations(10, {.min_sep = 3}), 4);
  EXPECT_EQ(minsep_true_max_participations(9, {.min_sep = 3}), 3);
  EXPECT_EQ(minsep_true_max_participations(10, {.min_sep = 3, .max_participations = 2}), 2);
  EXPECT_EQ(minsep_true_max_participations(10, {.min_sep = kMost}), 1);
  EXPECT_EQ(minsep_true_max_participations(kMost, {.min_sep = 1}), kMost);
  EXPECT_EQ(max_participation_for_linear_fn({1, 2, 3}, {.min_sep = kMost}), 3);
}

TEST(MaxParticipation, AUserMayStayAway) {
  EXPECT_EQ(max_participation_for_linear_fn({-1, -2}), 0);
  EXPECT_EQ(max_participation_for_linear_fn({1, -2, 3}), 4);
}

TEST_F(Sensitivity, RefusesWhatItIsNotDefinedFor) {
  const double nan = std::nan("");
  expect_error([] { minsep_true_max_participations(0, {}); }, "at least one iteration, got 0");
  expect_error([] { minsep_true_max_participations(5, {.min_sep = 0}); },
               "min_sep of at least 1, got 0");
  expect_error([] { minsep_true_max_participations(5, {.max_participations = 0}); },
               "max_participations of at least 1, got 0");
  expect_error([&] { max_participation_for_linear_fn({1, nan}); }, "got a NaN among 2 values");
  expect_error([] { max_participation_for_linear_fn({}); }, "at least one iteration, got 0");
  expect_error([] { banded_lower_triangular_mask(5, 0); }, "at least 1, got 5 and 0");
  expect_error([] { banded_symmetric_mask(0, 1); }, "at least 1, got 0 and 1");
  expect_error([&] { get_sensitivity_banded(C, {.min_sep = 3}); }, "to be orthogonal");
  expect_error([&] { get_sensitivity_banded(B, {.min_sep = 13}); }, "between 1 and n = 12, got 13");
  expect_error([&] { get_sensitivity_banded(B, {.min_sep = 0}); }, "between 1 and n = 12, got 0");
  expect_error([&] { fixed_epoch_sensitivity(C, 5); }, "that divides n = 12, got 5");
  expect_error([&] { fixed_epoch_sensitivity(C, 0); }, "that divides n = 12, got 0");
  expect_error([&] { single_participation_sensitivity({1, 1, {nan}}); }, "finite entries in C");
}

}  // namespace
}  // namespace tessera::privacy::matrix_factorization::sensitivity::sensitivity_test
