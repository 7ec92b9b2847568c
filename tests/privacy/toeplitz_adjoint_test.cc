#include "tessera/privacy/matrix_factorization/toeplitz_adjoint.h"

#include "matrix_factorization.h"

namespace tessera::privacy::matrix_factorization::toeplitz::toeplitz_adjoint_test {
namespace {

const Coefs kCoef = {1.1, .5, .3, .25};

using Piece = std::function<ValueAndGradient(const Coefs&)>;

void expect_gradient(const Piece& piece, const Coefs& at) {
  const auto value = [&](const Coefs& c) { return piece(c).value; };
  expect_relative(piece(at).gradient, differences(value, at), 1e-8);
}

TEST(ToeplitzAdjoint, OfErrors) {
  for (const Reduction& reduction : {Reduction(mean_error), Reduction(last_error)})
    for (int64_t n : {4, 5, 20}) {
      const Piece strategy = [&](const Coefs& c) { return strategy_error(c, n, reduction); };
      const Piece noising = [&](const Coefs& c) { return noising_error(c, n, reduction); };
      expect_relative(strategy(kCoef).value,
                      reduction(per_query_error({.strategy_coef = kCoef, .n = n})).value);
      expect_relative(noising(kCoef).value,
                      reduction(per_query_error({.noising_coef = kCoef, .n = n})).value);
      expect_gradient(strategy, kCoef);
      expect_gradient(noising, kCoef);
    }
}

TEST(ToeplitzAdjoint, OfErrorsOfAWorkload) {
  const Coefs workload = {2, 1.5, -.5, .25, .1};
  for (int64_t n : {4, 5, 20}) {
    const Piece noising = [&](const Coefs& c) { return noising_error(c, n, mean_error, workload); };
    expect_relative(
        noising(kCoef).value,
        mean_error(per_query_error({.noising_coef = kCoef, .n = n, .workload_coef = workload}))
            .value);
    expect_gradient(noising, kCoef);
  }
  const Coefs ones(20, 1.0);
  expect_relative(noising_error(kCoef, 20, mean_error, ones).gradient,
                  noising_error(kCoef, 20, mean_error).gradient);
}

TEST(ToeplitzAdjoint, OfSumsOfColumns) {
  for (int64_t n : {4, 11, 12})
    for (int64_t min_sep : {1, 3, 4, 30})
      for (int64_t participations : {1, 2, 3})
        expect_gradient(
            [&](const Coefs& c) { return spaced_columns(c, n, min_sep, participations); }, kCoef);
}

TEST(ToeplitzAdjoint, OfAnInverse) {
  const auto weighted = [](const Coefs& c) {
    const Coefs inverse = inverse_coef(c);
    double sum = 0;
    for (size_t i = 0; i < inverse.size(); ++i) sum += std::sin(double(i) + 1) * inverse[i];
    return sum;
  };
  Coefs weights(kCoef.size());
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = std::sin(double(i) + 1);
  expect_relative(pull_back_inverse(inverse_coef(kCoef), weights), differences(weighted, kCoef),
                  1e-8);
}

TEST(ToeplitzAdjoint, AScaleIsLeftOut) {
  const auto loss = [](const Coefs& c) {  // (c1 / c0 - 3)^2
    const double off = c[1] / c[0] - 3;
    return ValueAndGradient{off * off, {-2 * off * c[1] / (c[0] * c[0]), 2 * off / c[0]}};
  };
  expect_relative(optimize_up_to_scale(loss, {-2, 5}, 50), {1, 3}, 1e-9);
  EXPECT_EQ(optimize_up_to_scale(loss, {-2}, 50), Coefs{1});
}

}  // namespace
}  // namespace tessera::privacy::matrix_factorization::toeplitz::toeplitz_adjoint_test
