#include "tessera/privacy/matrix_factorization/buffered_toeplitz_adjoint.h"

#include "matrix_factorization.h"

namespace tessera::privacy::matrix_factorization::buffered_toeplitz::
    buffered_toeplitz_adjoint_test {
namespace {

using BltFunction = std::function<BltValue(const BufferedToeplitz&)>;

// Compares the gradient with differences by -log(1 - decay), in which decays near 1 are far apart.
void expect_gradient(const BltFunction& f, const BufferedToeplitz& at) {
  const size_t m = at.buf_decay.size();
  std::vector<double> moved;
  for (double d : at.buf_decay) moved.push_back(-std::log1p(-d));
  moved.insert(moved.end(), at.output_scale.begin(), at.output_scale.end());
  const auto value = [&](const std::vector<double>& x) {
    BufferedToeplitz blt{{x.begin(), x.begin() + int64_t(m)}, {x.begin() + int64_t(m), x.end()}};
    for (double& d : blt.buf_decay) d = -std::expm1(-d);
    return f(blt).value;
  };
  const BltGradient gradient = f(at).gradient;
  std::vector<double> actual;
  for (size_t j = 0; j < m; ++j) actual.push_back(gradient.by_decay[j] * (1 - at.buf_decay[j]));
  actual.insert(actual.end(), gradient.by_scale.begin(), gradient.by_scale.end());
  expect_relative(actual, differences(value, moved, 1e-3), 1e-5);
}

TEST(BltAdjoint, OfSensitivities) {
  for (double decay : {.9, .999, 1 - 1e-7})
    for (double n : {2., 300., 1e5})
      expect_gradient(
          [&](const BufferedToeplitz& blt) { return sensitivity_squared_with_gradient(blt, n); },
          {{decay, .2}, {.1, .3}});
}

// The scales are negative, as in the inverse of a strategy. Some decays are so near to 1 that
// closed forms lose their digits.
TEST(BltAdjoint, OfErrors) {
  for (const BufferedToeplitz& inverse :
       {BufferedToeplitz{{.9, .2}, {-.05, -.3}}, BufferedToeplitz{{.999, .2}, {-.0005, -.3}},
        BufferedToeplitz{{1 - 1e-6, .2}, {-.05, -.3}}})
    for (int64_t n : {2, 300, 10000}) {
      SCOPED_TRACE(::testing::Message() << inverse.buf_decay[0] << " " << n);
      expect_gradient([&](const BufferedToeplitz& blt) { return max_error_with_gradient(blt, n); },
                      inverse);
    }
}

TEST(BltAdjoint, OfCoefficients) {
  for (int64_t n : {2, 20})
    expect_gradient(
        [&](const BufferedToeplitz& blt) {
          const toeplitz::Coefs coefs = blt.toeplitz_coefs(n);
          toeplitz::Coefs weights(coefs.size());
          double sum = 0;
          for (size_t i = 0; i < coefs.size(); ++i)
            sum += coefs[i] * (weights[i] = std::cos(double(i)));
          return BltValue{sum, pull_back_coefs(blt, weights)};
        },
        {{.9, .2}, {.1, .3}});
}

TEST(BltAdjoint, OfScalesOfPairs) {
  const std::vector<double> weights = {1, -2, .5}, theta = {.9, .6, .2}, hat = {.7, .4, .1};
  const auto weighted = [&](const std::vector<double>& a, const std::vector<double>& b) {
    const std::vector<double> scales = scales_of_pair(a, b);
    return weights[0] * scales[0] + weights[1] * scales[1] + weights[2] * scales[2];
  };
  std::vector<double> by_theta(3), by_hat(3);
  pull_back_scales({theta, scales_of_pair(theta, hat)}, hat, weights, by_theta, by_hat);
  expect_relative(by_theta, differences([&](const auto& x) { return weighted(x, hat); }, theta),
                  1e-7);
  expect_relative(by_hat, differences([&](const auto& x) { return weighted(theta, x); }, hat),
                  1e-7);
}

}  // namespace
}  // namespace tessera::privacy::matrix_factorization::buffered_toeplitz::buffered_toeplitz_adjoint_test
