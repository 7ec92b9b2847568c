#include "tessera/privacy/matrix_factorization/buffered_toeplitz_adjoint.h"

#include "matrix_factorization.h"

namespace tessera::privacy::matrix_factorization::buffered_toeplitz {
namespace {

using BltFunction = std::function<BltValue(const BufferedToeplitz&)>;

// Differences by -log(1 - decay), which are fine near 1 as well.
void expect_gradient(const BltFunction& f, const BufferedToeplitz& at) {
  const auto by_decay = differences(
      [&](const std::vector<double>& z) {
        BufferedToeplitz moved = at;
        for (size_t j = 0; j < z.size(); ++j) moved.buf_decay[j] = -std::expm1(-z[j]);
        return f(moved).value;
      },
      [&] {
        std::vector<double> z;
        for (double d : at.buf_decay) z.push_back(-std::log1p(-d));
        return z;
      }());
  const auto by_scale = differences(
      [&](const std::vector<double>& s) {
        return f({at.buf_decay, s}).value;
      },
      at.output_scale);
  BltGradient gradient = f(at).gradient;
  for (size_t j = 0; j < by_decay.size(); ++j) gradient.by_decay[j] *= 1 - at.buf_decay[j];
  expect_relative(gradient.by_decay, by_decay, 1e-6);
  expect_relative(gradient.by_scale, by_scale, 1e-6);
}

TEST(BltAdjoint, OfSensitivities) {
  for (double decay : {.9, .999, 1 - 1e-7})
    for (double n : {1., 2., 300., 1e5})
      expect_gradient(
          [&](const BufferedToeplitz& blt) { return sensitivity_squared_with_gradient(blt, n); },
          {{decay, .2}, {.1, .3}});
}

// As the inverse of a strategy is, and with decays so near to 1 that closed forms do not hold.
TEST(BltAdjoint, OfErrors) {
  for (const BufferedToeplitz& inverse :
       {BufferedToeplitz{{.9, .2}, {-.05, -.3}}, BufferedToeplitz{{.999, .2}, {-.0005, -.3}},
        BufferedToeplitz{{1 - 1e-6, .2}, {-.05, -.3}}})
    for (int64_t n : {1, 2, 300, 10000}) {
      SCOPED_TRACE(::testing::Message() << inverse.buf_decay[0] << " " << n);
      expect_gradient([&](const BufferedToeplitz& blt) { return max_error_with_gradient(blt, n); },
                      inverse);
    }
}

TEST(BltAdjoint, OfCoefficients) {
  for (int64_t n : {1, 2, 20})
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
}  // namespace tessera::privacy::matrix_factorization::buffered_toeplitz
