#include "tessera/privacy/matrix_factorization/reduction.h"

#include "matrix_factorization.h"

namespace tessera::privacy::matrix_factorization::reduction_test {
namespace {

using ::testing::ElementsAre;

TEST(Reduction, MeanMaxAndLastHaveGradients) {
  const std::vector<double> errors = {1, 5, 5, 1};
  EXPECT_EQ(mean_error(errors).value, 3);
  EXPECT_THAT(mean_error(errors).gradient, ElementsAre(.25, .25, .25, .25));
  EXPECT_EQ(max_error(errors).value, 5);
  EXPECT_THAT(max_error(errors).gradient, ElementsAre(0, 0, 1, 0));
  EXPECT_EQ(last_error(errors).value, 1);
  EXPECT_THAT(last_error(errors).gradient, ElementsAre(0, 0, 0, 1));
}

TEST(Reduction, ANanIsTheLargestError) {
  EXPECT_TRUE(std::isnan(max_error({1, std::nan(""), 2}).value));
}

TEST(Reduction, RefusesFunctionsThatAreNone) {
  using tessera::test::expect_error;
  expect_error([] { reduce({}, {1}); }, "expected a function, got none");
  const Reduction no_gradient = [](const std::vector<double>& errors) {
    return Reduced{errors[0], {}};
  };
  expect_error([&] { reduce(no_gradient, {1, 2}); }, "of the errors' length 2, got 0");
}

TEST(Reduction, RefusesNoErrors) {
  for (const auto& reduce : {mean_error, max_error, last_error})
    tessera::test::expect_error([&] { reduce({}); }, "at least one query, got none");
}

}  // namespace
}  // namespace tessera::privacy::matrix_factorization::reduction_test
