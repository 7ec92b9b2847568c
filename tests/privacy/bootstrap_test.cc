#include "tessera/privacy/auditing/bootstrap.h"

#include "../golden/golden.h"

namespace tessera::privacy::auditing::internal::bootstrap_test {
namespace {

TEST(Bootstrap, QuantilesAreThoseOfTheReference) {
  const golden::Topic topic("auditing");
  for (const golden::Json& c : topic["bootstrap"]) {
    const auto values = c["values"].get<std::vector<double>>();
    const auto asked = c["quantiles"].get<std::vector<double>>();
    const double estimate = c["estimate"];
    const double skew = acceleration(c["jackknife"].get<std::vector<double>>());
    const std::vector<double> corrected = corrected_quantiles(values, estimate, 0, asked);
    const std::vector<double> accelerated = corrected_quantiles(values, estimate, skew, asked);
    for (size_t i = 0; i < asked.size(); ++i) {
      EXPECT_NEAR(quantile(values, asked[i]), c["plain"][i], 1e-12);
      EXPECT_NEAR(quantile(values, corrected[i]), c["corrected"][i], 1e-12);
      EXPECT_NEAR(quantile(values, accelerated[i]), c["accelerated"][i], 1e-12);
    }
  }
}

TEST(Bootstrap, QuantilesOfOneValueAndOfInfinities) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(quantile(std::vector<double>{3}, 0.7), 3);
  EXPECT_EQ(quantile(std::vector<double>{1, infinity, infinity}, 0.9), infinity);
  EXPECT_EQ(acceleration(std::vector<double>{2, 2, 2}), 0);
  EXPECT_EQ(acceleration({}), 0);
}

}  // namespace
}  // namespace tessera::privacy::auditing::internal::bootstrap_test
