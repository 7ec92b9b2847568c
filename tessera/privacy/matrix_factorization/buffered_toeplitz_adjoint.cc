#include "tessera/privacy/matrix_factorization/buffered_toeplitz_adjoint.h"

#include <cmath>

#include "tessera/privacy/matrix_factorization/toeplitz_adjoint.h"

namespace tessera::privacy::matrix_factorization::buffered_toeplitz {
namespace {

struct GeometricSum {
  double value = 0;
  double slope = 0;  // with respect to the ratio
};

// Returns 1 + r + ... + r^(n-1) for r = 1 - u; passing u keeps all digits of a u near 0.
double sum_of_powers(double u, double n) {
  if (std::isinf(n)) return 1 / u;
  if (u == 0) return n;
  if (u < 1) return -std::expm1(n * std::log1p(-u)) / u;
  return (1 - std::pow(1 - u, n)) / u;
}

// Returns 1 + 2 r + ... + (n-1) r^(n-2). The closed form loses digits if n u is small; then it is
// computed by the series sum_k (k+1) binomial(n, k+2) (-u)^k, whose terms decrease as (n u)^k / k!.
double slope_of_sum(double u, double n, double sum) {
  if (std::isinf(n)) return 1 / (u * u);
  if (n * std::abs(u) > 1) return (sum - n * std::pow(1 - u, n - 1)) / u;
  double out = 0, term = n * (n - 1) / 2;
  for (double k = 0; std::abs(term) > 1e-18 * std::abs(out); ++k) {
    out += (k + 1) * term;
    term *= -u * (n - k - 2) / (k + 3);
  }
  return out;
}

GeometricSum geometric(double u, double n) {
  const double value = sum_of_powers(u, n);
  return {value, slope_of_sum(u, n, value)};
}

// The decoder B = A C^-1 has the entries b_i = rest + sum_j share_j theta_j^i, where share_j =
// -omega_j / (1 - theta_j) and the shares and the rest sum to 1. For the inverse of a strategy with
// positive scales, all of these are positive, and nothing cancels.
struct Decoder {
  std::vector<double> gap, share;  // gap = 1 - theta
  double rest = 1;
  bool exact = true;  // no share is so large that b_i is a difference of large numbers

  explicit Decoder(const BufferedToeplitz& inverse) {
    constexpr double kLargestShare = 8;
    for (size_t j = 0; j < inverse.buf_decay.size(); ++j) {
      gap.push_back(1 - inverse.buf_decay[j]);
      share.push_back(-inverse.output_scale[j] / gap[j]);
      rest -= share[j];
      exact = exact && std::abs(share[j]) <= kLargestShare;  // false for a NaN too
    }
  }
};

// Returns the error n rest^2 + 2 rest sum_j share_j G(theta_j) + sum_jk share_j share_k G(theta_j
// theta_k) and its gradient, where G(r) = 1 + r + ... + r^(n-1).
BltValue closed_form_error(const Decoder& decoder, double n) {
  const auto& [gap, share, rest, exact] = decoder;
  BltValue out{n * rest * rest, BltGradient(gap.size())};
  std::vector<double> by_share(gap.size());
  double by_rest = 2 * n * rest;
  for (size_t j = 0; j < gap.size(); ++j) {
    const GeometricSum alone = geometric(gap[j], n);
    out.value += 2 * rest * share[j] * alone.value;
    by_rest += 2 * share[j] * alone.value;
    by_share[j] += 2 * rest * alone.value;
    out.gradient.by_decay[j] += 2 * rest * share[j] * alone.slope;
    for (size_t k = 0; k < gap.size(); ++k) {
      const GeometricSum both = geometric(gap[j] + gap[k] - gap[j] * gap[k], n);
      out.value += share[j] * share[k] * both.value;
      by_share[j] += 2 * share[k] * both.value;
      out.gradient.by_decay[j] += 2 * share[j] * share[k] * (1 - gap[k]) * both.slope;
    }
  }
  for (size_t j = 0; j < gap.size(); ++j) {
    const double total = by_share[j] - by_rest;
    out.gradient.by_scale[j] = -total / gap[j];
    out.gradient.by_decay[j] += total * share[j] / gap[j];
  }
  return out;
}

}  // namespace

void BltGradient::add(double factor, const BltGradient& other) {
  for (size_t j = 0; j < by_decay.size(); ++j) {
    by_decay[j] += factor * other.by_decay[j];
    by_scale[j] += factor * other.by_scale[j];
  }
}

double geometric_sum(double a, double r, double num) { return a * sum_of_powers(1 - r, num); }

BltValue sensitivity_squared_with_gradient(const BufferedToeplitz& blt, double n) {
  const auto& [decay, scale] = blt;
  BltValue out{1, BltGradient(decay.size())};
  for (size_t j = 0; j < decay.size(); ++j)
    for (size_t k = 0; k < decay.size(); ++k) {
      const double gap = (1 - decay[j]) + (1 - decay[k]) - (1 - decay[j]) * (1 - decay[k]);
      const GeometricSum both = geometric(gap, n - 1);
      out.value += scale[j] * scale[k] * both.value;
      out.gradient.by_scale[j] += 2 * scale[k] * both.value;
      out.gradient.by_decay[j] += 2 * scale[j] * scale[k] * decay[k] * both.slope;
    }
  return out;
}

BltValue max_error_with_gradient(const BufferedToeplitz& inv_blt, int64_t n) {
  const Decoder decoder(inv_blt);
  if (decoder.exact) return closed_form_error(decoder, static_cast<double>(n));
  const toeplitz::ValueAndGradient error =
      toeplitz::noising_error(inv_blt.toeplitz_coefs(n), n, last_error);
  return {error.value, pull_back_coefs(inv_blt, error.gradient)};
}

// The coefficients are coef_i = sum_j scale_j decay_j^(i-1). Horner's rule, from the last
// coefficient on, computes `value` = sum_i gradient_i decay^(i-1) and its derivative `slope`.
BltGradient pull_back_coefs(const BufferedToeplitz& blt, const toeplitz::Coefs& gradient) {
  BltGradient out(blt.buf_decay.size());
  for (size_t j = 0; j < blt.buf_decay.size(); ++j) {
    double value = 0, slope = 0;
    for (size_t i = gradient.size(); i-- > 1;) {
      slope = slope * blt.buf_decay[j] + value;
      value = value * blt.buf_decay[j] + gradient[i];
    }
    out.by_scale[j] = value;
    out.by_decay[j] = blt.output_scale[j] * slope;
  }
  return out;
}

std::vector<double> scales_of_pair(const std::vector<double>& theta,
                                   const std::vector<double>& theta_hat) {
  std::vector<double> out(theta.size(), 1.0);
  for (size_t i = 0; i < theta.size(); ++i)
    for (size_t j = 0; j < theta.size(); ++j)
      out[i] *= (theta[i] - theta_hat[j]) / (i == j ? 1 : theta[i] - theta[j]);
  return out;
}

// The derivative of a product with respect to a factor is the product divided by the factor.
void pull_back_scales(const BufferedToeplitz& blt, const std::vector<double>& theta_hat,
                      const std::vector<double>& by_scale, std::vector<double>& by_theta,
                      std::vector<double>& by_theta_hat) {
  const std::vector<double>& theta = blt.buf_decay;
  for (size_t i = 0; i < theta.size(); ++i) {
    const double weight = by_scale[i] * blt.output_scale[i];
    for (size_t j = 0; j < theta.size(); ++j) {
      by_theta[i] += weight / (theta[i] - theta_hat[j]);
      by_theta_hat[j] -= weight / (theta[i] - theta_hat[j]);
      if (i == j) continue;
      by_theta[i] -= weight / (theta[i] - theta[j]);
      by_theta[j] += weight / (theta[i] - theta[j]);
    }
  }
}

}  // namespace tessera::privacy::matrix_factorization::buffered_toeplitz
